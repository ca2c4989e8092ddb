import Type, { type Static } from 'typebox';
import type { Db, Queryable } from '../db/database.ts';
import { countOfAccount } from '../db/count-rows.ts';
import {
  byIncident,
  findIncidentUpdates,
  findListedUpdates,
  insertIncidentUpdate,
} from './update-statements.ts';
import {
  deleteIncident,
  findIncident,
  insertIncident,
  listIncidents,
  lockIncident,
  updateIncident,
  type IncidentRow,
  type IncidentWrite,
} from './statements.ts';
import { shareLockStatusPage } from '../status-pages/statements.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import { stoppedAt as stoppedAtOf } from './dashboard-updates.ts';
import { queueIncidentMessages } from './messages.ts';
import type { DashboardStatus } from '../status-pages/incident-words.ts';
import { momentHint, parseMoment } from '../maintenance/moments.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { ChangeIncidentBody, CreateIncidentBody, presentUpdate } from './schema.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';

type Change = Static<typeof ChangeIncidentBody>;
type Find = (named: { accountId: string; id: string }) => Promise<IncidentRow | undefined>;

/** Reads the incident of a path in this account. Throws 404. */
export async function dashboardIncidentOf(
  find: Find,
  { accountId, id }: { accountId: string; id: string },
): Promise<IncidentRow> {
  const row = isUuid(id) ? await find({ accountId, id }) : undefined;
  if (row === undefined) throw notFound('incident', id);
  return row;
}

async function presentIncidents(
  db: Queryable,
  rows: readonly IncidentRow[],
  { all, isList }: { all: boolean; isList: boolean },
) {
  const incidentIds = rows.map(({ id }) => id);
  const options = { incidentIds, onlyFirst: !all };
  const found =
    all && isList
      ? await findListedUpdates<DashboardStatus>(db, 'dashboard', incidentIds)
      : { updates: await findIncidentUpdates<DashboardStatus>(db, 'dashboard', options), partial: null };
  const updates = byIncident(found.updates);
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    severity: row.severity,
    dashboardId: row.dashboardId,
    startedAt: row.startedAt.toISOString(),
    stoppedAt: row.stoppedAt?.toISOString() ?? null,
    incidentUpdates: (updates.get(row.id) ?? []).map((update) => presentUpdate(update)),
    ...(found.partial?.has(row.id) === true ? { isPartial: true } : {}),
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt?.toISOString() ?? null,
  }));
}

/** Resolves `severity` and its alias `impact`. Throws 400. */
function severityOf({ severity, impact }: Change) {
  if (severity !== undefined && impact !== undefined && severity !== impact) {
    throw badRequest({ impact: ['is an alias of severity and must have the same value'] });
  }
  return severity ?? impact;
}

function readMoment(name: string, text: string): Date {
  const at = parseMoment(text, { timezone: 'UTC' });
  if (at === null) throw badRequest({ [name]: [`must be: ${momentHint}`] });
  return new Date(at);
}

/** Builds an incident from a body and locks its status page until `tx` ends. Throws 400. */
async function changed(tx: Db, stored: IncidentWrite, body: Change): Promise<IncidentWrite> {
  const { accountId } = stored;
  const dashboardId = body.dashboardId ?? stored.dashboardId;
  if (!isUuid(dashboardId) || !(await shareLockStatusPage(tx, { accountId, id: dashboardId }))) {
    throw badRequest({ dashboardId: [`is not a status page of this account (${dashboardId})`] });
  }
  const startedAt = body.startedAt === undefined ? stored.startedAt : readMoment('startedAt', body.startedAt);
  const stoppedAt =
    body.stoppedAt === undefined
      ? stored.stoppedAt
      : body.stoppedAt === null
        ? null
        : readMoment('stoppedAt', body.stoppedAt);
  if (stoppedAt !== null && stoppedAt < startedAt) {
    throw badRequest({ stoppedAt: ['must not be earlier than startedAt'] });
  }
  return {
    ...stored,
    dashboardId,
    name: body.name ?? stored.name,
    severity: severityOf(body) ?? stored.severity,
    startedAt,
    stoppedAt,
  };
}

const AllUpdates = Type.Boolean({
  default: false,
  description: 'All updates, oldest first, instead of the first one alone.',
});

const tags = ['Incidents'];

async function present(queryable: Queryable, row: IncidentRow, all: boolean) {
  const [shown] = await presentIncidents(queryable, [row], { all, isList: false });
  if (shown === undefined) throw notFound('incident', row.id);
  return shown;
}
const read = (queryable: Queryable, named: { accountId: string; id: string }) =>
  dashboardIncidentOf((by) => findIncident(queryable, by), named);

