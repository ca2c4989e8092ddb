import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { SessionKind } from './statements.ts';
import type { Partitions } from '../db/partitions.ts';
import { HttpError, notFound } from '../http/errors.ts';
import type { SessionWaiting } from './waiting.ts';
import { endSession } from './lists.ts';
import { cancelSessionRuns } from './cancel-runs.ts';
import { readSession, type StartedSession } from './sessions.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { baseUrl } from '../http/base-url.ts';
import { CancelBody, CompletionQuery, presentRuns } from './form.ts';
import { bodyOrNone } from '../http/optional-body.ts';

/** Routes that both kinds of session share: read, wait until finished, cancel suites, delete. */

export type SessionDeps = ApiDeps & { waiting: SessionWaiting; partitions: Partitions };

export type SessionRoutes = {
  kind: SessionKind;
  path: string;
  /** Name of the kind, for example `check session`. */
  label: string;
  /** Path parameter, for example `checkSessionId`. */
  idName: string;
  tag: string;
  /** Names of the operations, and of the response schema. */
  operation: (verb: 'get' | 'await' | 'cancel' | 'delete') => string;
  title: string;
  /** Presents the session without its runs. */
  present: (started: StartedSession, request: FastifyRequest) => object;
};

/** Presents the session with its results so far and its active runs. */
export async function presentFull(
  deps: SessionDeps,
  { present }: Pick<SessionRoutes, 'present'>,
  started: StartedSession,
  request: FastifyRequest,
): Promise<object> {
  const { accountId } = request;
  const base = baseUrl(deps.publicUrl, request);
  return { ...present(started, request), ...(await presentRuns(deps, started, { accountId, base })) };
}

export function registerSessionRoutes(api: PublicApi, deps: SessionDeps, routes: SessionRoutes): void {
  const { kind, label, idName } = routes;
  const path = `${routes.path}/:${idName}`;
  const tags = [routes.tag];
  const params = strict(Type.Object({ [idName]: Type.String() }));
  const idOf = (request: { params: { [name: string]: string } }) => request.params[idName] ?? '';
  const read = async (accountId: string, id: string): Promise<StartedSession> => {
    const started = isUuid(id) ? await readSession(deps, { accountId, id, kind }) : undefined;
    if (started === undefined) throw notFound(label, id, idName);
    return started;
  };

  api.get(
    path,
    {
      schema: {
        operationId: routes.operation('get'),
        tags,
        summary: `A ${label}: its results so far, and the runs that go on`,
        params,
        response: { 200: Type.Ref(routes.title), ...errorResponses(404) },
      },
    },
    async (request) => {
      const started = await read(request.accountId, idOf(request));
      return presentFull(deps, routes, started, request);
    },
  );

  api.get(
    `${path}/completion`,
    {
      schema: {
        operationId: routes.operation('await'),
        tags,
        summary: `Wait for the end of a ${label}`,
        description: '200 once all runs have ended; 408 when they have not within maxWaitSeconds: ask again.',
        params,
        querystring: CompletionQuery,
        response: { 200: Type.Ref(routes.title), ...errorResponses(400, 404, 408) },
      },
    },
    async (request) => {
      const id = idOf(request);
      const started = await deps.waiting.untilOver(request, {
        id,
        maxWaitMs: request.query.maxWaitSeconds * 1000,
        read: () => read(request.accountId, id),
      });
      if (started === null) throw new HttpError(408, `The ${label} has not finished. Try again.`);
      return presentFull(deps, routes, started, request);
    },
  );

  api.post(
    `${path}/cancel`,
    {
      preValidation: bodyOrNone,
      config: { access: 'READ_RUN' },
      schema: {
        operationId: routes.operation('cancel'),
        tags,
        summary: `Cancel the runs of suites and agentic checks of a ${label} that go on`,
        description:
          'Queued runs end at once; whoever runs one is told within some seconds, ends it, and reports what it has by then. ' +
          'Runs of other types go on.',
        params,
        body: CancelBody,
        response: {
          204: Type.Null({ description: 'The requests are on their way' }),
          ...errorResponses(400, 404, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { runs } = await read(request.accountId, idOf(request));
      await cancelSessionRuns(deps, { runs, sequenceIds: request.body.sequenceId ?? null });
      return reply.code(204).send(null);
    },
  );

  api.delete(
    path,
    {
      schema: {
        operationId: routes.operation('delete'),
        tags,
        summary: `Delete a ${label} that is over`,
        description:
          kind === 'test'
            ? 'Its results and their files go with it.'
            : 'Its results stay with its check, as those of scheduled runs do.',
        params,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404, 409) },
      },
    },
    async (request, reply) => {
      const { accountId } = request;
      const started = await read(accountId, idOf(request));
      await endSession(deps, { started, accountId, isTest: kind === 'test' });
      return reply.code(204).send(null);
    },
  );
}
