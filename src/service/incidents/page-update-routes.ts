import Type from 'typebox';
import type { Db } from '../db/database.ts';
import {
  changeIncidentUpdate,
  deleteIncidentUpdate,
  findIncidentUpdate,
  findIncidentUpdates,
  type IncidentUpdateRow,
} from './update-statements.ts';
import { findStatusPageIncident, lockStatusPageIncident } from './page-statements.ts';
import { badRequest, conflict, notFound } from '../http/errors.ts';
import { addUpdate, maxUpdates, refreshSpan } from './updates.ts';
import type { IncidentStatus } from '../status-pages/incident-words.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { CursorQuery, pageOf } from '../http/fields/cursor.ts';
import { PostUpdateBody, presentUpdate, PutUpdateBody, UpdateParams } from './schema.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { incidentOf } from './page-routes.ts';

type Update = IncidentUpdateRow<IncidentStatus>;

export const lastUpdate = () =>
  conflict('An incident has at least one update.', {
    updateId: ['is the only update of its incident: change it, or delete the incident'],
  });

export const tooManyUpdates = () =>
  badRequest({ description: [`an incident has at most ${maxUpdates} updates`] });

const tags = ['Status pages'];
const kind = 'status-page';

async function locked(tx: Db, accountId: string, id: string): Promise<Update[]> {
  const incident = await incidentOf((named) => lockStatusPageIncident(tx, named), { accountId, id });
  return findIncidentUpdates(tx, kind, { incidentIds: [incident.id] });
}

const updateOf = (updates: readonly Update[], id: string): Update => {
  const found = updates.find((update) => update.id === id);
  if (found === undefined) throw notFound('update of the incident', id, 'updateId');
  return found;
};

async function present(tx: Db, incidentId: string, id: string) {
  const row = await findIncidentUpdate<IncidentStatus>(tx, kind, { incidentId, id });
  if (row === undefined) throw notFound('update of the incident', id, 'updateId');
  return presentUpdate(row);
}

/** Routes of the updates of service incidents. */
export function registerStatusPageIncidentUpdates(api: PublicApi, deps: ApiDeps): void {
  listRoute(api, deps);
  createRoute(api, deps);
  readRoute(api, deps);
  changeRoute(api, deps);
  deleteRoute(api, deps);
}

function listRoute(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/status-pages/incidents/:id/incident-updates',
    {
      config: { isByCursor: true },
      schema: {
        operationId: 'listStatusPageIncidentUpdates',
        tags,
        summary: 'Updates of an incident, oldest first',
        params: IdParams,
        querystring: CursorQuery,
        response: { 200: Type.Ref('StatusPageIncidentUpdatePage'), ...errorResponses(400, 404) },
      },
    },
    async (request) => {
      const { accountId, params, query } = request;
      const { id } = await incidentOf((named) => findStatusPageIncident(db, named), {
        accountId,
        id: params.id,
      });
      const all: Update[] = await findIncidentUpdates(db, kind, { incidentIds: [id] });
      request.countAll = async () => all.length;
      return pageOf(
        query,
        async ({ after, limit }) => {
          const from = after === null ? 0 : all.findIndex((update) => update.id === after) + 1;
          if (after !== null && from === 0) throw badRequest({ nextId: ['names no update of the incident'] });
          return all.slice(from, from + limit);
        },
        (rows) => rows.map((row) => presentUpdate(row)),
      );
    },
  );
}

function createRoute(api: PublicApi, { db, now, background }: ApiDeps): void {
  api.post(
    '/v1/status-pages/incidents/:id/incident-updates',
    {
      schema: {
        operationId: 'createStatusPageIncidentUpdate',
        tags,
        summary:
          'Write an update: RESOLVED resolves the incident, any other status after that opens it again',
        params: IdParams,
        body: PostUpdateBody,
        response: { 201: Type.Ref('StatusPageIncidentUpdate'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, params: { id }, body }, reply) => {
      const created = await db.tx(async (tx) => {
        const updates = await locked(tx, accountId, id);
        if (updates.length >= maxUpdates) throw tooManyUpdates();
        const { status, description, notifySubscribers } = body;
        const update = { incidentId: id, status, description, notifySubscribers, now: now() };
        return present(tx, id, await addUpdate(tx, background, update));
      });
      return reply.code(201).send(created);
    },
  );
}

function readRoute(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/status-pages/incidents/:id/incident-updates/:updateId',
    {
      schema: {
        operationId: 'getStatusPageIncidentUpdate',
        tags,
        summary: 'One update of an incident',
        params: UpdateParams,
        response: { 200: Type.Ref('StatusPageIncidentUpdate'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id, updateId } }) => {
      await incidentOf((named) => findStatusPageIncident(db, named), { accountId, id });
      if (!isUuid(updateId)) throw notFound('update of the incident', updateId, 'updateId');
      return present(db, id, updateId);
    },
  );
}

function changeRoute(api: PublicApi, { db, now }: ApiDeps): void {
  api.put(
    '/v1/status-pages/incidents/:id/incident-updates/:updateId',
    {
      schema: {
        operationId: 'updateStatusPageIncidentUpdate',
        tags,
        summary: 'Change an update of an incident',
        params: UpdateParams,
        body: PutUpdateBody,
        response: { 200: Type.Ref('StatusPageIncidentUpdate'), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, params: { id, updateId }, body }) =>
      db.tx(async (tx) => {
        const stored = updateOf(await locked(tx, accountId, id), updateId);
        const time = now();
        const { status = stored.status, description = stored.description } = body;
        await changeIncidentUpdate(tx, kind, { id: updateId, status, description, now: new Date(time) });
        await refreshSpan(tx, { incidentId: id, now: time });
        return present(tx, id, updateId);
      }),
  );
}

function deleteRoute(api: PublicApi, { db, now }: ApiDeps): void {
  api.delete(
    '/v1/status-pages/incidents/:id/incident-updates/:updateId',
    {
      schema: {
        operationId: 'deleteStatusPageIncidentUpdate',
        tags,
        summary: 'Delete an update of an incident that has others',
        params: UpdateParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404, 409) },
      },
    },
    async ({ accountId, params: { id, updateId } }, reply) => {
      await db.tx(async (tx) => {
        const updates = await locked(tx, accountId, id);
        updateOf(updates, updateId);
        if (updates.length === 1) throw lastUpdate();
        await deleteIncidentUpdate(tx, kind, updateId);
        await refreshSpan(tx, { incidentId: id, now: now() });
      });
      return reply.code(204).send(null);
    },
  );
}