/** Routes of dashboard incidents, which concern one status page as a whole. */
export function registerIncidents(api: PublicApi, deps: ApiDeps): void {
  listRoute(api, deps);
  createRoute(api, deps);
  readRoute(api, deps);
  changeRoute(api, deps);
  deleteRoute(api, deps);
}

function listRoute(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/incidents',
    {
      schema: {
        operationId: 'listIncidents',
        tags,
        summary: 'Incidents of dashboards, newest first',
        querystring: strict(Type.Object({ ...paginationFields, includeAllIncidentUpdates: AllUpdates })),
        response: { 200: Type.Array(Type.Ref('Incident')), ...errorResponses(400) },
      },
      config: { countAll: ({ accountId }) => countOfAccount(db, 'incidents', accountId) },
    },
    async ({ accountId, query }) => {
      const { limit, includeAllIncidentUpdates: all } = query;
      const rows = await listIncidents(db, { accountId, limit, offset: offsetOf(query) });
      return presentIncidents(db, rows, { all, isList: true });
    },
  );
}

function createRoute(api: PublicApi, { db, now, background }: ApiDeps): void {
  api.post(
    '/v1/incidents',
    {
      schema: {
        operationId: 'createIncident',
        tags,
        summary: 'Open an incident of a dashboard, with its first update',
        body: CreateIncidentBody,
        response: { 201: Type.Ref('Incident'), ...errorResponses(400, 413, 415) },
      },
    },
    async ({ accountId, body }, reply) => {
      const created = await db.tx(async (tx) => {
        const time = now();
        const at = new Date(time);
        const [first] = body.incidentUpdates;
        if (first === undefined) throw badRequest({ incidentUpdates: ['must have 1 element'] });
        const severity = severityOf(body);
        if (severity === undefined) throw badRequest({ severity: ['is required'] });
        const { dashboardId, name } = body;
        const id = uuidv7(time);
        const empty = { id, accountId, dashboardId, name, severity, startedAt: at, stoppedAt: null };
        const incident = await changed(tx, empty, body);
        const { status, description, notifySubscribers } = first;
        const stoppedAt = stoppedAtOf(incident, { former: null, status, at });
        await insertIncident(tx, { ...incident, stoppedAt, now: at });
        const updateId = uuidv7(time);
        const update = { id: updateId, incidentId: id, status, description, notifySubscribers };
        await insertIncidentUpdate(tx, 'dashboard', { ...update, createdAt: at });
        if (notifySubscribers) await queueIncidentMessages(tx, background, { kind: 'dashboard', updateId });
        return present(tx, await read(tx, { accountId, id }), false);
      });
      return reply.code(201).send(created);
    },
  );
}

function readRoute(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/incidents/:id',
    {
      schema: {
        operationId: 'getIncident',
        tags,
        summary: 'One incident of a dashboard',
        params: IdParams,
        querystring: strict(Type.Object({ includeAllIncidentUpdates: AllUpdates })),
        response: { 200: Type.Ref('Incident'), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, params: { id }, query }) =>
      present(db, await read(db, { accountId, id }), query.includeAllIncidentUpdates),
  );
}

function changeRoute(api: PublicApi, { db, now }: ApiDeps): void {
  api.put(
    '/v1/incidents/:id',
    {
      schema: {
        operationId: 'updateIncident',
        tags,
        summary: 'Change an incident: fields that are left out stay; its updates have paths of their own',
        params: IdParams,
        querystring: strict(
          Type.Object({
            probe: Type.Boolean({
              default: false,
              description: 'The answer says what the incident would be, and nothing is stored.',
            }),
          }),
        ),
        body: ChangeIncidentBody,
        response: { 200: Type.Ref('Incident'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, body, params: { id }, query }) =>
      db.tx(async (tx) => {
        const stored = await dashboardIncidentOf((by) => lockIncident(tx, by), { accountId, id });
        const incident = await changed(tx, stored, body);
        const updatedAt = new Date(now());
        if (!query.probe) await updateIncident(tx, { ...incident, now: updatedAt });
        return present(tx, { ...stored, ...incident, updatedAt }, false);
      }),
  );
}

function deleteRoute(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    '/v1/incidents/:id',
    {
      schema: {
        operationId: 'deleteIncident',
        tags,
        summary: 'Delete an incident, with its updates',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id } }, reply) => {
      const deleted = isUuid(id) && (await deleteIncident(db, { accountId, id }));
      if (!deleted) throw notFound('incident', id);
      return reply.code(204).send(null);
    },
  );
}
