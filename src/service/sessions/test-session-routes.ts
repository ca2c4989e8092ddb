import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { EnvironmentVariable } from '../../protocol/job.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { sealVariables } from '../engine/encryption.ts';
import { badRequest, HttpError } from '../http/errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import { checkStatusesOf, testSessionStatus, testStatuses } from './rules.ts';
import { countSessions, listSessions, type SessionInShort } from './lists.ts';
import { checkRoom, planSessionRuns, startSessions, type StartedSession } from './sessions.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { settleVariables } from '../checks/rules/rules.ts';
import { createProblems } from '../http/problems.ts';
import type { PublicApi } from '../http/api.ts';
import { baseUrl } from '../http/base-url.ts';
import { paginationFields } from '../http/fields/pagination.ts';
import {
  pageOfSpan,
  presentSession,
  refreshCache,
  retriesOf,
  runFields,
  sessionFields,
  sessionRetryStrategy,
  spanFields,
  TestTarget,
} from './form.ts';
import { presentFull, registerSessionRoutes, type SessionDeps } from './shared-routes.ts';

/**
 * Test sessions: on-demand runs of several checks, for example before a deployment (facts, 5.6).
 * Their scripts see CI=1. Their results belong to the session only and do not affect the checks.
 */

/** Runs of one session, since it is shown completely. */
const maxChecks = 1000;
const metadataChars = 65_536;

const Text = Type.Optional(Type.String({ maxLength: 8192 }));
const metadata = Type.Object(
  {
    environment: Text,
    repoUrl: Text,
    commitId: Text,
    commitOwner: Text,
    commitMessage: Text,
    branchName: Text,
    github: Type.Optional(Type.Object({}, { additionalProperties: true })),
  },
  { description: 'What is tested; stored and returned.' },
);

const fields = {
  testSessionId: Type.String({ format: 'uuid' }),
  testSessionLink: Type.String(),
  status: StringEnum(testStatuses, { description: 'Final: all but RUNNING.' }),
  ...sessionFields,
  metadata: Nullable(metadata),
};
export const TestSession = open(
  Type.Object({ ...fields, ...runFields }, { $id: 'TestSession', title: 'TestSession' }),
);
export const ListedTestSession = open(
  Type.Object(
    {
      ...fields,
      isPartial: Type.Optional(Type.Boolean({ description: 'Its metadata is too long for a list.' })),
    },
    { $id: 'ListedTestSession', title: 'ListedTestSession' },
  ),
);

const TriggerBody = strict(
  Type.Object({
    name: Type.String({ minLength: 1, maxLength: 256 }),
    runLocation: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: "A location code or slug name; absent = where each check's next scheduled run would be.",
      }),
    ),
    target: Type.Optional(TestTarget),
    environmentVariables: Type.Array(EnvironmentVariable, {
      maxItems: 50,
      default: [],
      description: 'They go before those of checks, groups and the account.',
    }),
    refreshCache,
    retryStrategy: sessionRetryStrategy('Left out, or null: failed attempts are not retried.'),
    metadata: Type.Optional(metadata),
  }),
);
const ListQuery = strict(
  Type.Object({ ...paginationFields, ...spanFields, status: Type.Optional(StringEnum(testStatuses)) }),
);

const kind = 'test';
const tag = 'Test sessions';
const path = '/v1/test-sessions';

const presenterOf =
  ({ publicUrl, now }: SessionDeps) =>
  (started: SessionInShort, request: FastifyRequest) => ({
    testSessionId: started.session.id,
    testSessionLink: `${baseUrl(publicUrl, request)}${path}/${started.session.id}`,
    status: testSessionStatus(started.runs),
    ...presentSession(started, now()),
    metadata: started.session.metadata,
  });

/** A test session as the API shows it. */
export const presentTestSession = (
  deps: SessionDeps,
  started: StartedSession,
  request: FastifyRequest,
): Promise<object> => presentFull(deps, { present: presenterOf(deps) }, started, request);

export function registerTestSessions(api: PublicApi, deps: SessionDeps): void {
  const { now, encryption } = deps;

  const present = presenterOf(deps);

  api.post(
    `${path}/trigger`,
    {
      config: { access: 'READ_RUN' },
      schema: {
        operationId: 'triggerTestSession',
        tags: [tag],
        summary: 'Try checks out now, together',
        description:
          'Their results belong to the session and leave the status of the checks as it is. The answer does not ' +
          'wait for them.',
        body: TriggerBody,
        response: { 201: Type.Ref('TestSession'), ...errorResponses(400, 404, 413, 415, 429) },
      },
    },
    async (request, reply) => {
      const { accountId, body } = request;
      if (JSON.stringify(body.metadata ?? null).length > metadataChars) {
        throw badRequest({ metadata: [`must have at most ${metadataChars} characters as JSON`] });
      }
      const problems = createProblems();
      const variables = settleVariables(body.environmentVariables, problems);
      const wrong = problems.attributes();
      if (wrong !== null) throw badRequest(wrong);
      const retries = retriesOf(body);
      const { allowDeactivated = false, ...target } = body.target ?? {};
      const planned = await planSessionRuns(deps, {
        accountId,
        target,
        alsoDeactivated: allowDeactivated,
        runLocation: body.runLocation ?? null,
      });
      const problem =
        planned.length === 0
          ? new HttpError(404, 'No runnable check with a location matches.', {
              target: ['matches no such check'],
            })
          : planned.length > maxChecks
            ? badRequest({
                target: [`matches ${planned.length} checks; a session has at most ${maxChecks}`],
              })
            : null;
      if (problem !== null) throw problem;
      await checkRoom(deps, { accountId, planned });
      const session = {
        id: uuidv7(now()),
        accountId,
        kind,
        checkId: null,
        name: body.name,
        runSource: 'TRIGGER_RECORD',
        refreshCache: body.refreshCache,
        metadata: body.metadata ?? null,
        environmentVariables: sealVariables(variables, encryption),
        ...(retries === null ? {} : { retries }),
      } as const;
      const [started] = await startSessions(deps, [{ session, planned }]);
      if (started === undefined) {
        throw new HttpError(404, 'The matching checks were deleted during this request.', {
          target: ['matches no such check'],
        });
      }
      return reply.code(201).send(await presentFull(deps, { present }, started, request));
    },
  );

  api.get(
    path,
    {
      schema: {
        operationId: 'listTestSessions',
        tags: [tag],
        summary: 'Test sessions, newest first; their results stand in each of them',
        querystring: ListQuery,
        response: { 200: Type.Array(Type.Ref('ListedTestSession')), ...errorResponses(400) },
      },
    },
    async (request) => {
      const { accountId, query } = request;
      const statuses = query.status === undefined ? null : checkStatusesOf[query.status];
      const filter = {
        accountId,
        kind,
        checkId: null,
        runSource: null,
        statuses,
        ...pageOfSpan(query),
      } as const;
      request.countAll = () => countSessions(deps.db, filter);
      return (await listSessions(deps, filter)).map((session) => ({
        ...present(session, request),
        ...(session.isPartial ? { isPartial: true } : {}),
      }));
    },
  );

  registerSessionRoutes(api, deps, {
    kind,
    path,
    label: 'test session',
    idName: 'testSessionId',
    tag,
    operation: (verb) => `${verb}TestSession`,
    title: 'TestSession',
    present,
  });
}
