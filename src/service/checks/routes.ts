import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { checkTypes, type CheckType } from '../../protocol/check-types.ts';
import { StringEnum } from '../../protocol/schema.ts';
import {
  replaceSubscriptions,
  subscribeFirst,
  subscribeNewCheck,
  subscribeToAll,
} from '../alert-channels/subscription-statements.ts';
import { findCheckGroup } from './storage/group-statements.ts';
import {
  countChecks,
  deleteCheck,
  findCheck,
  insertCheck,
  listChecks,
  lockCheck,
  updateCheck,
  type CheckFilter,
  type CheckRow,
  type CheckWrite,
} from './storage/statements.ts';
import type { Db, Queryable } from '../db/database.ts';
import { uuidv7 } from '../engine/ids.ts';
import { HttpError, notFound } from '../http/errors.ts';
import { strict } from '../http/fields/strict-schema.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { loadChannels, assignsAlerts, autoAssignAlerts } from './rules/channels.ts';
import { groupFromRow } from './storage/group.ts';
import { checkPaths } from './fields/paths.ts';
import { checkSchemas, checkTitles, type ChangeBody, type CreateBody } from './fields/schema.ts';
import { typeOf } from './storage/check.ts';
import { presentCheck } from './storage/shown-check.ts';
import { registerUnion, type CheckWriter } from './union-routes.ts';
import { warningsOf } from './warnings.ts';
import { mergedCheck, prepareCheck } from './writes.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import { baseUrl } from '../http/base-url.ts';

const ListQuery = strict(
  Type.Object({
    ...paginationFields,
    checkType: Type.Optional(StringEnum(checkTypes)),
    activated: Type.Optional(Type.Boolean()),
    tag: Type.Optional(Type.String({ maxLength: 256, description: 'Checks with this tag.' })),
    location: Type.Optional(
      Type.String({ maxLength: 64, description: 'Checks that run at this location code or slug name.' }),
    ),
    search: Type.Optional(Type.String({ maxLength: 256, description: 'Part of the name, in any case.' })),
  }),
);

type Filter = Static<typeof ListQuery>;

function filterOf(accountId: string, query: Filter): CheckFilter {
  return {
    accountId,
    checkType: query.checkType ?? null,
    activated: query.activated ?? null,
    tag: query.tag ?? null,
    location: query.location ?? null,
    search: query.search ?? null,
  };
}

/** Called in the transaction that creates or changes a check, after the check is written. */
export type CheckFollower = (tx: Queryable, check: CheckWrite) => Promise<void>;

/** Routes of checks. `app` is `api` without types, because the same code registers the routes of every type. */
export function registerChecks(
  app: FastifyInstance,
  api: PublicApi,
  deps: ApiDeps,
  { followers }: { followers: readonly CheckFollower[] },
): void {
  const writers = new Map<CheckType, CheckWriter>();
  for (const type of checkTypes) writers.set(type, registerType(app, { ...deps, followers }, type));
  registerUnion(app, deps, writers);
  registerAnyType(api, deps);
}

