import { checkServices } from '../status-pages/named-services.ts';
import Type from 'typebox';
import type { Queryable } from '../db/database.ts';
import { byIncident, findIncidentUpdates, findListedUpdates } from './update-statements.ts';
import {
  deleteStatusPageIncident,
  findStatusPageIncident,
  insertStatusPageIncident,
  listStatusPageIncidents,
  lockStatusPageIncident,
  servicesOfIncidents,
  setIncidentServices,
  updateStatusPageIncident,
  type StatusPageIncidentRow,
} from './page-statements.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { IncidentStatus } from '../status-pages/incident-words.ts';
import { addUpdate } from './updates.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { countListed } from '../db/count-rows.ts';
import { CursorQuery, pageOf } from '../http/fields/cursor.ts';
import { ChangeStatusPageIncidentBody, CreateStatusPageIncidentBody, presentUpdate } from './schema.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';

/** Presents incidents with their services and all updates. */
async function presentIncidents(
  db: Queryable,
  rows: readonly StatusPageIncidentRow[],
  { isList }: { isList: boolean },
) {
  const incidentIds = rows.map(({ id }) => id);
  const services = byIncident(await servicesOfIncidents(db, incidentIds));
  const found = isList
    ? await findListedUpdates<IncidentStatus>(db, 'status-page', incidentIds)
    : {
        updates: await findIncidentUpdates<IncidentStatus>(db, 'status-page', { incidentIds }),
        partial: null,
      };
  const updates = byIncident(found.updates);
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    severity: row.severity,
    services: (services.get(row.id) ?? []).map(({ id, name, accountId }) => ({ id, name, accountId })),
    incidentUpdates: (updates.get(row.id) ?? []).map((update) => presentUpdate(update)),
    ...(found.partial?.has(row.id) === true ? { isPartial: true } : {}),
    lastUpdateStatus: row.lastUpdateStatus,
    duration: row.resolvedAt === null ? null : row.resolvedAt.getTime() - row.startedAt.getTime(),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt?.toISOString() ?? null,
  }));
}

type Find = (named: { accountId: string; id: string }) => Promise<StatusPageIncidentRow | undefined>;

/** Reads the incident of a path in this account. Throws 404. */
export async function incidentOf(
  find: Find,
  { accountId, id }: { accountId: string; id: string },
): Promise<StatusPageIncidentRow> {
  const row = isUuid(id) ? await find({ accountId, id }) : undefined;
  if (row === undefined) throw notFound('incident', id);
  return row;
}

const tags = ['Status pages'];

async function present(queryable: Queryable, accountId: string, id: string) {
  const row = await incidentOf((named) => findStatusPageIncident(queryable, named), { accountId, id });
  const [shown] = await presentIncidents(queryable, [row], { isList: false });
  if (shown === undefined) throw notFound('incident', id);
  return shown;
}

/** Routes of service incidents. Every status page that has one of the services shows them. */
export function registerStatusPageIncidents(api: PublicApi, deps: ApiDeps): void {
  listRoute(api, deps);
  createRoute(api, deps);
  readRoute(api, deps);
  changeRoute(api, deps);
  deleteRoute(api, deps);
}

function listRoute(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/status-pages/incidents',
    {
      config: { isByCursor: true },
      schema: {
        operationId: 'listStatusPageIncidents',
        tags,
        summary: 'Incidents of services, newest first',
        querystring: CursorQuery,
        response: { 200: Type.Ref('StatusPageIncidentPage'), ...errorResponses(400) },
      },
    },
    async (request) => {
      const { accountId, query } = request;
      request.countAll = () =>
        countListed(db, (counting, { limit }) =>
          listStatusPageIncidents(counting, { accountId, after: null, limit }),
        );
      return pageOf(
        query,
        (page) => listStatusPageIncidents(db, { accountId, ...page }),
        (rows) => presentIncidents(db, rows, { isList: true }),
      );
    },
  );
}

function createRoute(api: PublicApi, { db, now, background }: ApiDeps): void {
  api.post(
    '/v1/status-pages/incidents',
    {
      schema: {
        operationId: 'createStatusPageIncident',
        tags,
        summary: 'Open an incident of services, with its first update',
        body: CreateStatusPageIncidentBody,
        response: { 201: Type.Ref('StatusPageIncident'), ...errorResponses(400, 413, 415) },
      },
    },
    async ({ accountId, body }, reply) => {
      const created = await db.tx(async (tx) => {
        const time = now();
        const id = uuidv7(time);
        const [first] = body.incidentUpdates;
        if (first === undefined) throw badRequest({ incidentUpdates: ['must have 1 element'] });
        const serviceIds = body.services.map((service) => service.id);
        await checkServices(tx, { accountId, ids: serviceIds, path: (index) => `services.${index}.id` });
        const { status, description, notifySubscribers } = first;
        await insertStatusPageIncident(tx, {
          id,
          accountId,
          name: body.name,
          severity: body.severity,
          status,
          alertId: null,
          followedCheckId: null,
          notifySubscribers,
          now: new Date(time),
        });
        await setIncidentServices(tx, { incidentId: id, serviceIds });
        const update = { incidentId: id, status, description, notifySubscribers, now: time };
        await addUpdate(tx, background, update);
        return present(tx, accountId, id);
      });
      return reply.code(201).send(created);
    },
  );
}

function readRoute(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/status-pages/incidents/:id',
    {
      schema: {
        operationId: 'getStatusPageIncident',
        tags,
        summary: 'An incident of services',
        params: IdParams,
        response: { 200: Type.Ref('StatusPageIncident'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }) => present(db, accountId, params.id),
  );
}

function changeRoute(api: PublicApi, { db, now }: ApiDeps): void {
  api.put(
    '/v1/status-pages/incidents/:id',
    {
      schema: {
        operationId: 'updateStatusPageIncident',
        tags,
        summary: 'Change an incident: fields that are left out stay; its updates have paths of their own',
        params: IdParams,
        body: ChangeStatusPageIncidentBody,
        response: { 200: Type.Ref('StatusPageIncident'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, body, params }) =>
      db.tx(async (tx) => {
        const lock: Find = (named) => lockStatusPageIncident(tx, named);
        const { id, name, severity } = await incidentOf(lock, { accountId, id: params.id });
        if (body.services !== undefined) {
          const serviceIds = body.services.map((service) => service.id);
          await checkServices(tx, { accountId, ids: serviceIds, path: (index) => `services.${index}.id` });
          await setIncidentServices(tx, { incidentId: id, serviceIds });
        }
        await updateStatusPageIncident(tx, {
          id,
          name: body.name ?? name,
          severity: body.severity ?? severity,
          now: new Date(now()),
        });
        return present(tx, accountId, id);
      }),
  );
}

function deleteRoute(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    '/v1/status-pages/incidents/:id',
    {
      schema: {
        operationId: 'deleteStatusPageIncident',
        tags,
        summary: 'Delete an incident, with its updates',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }, reply) => {
      const deleted = isUuid(id) && (await deleteStatusPageIncident(db, { accountId, id }));
      if (!deleted) throw notFound('incident', id);
      return reply.code(204).send(null);
    },
  );
}
