import Type, { type Static } from 'typebox';
import {
  countMaintenanceWindows,
  deleteMaintenanceWindow,
  findMaintenanceWindow,
  insertMaintenanceWindow,
  listMaintenanceWindows,
  lockMaintenanceWindow,
  lockMaintenanceWindowCount,
  updateMaintenanceWindow,
  type MaintenanceWindowRow,
} from './statements.ts';
import type { Queryable } from '../db/database.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { advanceWindow } from './advance.ts';
import { reviseMaintenances } from './revise.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { ChangeWindowBody, CreateWindowBody, DateFilterSchema } from './schema.ts';
import { checkNamed, readDateFilter, readWindow } from './rules.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, numberId } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { readQueryObjects } from '../http/fields/query-objects.ts';
import { dayOf } from '../http/fields/dates.ts';

/** Limit per account, because the scheduler and every alert read all windows that are not over. */
export const maxWindows = 500;

const ListQuery = strict(
  Type.Object({ ...paginationFields, startsAt: DateFilterSchema, endsAt: DateFilterSchema }),
);

const filterOf = (accountId: string, query: Static<typeof ListQuery>) => ({
  accountId,
  startsAt: readDateFilter('startsAt', query.startsAt),
  endsAt: readDateFilter('endsAt', query.endsAt),
});

const presentWindow = (row: MaintenanceWindowRow) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  startsAt: row.startsAt.toISOString(),
  endsAt: row.endsAt.toISOString(),
  timezone: row.timezone,
  repeatInterval: row.repeatInterval,
  repeatUnit: row.repeatUnit as 'DAY' | 'WEEK' | 'MONTH' | null, // as the schema of the body has it
  repeatEndsAt: row.repeatEndsAt?.toISOString() ?? null,
  pauseAllChecks: row.pauseAllChecks,
  tags: row.tags,
  silenceAllAlerts: row.silenceAllAlerts,
  silenceAlertsTags: row.silenceAlertsTags,
  statusPageVisibility: row.statusPageVisibility,
  created_at: dayOf(row.createdAt),
  updated_at: dayOf(row.updatedAt),
});

/** Reads the window that a path names. Throws 404. */
export async function windowOf(
  find: (named: { accountId: string; id: number }) => Promise<MaintenanceWindowRow | undefined>,
  { accountId, id }: { accountId: string; id: string },
): Promise<MaintenanceWindowRow> {
  const number = numberId(id);
  const row = number === null ? undefined : await find({ accountId, id: number });
  if (row === undefined) throw notFound('maintenance window', id);
  return row;
}

const tags = ['Maintenance windows'];

const present = async (db: Queryable, named: { accountId: string; id: string }) =>
  presentWindow(await windowOf((by) => findMaintenanceWindow(db, by), named));

/** Registers the routes of maintenance windows. */
export function registerMaintenanceWindows(api: PublicApi, deps: ApiDeps): void {
  registerList(api, deps);
  registerCreate(api, deps);
  registerRead(api, deps);
  registerChange(api, deps);
  registerDelete(api, deps);
}

function registerList(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/maintenance-windows',
    {
      schema: {
        operationId: 'listMaintenanceWindows',
        tags,
        summary: "The account's maintenance windows, oldest first",
        querystring: ListQuery,
        response: { 200: Type.Array(Type.Ref('MaintenanceWindow')), ...errorResponses(400) },
      },
      preValidation: readQueryObjects('startsAt', 'endsAt'),
      config: {
        countAll: ({ accountId, query }) =>
          countMaintenanceWindows(db, filterOf(accountId, query as Static<typeof ListQuery>)),
      },
    },
    async ({ accountId, query }) => {
      const rows = await listMaintenanceWindows(db, {
        ...filterOf(accountId, query),
        limit: query.limit,
        offset: offsetOf(query),
      });
      return rows.map(presentWindow);
    },
  );
}

function registerCreate(api: PublicApi, { db, now }: ApiDeps): void {
  api.post(
    '/v1/maintenance-windows',
    {
      schema: {
        operationId: 'createMaintenanceWindow',
        tags,
        summary: 'Create a maintenance window',
        body: CreateWindowBody,
        response: { 201: Type.Ref('MaintenanceWindow'), ...errorResponses(400, 413, 415) },
      },
    },
    async ({ accountId, body }, reply) => {
      const window = readWindow(body);
      const created = await db.tx(async (tx) => {
        if ((await lockMaintenanceWindowCount(tx, accountId)) >= maxWindows) {
          throw badRequest({ name: [`an account has at most ${maxWindows} maintenance windows`] });
        }
        await checkNamed(tx, { accountId, window });
        const id = await insertMaintenanceWindow(tx, { accountId, window, now: new Date(now()) });
        return present(tx, { accountId, id: String(id) });
      });
      return reply.code(201).send(created);
    },
  );
}

function registerRead(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/maintenance-windows/:id',
    {
      schema: {
        operationId: 'getMaintenanceWindow',
        tags,
        summary: 'One maintenance window',
        params: IdParams,
        response: { 200: Type.Ref('MaintenanceWindow'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }) => present(db, { accountId, id: params.id }),
  );
}

function registerChange(api: PublicApi, { db, now, background }: ApiDeps): void {
  api.put(
    '/v1/maintenance-windows/:id',
    {
      schema: {
        operationId: 'updateMaintenanceWindow',
        tags,
        summary: 'Change a maintenance window: fields that are left out stay as they are',
        params: IdParams,
        body: ChangeWindowBody,
        response: { 200: Type.Ref('MaintenanceWindow'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, body, params }) =>
      db.tx(async (tx) => {
        const time = now();
        const lock = () =>
          windowOf((named) => lockMaintenanceWindow(tx, named), { accountId, id: params.id });
        const stored = await lock();
        const window = readWindow(body, stored);
        await checkNamed(tx, { accountId, window, stored });
        // Steps that were due by the former times are done first.
        await advanceWindow(tx, background, { window: stored, now: time });
        await updateMaintenanceWindow(tx, { id: stored.id, window, now: new Date(time) });
        const changed = await lock();
        await reviseMaintenances(tx, { window: changed, now: time });
        return presentWindow(changed);
      }),
  );
}

function registerDelete(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    '/v1/maintenance-windows/:id',
    {
      schema: {
        operationId: 'deleteMaintenanceWindow',
        tags,
        summary: 'Delete a maintenance window, with its occurrences: its effects end at once',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }, reply) => {
      const id = numberId(params.id);
      const deleted = id !== null && (await deleteMaintenanceWindow(db, { accountId, id }));
      if (!deleted) throw notFound('maintenance window', params.id);
      return reply.code(204).send(null);
    },
  );
}
