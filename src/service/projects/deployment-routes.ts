import type { FastifyInstance } from 'fastify';
import { setTimeout as pause } from 'node:timers/promises';
import Type from 'typebox';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { HttpError, notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { mayAct, type Role } from '../http/fields/roles.ts';
import { fieldsOf, isFields, itemsOf } from '../../json-values.ts';
import { isUuid } from '../http/fields/path-params.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { bodyOrNone } from '../http/optional-body.ts';
import {
  findDeployment,
  listDeployments,
  requestCancel,
  type DeploymentRow,
} from './deployment-statements.ts';
import type { Deployments } from './deployments.ts';
import { countListed } from '../db/count-rows.ts';
import { findProject } from './statements.ts';

/** Routes of deployments: state, end, progress, cancellation. */

/** Interval between looks at a deployment, which may run in another replica. */
const lookMs = 250;
/** A stream of events ends after this time; clients connect again. */
const streamMs = 10 * 60_000;

type Deps = ApiDeps & { deployments: Deployments };

const tags = ['Projects'];
const deployment = Type.Ref('ProjectDeployment');
const params = strict(Type.Object({ logicalId: Type.String(), id: Type.String() }));
const path = '/v1/projects/:logicalId/deployments';

/** Values of a difference can be addresses and headers, which keys that cannot write do not see elsewhere either. */
function resultFor(role: Role, result: unknown): unknown {
  if (mayAct(role, 'READ_WRITE') || !isFields(result)) return result;
  const diff = itemsOf(result['diff']);
  return { ...result, diff: diff.map((one) => ({ ...fieldsOf(one), differences: [], changedByOthers: [] })) };
}

export const presentDeployment = (row: DeploymentRow, role: Role) => ({
  id: row.id,
  logicalId: row.logicalId,
  status: row.status,
  dryRun: false as const,
  progress: row.progress,
  error: row.error,
  result: resultFor(role, row.result),
  createdAt: row.createdAt.toISOString(),
  startedAt: row.startedAt?.toISOString() ?? null,
  endedAt: row.endedAt?.toISOString() ?? null,
  cancelRequestedAt: row.cancelRequestedAt?.toISOString() ?? null,
});

const isOver = ({ status }: DeploymentRow) => status !== 'PENDING' && status !== 'RUNNING';

type Named = { accountId: string; logicalId: string; id: string };

/** Reads a deployment. One whose runner is dead has failed. Throws 404. */
async function read({ db, deployments }: Deps, named: Named): Promise<DeploymentRow> {
  if (!isUuid(named.id)) throw notFound('deployment', named.id);
  const row = await findDeployment(db, named);
  if (row === undefined) throw notFound('deployment', named.id);
  if (isOver(row)) return row;
  const progress = deployments.progressOf(row.id);
  if (progress !== undefined) return { ...row, progress: Math.max(progress, row.progress) };
  await deployments.endAbandoned(named);
  return (await findDeployment(db, named)) ?? row;
}

/** Registers the routes. `app` closes the streams when it stops. */
export function registerDeployments(app: FastifyInstance, api: PublicApi, deps: Deps): void {
  const stopping = new AbortController();
  app.addHook('preClose', async () => stopping.abort());
  registerReads(api, deps);
  registerCompletion(api, deps, stopping.signal);
  registerEvents(api, deps, stopping.signal);
  registerCancel(api, deps);
}

function registerReads(api: PublicApi, deps: Deps): void {
  api.get(
    path,
    {
      schema: {
        operationId: 'listProjectDeployments',
        tags,
        summary: 'The last deployments of a project, newest first',
        params: strict(Type.Object({ logicalId: Type.String() })),
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(deployment), ...errorResponses(400, 404) },
      },
    },
    async (request) => {
      const {
        accountId,
        params: { logicalId },
        query,
      } = request;
      const page = { limit: query.limit, offset: offsetOf(query) };
      request.countAll = () =>
        countListed(deps.db, (counting, all) => listDeployments(counting, { accountId, logicalId, ...all }));
      const rows = await listDeployments(deps.db, { accountId, logicalId, ...page });
      // The deployments of a deleted project can still be read.
      if (
        rows.length === 0 &&
        page.offset === 0 &&
        (await findProject(deps.db, { accountId, logicalId })) === undefined
      ) {
        throw notFound('project', logicalId, 'logicalId');
      }
      return rows.map((row) => presentDeployment(row, request.role));
    },
  );

  api.get(
    `${path}/:id`,
    {
      schema: {
        operationId: 'getProjectDeployment',
        tags,
        summary: 'One deployment',
        params,
        response: { 200: deployment, ...errorResponses(404) },
      },
    },
    async ({ accountId, role, params: named }) =>
      presentDeployment(await read(deps, { accountId, ...named }), role),
  );
}

