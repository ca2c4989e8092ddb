import Type from 'typebox';
import { changeMaintenanceUpdate, deleteMaintenanceUpdate } from './occurrence-statements.ts';
import { notFound } from '../http/errors.ts';
import { strict } from '../http/fields/strict-schema.ts';
import type { Maintenance } from './maintenances.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import {
  lockMaintenance,
  maintenanceOf,
  OccurrenceParams,
  presentUpdate,
  updateMaintenance,
} from './changes.ts';
import { ChangeUpdateBody, PostUpdateBody } from './schema.ts';
import { isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';

const UpdateParams = strict(
  Type.Object({ id: Type.String(), occurrenceId: Type.String(), updateId: Type.String() }),
);

/** The key of an update of this occurrence. Throws 404 if `updateId` is not an id. */
function namedUpdate(maintenance: Maintenance, updateId: string) {
  if (!isUuid(updateId)) throw notFound('update', updateId, 'updateId');
  return { windowId: maintenance.window.id, startsAt: new Date(maintenance.startsAt), id: updateId };
}

/** The updates of an occurrence of a maintenance window: write, change, delete. */
export function registerMaintenanceUpdates(api: PublicApi, deps: ApiDeps): void {
  const { db, now } = deps;
  const tags = ['Maintenance windows'];

  api.post(
    '/v1/maintenance-windows/:id/occurrences/:occurrenceId/updates',
    {
      schema: {
        operationId: 'createMaintenanceUpdate',
        tags,
        summary: 'Write an update of an occurrence, which may give it another status',
        params: OccurrenceParams,
        body: PostUpdateBody,
        response: { 201: Type.Ref('MaintenanceUpdate'), ...errorResponses(404, 409, 413, 415) },
      },
    },
    async ({ accountId, params, body }, reply) => {
      const update = await db.tx(async (tx) => {
        const time = now();
        const maintenance = await lockMaintenance(tx, deps, { accountId, params, time });
        return updateMaintenance(tx, deps, {
          maintenance,
          status: body.status ?? maintenance.status,
          description: body.description,
          notifyAlways: body.notifySubscribers,
          time,
        });
      });
      return reply.code(201).send(presentUpdate(update));
    },
  );

  api.put(
    '/v1/maintenance-windows/:id/occurrences/:occurrenceId/updates/:updateId',
    {
      schema: {
        operationId: 'updateMaintenanceUpdate',
        tags,
        summary: 'Change the text of an update',
        params: UpdateParams,
        body: ChangeUpdateBody,
        response: { 200: Type.Ref('MaintenanceUpdate'), ...errorResponses(404, 413, 415) },
      },
    },
    async ({ accountId, params, body }) =>
      db.tx(async (tx) => {
        const time = now();
        const maintenance = await lockMaintenance(tx, deps, { accountId, params, time });
        const named = namedUpdate(maintenance, params.updateId);
        const { description } = body;
        if (!(await changeMaintenanceUpdate(tx, { ...named, description, now: new Date(time) }))) {
          throw notFound('update', params.updateId, 'updateId');
        }
        const { updates } = await maintenanceOf(tx, maintenance.window, { id: params.occurrenceId, time });
        const changed = updates.find(({ id }) => id === params.updateId);
        if (changed === undefined) throw notFound('update', params.updateId, 'updateId');
        return presentUpdate(changed);
      }),
  );

  api.delete(
    '/v1/maintenance-windows/:id/occurrences/:occurrenceId/updates/:updateId',
    {
      schema: {
        operationId: 'deleteMaintenanceUpdate',
        tags,
        summary: 'Delete an update; the status stays as it is',
        params: UpdateParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }, reply) => {
      await db.tx(async (tx) => {
        const maintenance = await lockMaintenance(tx, deps, { accountId, params, time: now() });
        if (!(await deleteMaintenanceUpdate(tx, namedUpdate(maintenance, params.updateId)))) {
          throw notFound('update', params.updateId, 'updateId');
        }
      });
      return reply.code(204).send(null);
    },
  );
}
