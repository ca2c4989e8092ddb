import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { checkTypes } from '../../protocol/check-types.ts';
import { StringEnum } from '../../protocol/schema.ts';
import { createPartitions } from '../db/partitions.ts';
import { HttpError, notFound } from '../errors-http.ts';
import { uuidv7 } from '../ids.ts';
import { checkSessionStatus, checkStatuses } from '../session-rules.ts';
import type { SessionWaiting } from '../session-waiting.ts';
import {
  cancelSessionRuns,
  checkRoom,
  planSessionRuns,
  readSession,
  startSessions,
  type StartedSession,
} from '../sessions.ts';
import { open, strict } from '../strict-schema.ts';
import { errorResponses } from './api-errors.ts';
import { isUuid } from './path-params.ts';
import type { ApiDeps, PublicApi } from './public-api.ts';
import { baseUrl } from './result-artifacts.ts';
import {
  bodyOrNone,
  CancelBody,
  CompletionQuery,
  presentRuns,
  presentSession,
  runFields,
  sessionFields,
  Target,
} from './session-form.ts';

/** Check sessions: checks run now, each as a session of its own (specification, "Check sessions"; facts, 5.5). */

const fields = {
  checkSessionId: Type.String({ format: 'uuid' }),
  checkSessionLink: Type.String(),
  checkId: Type.String({ format: 'uuid' }),
  checkType: StringEnum(checkTypes),
  status: StringEnum(checkStatuses, {
    description: 'Final: PASSED, FAILED, DEGRADED, TIMED_OUT, CANCELLED, which is TIMED_OUT under /v1.',
  }),
  ...sessionFields,
};
export const StartedCheckSession = open(
  Type.Object(fields, { $id: 'StartedCheckSession', title: 'StartedCheckSession' }),
);
export const CheckSession = open(
  Type.Object({ ...fields, ...runFields }, { $id: 'CheckSession', title: 'CheckSession' }),
);

const TriggerBody = strict(
  Type.Object({
    target: Type.Optional(Target),
    refreshCache: Type.Boolean({
      default: false,
      description: 'Suites install their dependencies anew instead of taking them from the cache.',
    }),
  }),
);
const Params = strict(Type.Object({ checkSessionId: Type.String() }));
const tags = ['Check sessions'];
const kind = 'check';

/** The same routes under both versions; they differ in one status. */
export function registerCheckSessions(api: PublicApi, deps: ApiDeps & { waiting: SessionWaiting }): void {
  const partitions = createPartitions(deps.db);
  for (const version of ['v1', 'v2'] as const) registerVersion(api, { ...deps, partitions }, version);
}

type Deps = ApiDeps & { waiting: SessionWaiting; partitions: ReturnType<typeof createPartitions> };

function registerVersion(api: PublicApi, deps: Deps, version: 'v1' | 'v2'): void {
  const { now } = deps;
  const path = `/${version}/check-sessions`;
  const operation = (name: string) => (version === 'v1' ? `${name}V1` : name);

  const brief = (started: StartedSession, request: FastifyRequest) => {
    const status = checkSessionStatus(started.runs);
    const { id } = started.session;
    return {
      checkSessionId: id,
      checkSessionLink: `${baseUrl(deps.publicUrl, request)}/${version}/check-sessions/${id}`,
      checkId: started.session.checkId ?? '',
      checkType: started.runs[0]?.checkType ?? '',
      status: version === 'v1' && status === 'CANCELLED' ? 'TIMED_OUT' : status,
      ...presentSession(started, now()),
    };
  };
  const whole = async (started: StartedSession, request: FastifyRequest) => ({
    ...brief(started, request),
    ...(await presentRuns(deps, started, {
      accountId: request.accountId,
      base: baseUrl(deps.publicUrl, request),
    })),
  });
  const read = async (accountId: string, id: string): Promise<StartedSession> => {
    const started = isUuid(id) ? await readSession(deps, { accountId, id, kind }) : undefined;
    if (started === undefined) throw notFound('check session', id, 'checkSessionId');
    return started;
  };

  api.post(
    `${path}/trigger`,
    {
      preValidation: bodyOrNone,
      schema: {
        operationId: operation('triggerCheckSessions'),
        tags,
        summary: 'Run checks now: a session for each',
        description:
          'The checks run where their next scheduled runs would, muted or not, whether or not a scheduled run goes on. ' +
          'The answer does not wait for them.',
        body: TriggerBody,
        response: {
          201: Type.Object({ sessions: Type.Array(Type.Ref('StartedCheckSession')) }),
          ...errorResponses(400, 404, 413, 415, 429),
        },
      },
    },
    async (request, reply) => {
      const { accountId, body } = request;
      const target = body.target ?? {};
      const planned = await planSessionRuns(deps, {
        accountId,
        target,
        alsoDeactivated: false,
        runLocation: null,
      });
      if (planned.length === 0) {
        throw new HttpError(404, 'No check matches: none that is activated and has a location.', {
          target: ['matches no check'],
        });
      }
      await checkRoom(deps, { accountId, planned });
      const sessions = await startSessions(
        deps,
        planned.map((item) => ({
          session: {
            id: uuidv7(now()),
            accountId,
            kind,
            checkId: item.check.id,
            name: item.check.name,
            runSource: 'TRIGGER_API',
            refreshCache: body.refreshCache,
            metadata: null,
            environmentVariables: null,
          },
          planned: [item],
        })),
      );
      return reply.code(201).send({ sessions: sessions.map((started) => brief(started, request)) });
    },
  );

  api.get(
    `${path}/:checkSessionId`,
    {
      schema: {
        operationId: operation('getCheckSession'),
        tags,
        summary: 'A session: its results so far, and the runs that go on',
        params: Params,
        response: { 200: Type.Ref('CheckSession'), ...errorResponses(404) },
      },
    },
    async (request) => whole(await read(request.accountId, request.params.checkSessionId), request),
  );

  api.get(
    `${path}/:checkSessionId/completion`,
    {
      schema: {
        operationId: operation('awaitCheckSession'),
        tags,
        summary: 'Wait for the end of a session',
        description: '200 once all runs have ended; 408 when they have not within maxWaitSeconds: ask again.',
        params: Params,
        querystring: CompletionQuery,
        response: { 200: Type.Ref('CheckSession'), ...errorResponses(400, 404, 408) },
      },
    },
    async (request) => {
      const { accountId, params, query } = request;
      const id = params.checkSessionId;
      const started = await deps.waiting.untilOver(request, {
        id,
        maxWaitMs: query.maxWaitSeconds * 1000,
        read: () => read(accountId, id),
      });
      if (started === null) throw new HttpError(408, 'The session goes on: ask again.');
      return whole(started, request);
    },
  );

  api.post(
    `${path}/:checkSessionId/cancel`,
    {
      preValidation: bodyOrNone,
      schema: {
        operationId: operation('cancelCheckSession'),
        tags,
        summary: "Cancel a session's runs of Playwright suites that go on",
        description:
          'Queued runs end at once; an agent is told within some seconds, ends the suite, and reports what it has by then. ' +
          'Runs of other types go on.',
        params: Params,
        body: CancelBody,
        response: {
          204: Type.Null({ description: 'The requests are on their way' }),
          ...errorResponses(400, 404, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { runs } = await read(request.accountId, request.params.checkSessionId);
      await cancelSessionRuns(deps, { runs, sequenceIds: request.body.sequenceId ?? null });
      return reply.code(204).send(null);
    },
  );
}
