import Type from 'typebox';
import { Nullable } from '../../protocol/schema.ts';
import type { Queryable } from '../db/database.ts';
import {
  deleteService,
  findService,
  insertService,
  listServices,
  lockServiceCount,
  setServiceChecks,
  shareLockChecks,
  updateService,
  type StatusPageServiceRow,
} from './service-statements.ts';
import { badRequest, notFound } from '../http/errors.ts';
import type { ErrorAttributes } from '../http/validation-errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import { open, strict, strictPartial } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { countListed } from '../db/count-rows.ts';
import { anyId, cursorFields, pageOf, PageOf } from '../http/fields/cursor.ts';
import { paginationFields } from '../http/fields/pagination.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { ignored } from '../http/fields/ignored-fields.ts';
import { date, dayOf } from '../http/fields/dates.ts';

/** Limit per account. */
export const maxServices = 500;

/** Limit per service. */
const maxChecks = 50;

const name = Type.String({ minLength: 1, maxLength: 255 });
const checkIds = Type.Array(anyId, {
  maxItems: maxChecks,
  uniqueItems: true,
  default: [],
  description:
    'Checks whose statuses the service shows without an incident: degraded, or down while checks fail. Their runs make its uptime.',
});

export const StatusPageService = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      accountId: Type.String({ format: 'uuid' }),
      name,
      checkIds: Type.Array(Type.String({ format: 'uuid' })),
      created_at: date,
      updated_at: Nullable(date),
    },
    { $id: 'StatusPageService', title: 'StatusPageService' },
  ),
);
export const StatusPageServicePage = PageOf('StatusPageService', 'StatusPageServicePage');

const fields = Type.Object({
  name,
  checkIds,
  id: ignored,
  accountId: ignored,
  created_at: ignored,
  updated_at: ignored,
});
/** The body that creates a service of status pages. */
export const CreateService = strict(fields);
// The specification gives this list a longer default page.
const ListQuery = strict(
  Type.Object({ ...cursorFields, limit: Type.Integer({ ...paginationFields.limit, default: 20 }) }),
);
const ChangeBody = strictPartial(fields);

const presentService = (row: StatusPageServiceRow) => ({
  id: row.id,
  accountId: row.accountId,
  name: row.name,
  checkIds: row.checkIds,
  created_at: dayOf(row.createdAt),
  updated_at: dayOf(row.updatedAt),
});

const tags = ['Status pages'];

async function present(db: Queryable, accountId: string, id: string) {
  const row = isUuid(id) ? await findService(db, { accountId, id }) : undefined;
  if (row === undefined) throw notFound('service', id);
  return presentService(row);
}

/** Replaces the checks of a service. Throws 400 if one of them is no check of the account. */
async function writeChecks(
  tx: Queryable,
  named: { accountId: string; id: string; checkIds: readonly string[] },
): Promise<void> {
  const { accountId, id, checkIds: wanted } = named;
  const known = await shareLockChecks(tx, { accountId, ids: wanted.filter(isUuid) });
  const attributes: ErrorAttributes = {};
  for (const [index, checkId] of wanted.entries()) {
    if (!known.includes(checkId))
      attributes[`checkIds.${index}`] = [`names no check of this account (${checkId})`];
  }
  if (Object.keys(attributes).length > 0) throw badRequest(attributes);
  await setServiceChecks(tx, { id, checkIds: wanted });
}

/** Routes of the services that status pages show and incidents affect. */
export function registerStatusPageServices(api: PublicApi, deps: ApiDeps): void {
  registerList(api, deps);
  registerCreate(api, deps);
  registerRead(api, deps);
  registerChange(api, deps);
  registerDelete(api, deps);
}

function registerList(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/status-pages/services',
    {
      config: { isByCursor: true },
      schema: {
        operationId: 'listStatusPageServices',
        tags,
        summary: 'Services that status pages show, oldest first',
        querystring: ListQuery,
        response: { 200: Type.Ref('StatusPageServicePage'), ...errorResponses(400) },
      },
    },
    async (request) => {
      const { accountId, query } = request;
      request.countAll = () =>
        countListed(db, (counting, { limit }) => listServices(counting, { accountId, after: null, limit }));
      return pageOf(
        query,
        (page) => listServices(db, { accountId, ...page }),
        (rows) => rows.map(presentService),
      );
    },
  );
}

function registerCreate(api: PublicApi, { db, now }: ApiDeps): void {
  api.post(
    '/v1/status-pages/services',
    {
      schema: {
        operationId: 'createStatusPageService',
        tags,
        summary: 'Create a service that status pages may show',
        body: CreateService,
        response: { 200: Type.Ref('StatusPageService'), ...errorResponses(400, 413, 415) },
      },
    },
    async ({ accountId, body }) =>
      db.tx(async (tx) => {
        if ((await lockServiceCount(tx, accountId)) >= maxServices) {
          throw badRequest({ name: [`an account has at most ${maxServices} services`] });
        }
        const time = now();
        const id = uuidv7(time);
        await insertService(tx, { id, accountId, name: body.name, now: new Date(time) });
        await writeChecks(tx, { accountId, id, checkIds: body.checkIds });
        return present(tx, accountId, id);
      }),
  );
}

function registerRead(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/status-pages/services/:id',
    {
      schema: {
        operationId: 'getStatusPageService',
        tags,
        summary: 'One service',
        params: IdParams,
        response: { 200: Type.Ref('StatusPageService'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }) => present(db, accountId, params.id),
  );
}

function registerChange(api: PublicApi, { db, now }: ApiDeps): void {
  api.put(
    '/v1/status-pages/services/:id',
    {
      schema: {
        operationId: 'updateStatusPageService',
        tags,
        summary: 'Change a service',
        params: IdParams,
        body: ChangeBody,
        response: { 200: Type.Ref('StatusPageService'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, body, params: { id } }) =>
      db.tx(async (tx) => {
        const stored = await present(tx, accountId, id);
        await updateService(tx, { accountId, id, name: body.name ?? stored.name, now: new Date(now()) });
        if (body.checkIds !== undefined) await writeChecks(tx, { accountId, id, checkIds: body.checkIds });
        return present(tx, accountId, id);
      }),
  );
}

function registerDelete(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    '/v1/status-pages/services/:id',
    {
      schema: {
        operationId: 'deleteStatusPageService',
        tags,
        summary: 'Delete a service: pages and incidents go on without it, and checks open no incidents of it',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }, reply) => {
      const deleted = isUuid(id) && (await db.tx((tx) => deleteService(tx, { accountId, id })));
      if (!deleted) throw notFound('service', id);
      return reply.code(204).send(null);
    },
  );
}
