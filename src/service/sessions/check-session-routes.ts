import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { checkTypes } from '../../protocol/check-types.ts';
import { StringEnum } from '../../protocol/schema.ts';
import { HttpError } from '../http/errors.ts';
import { sentUuidPattern, uuidv7 } from '../engine/ids.ts';
import { countSessions, listSessions, type SessionInShort } from './lists.ts';
import { checkSessionStatus, checkStatuses, type CheckSessionStatus } from './rules.ts';
import { checkRoom, planSessionRuns, startSessions } from './sessions.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { cursorFields, pageOf, PageOf } from '../http/fields/cursor.ts';
import { paginationFields } from '../http/fields/pagination.ts';
import type { PublicApi } from '../http/api.ts';
import { baseUrl } from '../http/base-url.ts';
import {
  pageOfSpan,
  presentSession,
  refreshCache,
  retriesOf,
  runFields,
  sessionFields,
  sessionRetryStrategy,
  spanFields,
  spanOf,
  Target,
} from './form.ts';
import { bodyOrNone } from '../http/optional-body.ts';
import { registerSessionRoutes, type SessionDeps } from './shared-routes.ts';

/** Check sessions: on-demand runs, one session per check (specification, "Check sessions"; facts, 5.5). */

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
    refreshCache,
    retryStrategy: sessionRetryStrategy("Left out: each check's own; null: failed attempts are not retried."),
  }),
);
/** The request that starts check sessions. */
const runSources = ['TRIGGER_API', 'LEGACY_TRIGGER', 'GROUP_RUN_ALL'] as const;
const filterFields = {
  checkId: Type.Optional(Type.String({ pattern: sentUuidPattern, description: 'the id of a check' })),
  runSource: Type.Optional(StringEnum(runSources, { description: 'Started by this.' })),
  ...spanFields,
};
/** In v1, a cancelled session has the status TIMED_OUT. */
const v1Statuses = checkStatuses.filter((status) => status !== 'CANCELLED');
const ListQuery = strict(
  Type.Object({ ...paginationFields, ...filterFields, status: Type.Optional(StringEnum(v1Statuses)) }),
);
const CursorListQuery = strict(
  Type.Object({ ...cursorFields, ...filterFields, status: Type.Optional(StringEnum(checkStatuses)) }),
);
export const CheckSessionPage = PageOf('StartedCheckSession', 'CheckSessionPage');

const kind = 'check' as const;
const tag = 'Check sessions';

type Filter = { checkId?: string; runSource?: string; status?: CheckSessionStatus };

function statusesOf(version: 'v1' | 'v2', status: CheckSessionStatus): CheckSessionStatus[] {
  return version === 'v1' && status === 'TIMED_OUT' ? [status, 'CANCELLED'] : [status];
}

/** The routes of both versions; they differ in one status and in the pagination of the list. */
export function registerCheckSessions(api: PublicApi, deps: SessionDeps): void {
  for (const version of ['v1', 'v2'] as const) registerVersion(api, deps, version);
}

type Version = {
  version: 'v1' | 'v2';
  path: string;
  /** Suffix of operation ids. */
  suffix: string;
  present: ReturnType<typeof createPresent>;
};

function registerVersion(api: PublicApi, deps: SessionDeps, version: 'v1' | 'v2'): void {
  const path = `/${version}/check-sessions`;
  const suffix = version === 'v1' ? 'V1' : '';
  const present = createPresent(deps, { version, path });
  const routes = { version, path, suffix, present };
  triggerRoute(api, deps, routes);
  listRoute(api, deps, routes);
  registerSessionRoutes(api, deps, {
    kind,
    path,
    label: 'check session',
    idName: 'checkSessionId',
    tag,
    operation: (verb) => `${verb}CheckSession${suffix}`,
    title: 'CheckSession',
    present,
  });
}

function createPresent(deps: SessionDeps, { version, path }: Pick<Version, 'version' | 'path'>) {
  return (started: SessionInShort, request: FastifyRequest) => {
    const status = checkSessionStatus(started.runs);
    const { id, checkId } = started.session;
    return {
      checkSessionId: id,
      checkSessionLink: `${baseUrl(deps.publicUrl, request)}${path}/${id}`,
      checkId: checkId ?? '',
      checkType: started.runs[0]?.checkType ?? '',
      status: version === 'v1' && status === 'CANCELLED' ? 'TIMED_OUT' : status,
      ...presentSession(started, deps.now()),
    };
  };
}

function triggerRoute(api: PublicApi, deps: SessionDeps, { path, suffix, present }: Version): void {
  api.post(
    `${path}/trigger`,
    {
      preValidation: bodyOrNone,
      config: { access: 'READ_RUN' },
      schema: {
        operationId: `triggerCheckSessions${suffix}`,
        tags: [tag],
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
      const planned = await planSessionRuns(deps, {
        accountId,
        target: body.target ?? {},
        alsoDeactivated: false,
        runLocation: null,
      });
      if (planned.length === 0) {
        throw new HttpError(404, 'No activated check with a location matches.', {
          target: ['matches no such check'],
        });
      }
      const retries = retriesOf(body);
      await checkRoom(deps, { accountId, planned });
      const sessions = await startSessions(
        deps,
        planned.map((item) => ({
          session: {
            id: uuidv7(deps.now()),
            accountId,
            kind,
            checkId: item.check.id,
            name: item.check.name,
            runSource: 'TRIGGER_API',
            refreshCache: body.refreshCache,
            metadata: null,
            environmentVariables: null,
            ...(retries === null ? {} : { retries }),
          },
          planned: [item],
        })),
      );
      return reply.code(201).send({ sessions: sessions.map((started) => present(started, request)) });
    },
  );
}

function listRoute(api: PublicApi, deps: SessionDeps, { version, path, suffix, present }: Version): void {
  const listed = {
    operationId: `listCheckSessions${suffix}`,
    tags: [tag],
    summary: 'Check sessions, newest first; their results stand in each of them',
  };
  const filterOf = ({ accountId, query }: { accountId: string; query: Filter }) => ({
    accountId,
    kind,
    checkId: query.checkId ?? null,
    runSource: query.runSource ?? null,
    statuses: query.status === undefined ? null : statusesOf(version, query.status),
  });
  if (version === 'v1') {
    api.get(
      path,
      {
        schema: {
          ...listed,
          querystring: ListQuery,
          response: { 200: Type.Array(Type.Ref('StartedCheckSession')), ...errorResponses(400) },
        },
      },
      async (request) => {
        const filter = { ...filterOf(request), ...pageOfSpan(request.query) };
        request.countAll = () => countSessions(deps.db, filter);
        return (await listSessions(deps, filter)).map((session) => present(session, request));
      },
    );
  } else {
    api.get(
      path,
      {
        config: { isByCursor: true },
        schema: {
          ...listed,
          querystring: CursorListQuery,
          response: { 200: Type.Ref('CheckSessionPage'), ...errorResponses(400) },
        },
      },
      async (request) => {
        const filter = { ...filterOf(request), ...spanOf(request.query), offset: 0 };
        request.countAll = () => countSessions(deps.db, filter);
        return pageOf(
          request.query,
          async (page) =>
            (await listSessions(deps, { ...filter, ...page })).map((found) => ({
              id: found.session.id,
              ...found,
            })),
          (sessions) => sessions.map((session) => present(session, request)),
        );
      },
    );
  }
}
