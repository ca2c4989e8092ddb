import Type from 'typebox';
import type { Db } from '../db/database.ts';
import {
  changeIncidentUpdate,
  deleteIncidentUpdate,
  findIncidentUpdate,
  findIncidentUpdates,
  type IncidentUpdateRow,
} from './update-statements.ts';
import { findIncident, lockIncident, updateIncident, type IncidentRow } from './statements.ts';
import { notFound } from '../http/errors.ts';
import { addDashboardUpdate, stoppedAt } from './dashboard-updates.ts';
import { maxUpdates } from './updates.ts';
import type { DashboardStatus } from '../status-pages/incident-words.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { PostDashboardUpdateBody, presentUpdate, PutDashboardUpdateBody, UpdateParams } from './schema.ts';
import { dashboardIncidentOf } from './routes.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { lastUpdate, tooManyUpdates } from './page-update-routes.ts';

type Update = IncidentUpdateRow<DashboardStatus>;

const tags = ['Incidents'];
const kind = 'dashboard';
const unknown = (id: string) => notFound('update of the incident', id, 'updateId');

async function locked(
  tx: Db,
  accountId: string,
  id: string,
): Promise<{ incident: IncidentRow; updates: Update[] }> {
  const incident = await dashboardIncidentOf((named) => lockIncident(tx, named), { accountId, id });
  return { incident, updates: await findIncidentUpdates(tx, kind, { incidentIds: [id] }) };
}

async function present(tx: Db, incidentId: string, id: string) {
  const row = await findIncidentUpdate<DashboardStatus>(tx, kind, { incidentId, id });
  if (row === undefined) throw unknown(id);
  return presentUpdate(row);
}

/** After an update was changed or deleted, the new last update decides whether the incident is stopped. */
async function follow(
  tx: Db,
  change: { incident: IncidentRow; former: Update | undefined; left: Update[]; at: Date },
): Promise<void> {
  const { incident, former, left, at } = change;
  const last = left.at(-1);
  if (last === undefined || last.status === former?.status) return;
  const stops = stoppedAt(incident, { former: former?.status ?? null, status: last.status, at });
  await updateIncident(tx, { ...incident, stoppedAt: stops, now: at });
}

/** Routes of the updates of dashboard incidents. */
export function registerIncidentUpdates(api: PublicApi, deps: ApiDeps): void {
  listRoute(api, deps);
  createRoute(api, deps);
  readRoute(api, deps);
  changeRoute(api, deps);
  deleteRoute(api, deps);
}

function listRoute(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/incidents/:id/updates',
    {
      schema: {
        operationId: 'listIncidentUpdates',
        tags,
        summary: 'Updates of an incident, oldest first',
        params: IdParams,
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('IncidentUpdate')), ...errorResponses(400, 404) },
      },
      config: {
        countAll: async ({ params }) =>
          (await findIncidentUpdates(db, kind, { incidentIds: [(params as { id: string }).id] })).length,
      },
    },
    async ({ accountId, params: { id }, query }) => {
      await dashboardIncidentOf((named) => findIncident(db, named), { accountId, id });
      const updates: Update[] = await findIncidentUpdates(db, kind, { incidentIds: [id] });
      const from = offsetOf(query);
      return updates.slice(from, from + query.limit).map((update) => presentUpdate(update));
    },
  );
}

function createRoute(api: PublicApi, { db, now, background }: ApiDeps): void {
  api.post(
    '/v1/incidents/:id/updates',
    {
      schema: {
        operationId: 'createIncidentUpdate',
        tags,
        summary: 'Write an update: RESOLVED stops the incident, any other status after that starts it again',
        params: IdParams,
        body: PostDashboardUpdateBody,
        response: { 201: Type.Ref('IncidentUpdate'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, params: { id }, body }, reply) => {
      const created = await db.tx(async (tx) => {
        const { incident, updates } = await locked(tx, accountId, id);
        if (updates.length >= maxUpdates) throw tooManyUpdates();
        const options = { incident, updates, update: body, now: now() };
        return present(tx, id, await addDashboardUpdate(tx, background, options));
      });
      return reply.code(201).send(created);
    },
  );
}

function readRoute(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/incidents/:id/updates/:updateId',
    {
      schema: {
        operationId: 'getIncidentUpdate',
        tags,
        summary: 'One update of an incident',
        params: UpdateParams,
        response: { 200: Type.Ref('IncidentUpdate'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id, updateId } }) => {
      await dashboardIncidentOf((named) => findIncident(db, named), { accountId, id });
      if (!isUuid(updateId)) throw unknown(updateId);
      return present(db, id, updateId);
    },
  );
}

function changeRoute(api: PublicApi, { db, now }: ApiDeps): void {
  api.put(
    '/v1/incidents/:id/updates/:updateId',
    {
      schema: {
        operationId: 'updateIncidentUpdate',
        tags,
        summary: 'Change an update of an incident',
        params: UpdateParams,
        body: PutDashboardUpdateBody,
        response: { 200: Type.Ref('IncidentUpdate'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, params: { id, updateId }, body }) =>
      db.tx(async (tx) => {
        const { incident, updates } = await locked(tx, accountId, id);
        const stored = updates.find((update) => update.id === updateId);
        if (stored === undefined) throw unknown(updateId);
        const { status = stored.status, description = stored.description } = body;
        await changeIncidentUpdate(tx, kind, { id: updateId, status, description, now: new Date(now()) });
        const left = updates.map((update) => (update === stored ? { ...stored, status } : update));
        await follow(tx, { incident, former: updates.at(-1), left, at: new Date(now()) });
        return present(tx, id, updateId);
      }),
  );
}

function deleteRoute(api: PublicApi, { db, now }: ApiDeps): void {
  api.delete(
    '/v1/incidents/:id/updates/:updateId',
    {
      schema: {
        operationId: 'deleteIncidentUpdate',
        tags,
        summary: 'Delete an update of an incident that has others',
        params: UpdateParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404, 409) },
      },
    },
    async ({ accountId, params: { id, updateId } }, reply) => {
      await db.tx(async (tx) => {
        const { incident, updates } = await locked(tx, accountId, id);
        if (!updates.some((update) => update.id === updateId)) throw unknown(updateId);
        if (updates.length === 1) throw lastUpdate();
        await deleteIncidentUpdate(tx, kind, updateId);
        const left = updates.filter((update) => update.id !== updateId);
        await follow(tx, { incident, former: updates.at(-1), left, at: new Date(now()) });
      });
      return reply.code(204).send(null);
    },
  );
}