function registerCompletion(api: PublicApi, deps: Deps, stopping: AbortSignal): void {
  api.get(
    `${path}/:id/completion`,
    {
      schema: {
        operationId: 'awaitProjectDeployment',
        tags,
        summary: 'Wait for the end of a deployment',
        params,
        querystring: strict(
          Type.Object({ maxWaitSeconds: Type.Integer({ minimum: 0, maximum: 60, default: 30 }) }),
        ),
        response: { 200: deployment, ...errorResponses(404, 408) },
      },
    },
    async (request) => {
      const { accountId, params: named, query } = request;
      const end = performance.now() + query.maxWaitSeconds * 1000;
      for (;;) {
        const row = await read(deps, { accountId, ...named });
        if (isOver(row)) return presentDeployment(row, request.role);
        if (stopping.aborted || request.raw.socket.destroyed || performance.now() >= end) {
          throw new HttpError(408, 'The deployment is still going on: ask again.');
        }
        await pause(lookMs, undefined, { signal: stopping }).catch(() => undefined);
      }
    },
  );
}

function registerEvents(api: PublicApi, deps: Deps, stopping: AbortSignal): void {
  api.get(
    `${path}/:id/events`,
    {
      schema: {
        operationId: 'streamProjectDeployment',
        tags,
        summary: 'Progress of a deployment as server-sent events',
        description:
          'Events: `progress` {status, progress}; at the end `complete` or `error`, with the deployment.',
        params,
        response: {
          200: {
            description: 'The events, until the end of the deployment',
            content: { 'text/event-stream': { schema: Type.String() } },
          },
          ...errorResponses(404),
        },
      },
    },
    async (request, reply) => {
      const named = { accountId: request.accountId, ...request.params };
      let row = await read(deps, named);
      const { raw } = reply;
      reply.hijack();
      raw.on('error', () => undefined);
      raw.writeHead(200, {
        ...(reply.getHeaders() as { [name: string]: string }), // set by hooks, all of them texts or numbers
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      const write = (event: string, data: object) =>
        raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      const end = performance.now() + streamMs;
      let last = -1;
      while (!isOver(row) && !stopping.aborted && !raw.destroyed && performance.now() < end) {
        const progress = Math.max(row.progress, deps.deployments.progressOf(row.id) ?? 0);
        if (progress !== last) write('progress', { status: row.status, progress });
        last = progress;
        await pause(lookMs, undefined, { signal: stopping }).catch(() => undefined);
        // In this process, the progress is known without the database, which a transaction may occupy.
        if (deps.deployments.progressOf(row.id) === undefined) row = await read(deps, named).catch(() => row);
      }
      if (isOver(row))
        write(row.status === 'SUCCEEDED' ? 'complete' : 'error', presentDeployment(row, request.role));
      raw.end();
      return reply;
    },
  );
}

function registerCancel(api: PublicApi, deps: Deps): void {
  api.post(
    `${path}/:id/cancel`,
    {
      schema: {
        operationId: 'cancelProjectDeployment',
        tags,
        summary: 'Cancel a deployment, which then changes nothing; one that is over stays as it is',
        params,
        body: strict(Type.Object({})),
        response: { 202: deployment, ...errorResponses(400, 404, 413, 415) },
      },
      preValidation: bodyOrNone,
    },
    async ({ accountId, role, params: named }, reply) => {
      const row = await read(deps, { accountId, ...named });
      if (!isOver(row)) {
        await requestCancel(deps.db, row.id, new Date(deps.now()));
        deps.deployments.cancel(row.id);
      }
      return reply.code(202).send(presentDeployment(await read(deps, { accountId, ...named }), role));
    },
  );
}