/** Registers the routes of one type. Returns what they do. */
function registerType(
  api: FastifyInstance,
  deps: ApiDeps & { followers: readonly CheckFollower[] },
  type: CheckType,
): CheckWriter {
  const { db, encryption, now, publicUrl, followers } = deps;
  const path = `/v1/checks/${checkPaths[type]}`;
  const { create, change } = checkSchemas[type];

  async function present(queryable: Db, request: FastifyRequest, id: string) {
    const { accountId } = request;
    const row = await findCheck(queryable, { accountId, id });
    if (row === undefined) throw notFound('check', id);
    const channels = await loadChannels(queryable, {
      accountId: request.accountId,
      role: request.role,
      // A deployment does not read the parts of channels that a check shows.
      of: request.replaces ? [] : [row],
      isList: false,
    });
    return presentCheck(row, encryption, {
      base: baseUrl(publicUrl, request),
      role: request.role,
      channels,
      dependencies: true,
    });
  }

  api.post(
    path,
    {
      schema: {
        operationId: `create${checkTitles[type]}`,
        tags: ['Checks'],
        summary: `Create a check of type ${type}`,
        querystring: autoAssignAlerts.newCheck,
        body: create,
        response: { 201: Type.Ref(checkTitles[type]), ...errorResponses(400, 413, 415) },
      },
    },
    async (request, reply) => reply.code(201).send(await createOne(request)),
  );

  async function createOne(request: FastifyRequest): Promise<object> {
    const { accountId } = request;
    // Validated by `create` above.
    const { checkType: _type, kind: _kind, logicalId: _id, ...body } = request.body as CreateBody<CheckType>;
    const id = uuidv7(now());
    return db.tx(async (tx) => {
      const check = await prepareCheck(tx, deps, { type, body, id, accountId });
      await insertCheck(tx, check);
      const subscriptions = body.alertChannelSubscriptions;
      await subscribeFirst(tx, { accountId, checkId: id, subscriptions, toAll: assignsAlerts(request) });
      for (const follow of followers) await follow(tx, check);
      // A deployment shows no warnings of single checks.
      const warnings = request.replaces ? {} : await warningsOf(tx, type, check);
      return { ...(await present(tx, request, id)), ...warnings };
    });
  }

  api.put(
    `${path}/:id`,
    {
      schema: {
        operationId: `update${checkTitles[type]}`,
        tags: ['Checks'],
        summary: `Change a check of type ${type}: fields that are left out stay as they are`,
        params: IdParams,
        querystring: autoAssignAlerts.onDemand,
        body: change,
        response: { 200: Type.Ref(checkTitles[type]), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async (request) => changeOne(request),
  );

  async function changeOne(request: FastifyRequest): Promise<object> {
    const { accountId } = request;
    const { id } = request.params as { id: string }; // IdParams
    const changes = request.body as ChangeBody<CheckType>; // validated by `change` above
    return db.tx(async (tx) => {
      const row = isUuid(id) ? await lockCheck(tx, { accountId, id }) : undefined;
      if (row === undefined) throw notFound('check', id);
      if (row.checkType !== type) {
        const own = typeOf(row);
        throw new HttpError(404, `The check ${id} has the type ${row.checkType}, not ${type}.`, {
          id: [
            own === null
              ? `names a check of type ${row.checkType}`
              : `names a check of type ${row.checkType}: change it at /v1/checks/${checkPaths[own]}/${id}`,
          ],
        });
      }
      const body = mergedCheck(deps, row, { changes, replaces: request.replaces });
      const check = await prepareCheck(tx, deps, { type, body, id, accountId });
      await updateCheck(tx, check);
      await replaceSubscriptions(tx, { checkId: id, groupId: null }, body.alertChannelSubscriptions);
      if (assignsAlerts(request)) await subscribeToAll(tx, { accountId, checkId: id, groupId: null });
      // The default of a whole check is that of a new one.
      if (request.replaces) await subscribeNewCheck(tx, { accountId, checkId: id, toAll: false });
      for (const follow of followers) await follow(tx, check);
      // A deployment shows no warnings of single checks.
      const warnings = request.replaces ? {} : await warningsOf(tx, type, check);
      return { ...(await present(tx, request, id)), ...warnings };
    });
  }

  return { create, change, createOne, changeOne };
}

function registerAnyType(api: PublicApi, { db, encryption, publicUrl }: ApiDeps): void {
  const groupOf = async ({ groupId }: CheckRow, accountId: string) => {
    return groupId === null ? undefined : findCheckGroup(db, { accountId, id: groupId });
  };

  api.get(
    '/v1/checks',
    {
      schema: {
        operationId: 'listChecks',
        tags: ['Checks'],
        summary: 'Checks of every type, oldest first',
        querystring: ListQuery,
        response: { 200: Type.Array(Type.Ref('Check')), ...errorResponses(400) },
      },
      config: {
        countAll: async (request) => countChecks(db, filterOf(request.accountId, request.query as Filter)),
      },
    },
    async (request) => {
      const { accountId, query } = request;
      const base = baseUrl(publicUrl, request);
      const rows = await listChecks(db, {
        ...filterOf(accountId, query),
        limit: query.limit,
        offset: offsetOf(query),
      });
      const channels = await loadChannels(db, { accountId, role: request.role, of: rows, isList: true });
      return rows
        .filter((row) => typeOf(row) !== null)
        .map((row) => presentCheck(row, encryption, { base, role: request.role, channels }));
    },
  );

  api.get(
    '/v1/checks/:id',
    {
      schema: {
        operationId: 'getCheck',
        tags: ['Checks'],
        summary: 'One check of any type',
        params: IdParams,
        querystring: strict(
          Type.Object({
            includeDependencies: Type.Boolean({
              default: false,
              description: 'Include dependency files, which only checks with scripts have.',
            }),
            applyGroupSettings: Type.Boolean({
              default: false,
              description: 'Show a check of a group with the settings of its group applied.',
            }),
          }),
        ),
        response: { 200: Type.Ref('Check'), ...errorResponses(400, 404) },
      },
    },
    async (request) => {
      const { accountId, query } = request;
      const { id } = request.params;
      const row = isUuid(id) ? await findCheck(db, { accountId, id }) : undefined;
      if (row === undefined) throw notFound('check', id);
      const groupRow = query.applyGroupSettings ? await groupOf(row, accountId) : undefined;
      const base = baseUrl(publicUrl, request);
      const of = groupRow === undefined ? [row] : [row, groupRow];
      const channels = await loadChannels(db, { accountId, role: request.role, of, isList: false });
      const group = groupRow === undefined ? undefined : groupFromRow(groupRow, encryption);
      const dependencies = query.includeDependencies;
      return presentCheck(row, encryption, { base, role: request.role, channels, dependencies, group });
    },
  );

  api.delete(
    '/v1/checks/:id',
    {
      schema: {
        operationId: 'deleteCheck',
        tags: ['Checks'],
        summary: 'Delete a check; its results stay until they are too old',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }, reply) => {
      // A transaction can be retried. Results of the check's jobs lock the same rows in another order, so a deadlock
      // is possible.
      const deleted = isUuid(id) && (await db.tx((tx) => deleteCheck(tx, { accountId, id })));
      if (!deleted) throw notFound('check', id);
      return reply.code(204).send(null);
    },
  );
}
