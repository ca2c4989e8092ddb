import Type from 'typebox';
import type { Db } from '../db/database.ts';
import { findMaintenanceWindow, lockMaintenanceWindow, type MaintenanceWindowRow } from './statements.ts';
import {
  changeMaintenanceUpdate,
  countMaintenanceUpdates,
  deleteMaintenanceUpdate,
  type MaintenanceUpdate,
} from './occurrence-statements.ts';
import { badRequest, conflict, notFound } from '../http/errors.ts';
import { advanceWindow } from './advance.ts';
import { changeStatus } from './change-status.ts';
import { listMaintenances, readMaintenance, type Maintenance } from './maintenances.ts';
import { momentHint, parseMoment } from './moments.ts';
import { isOver, mayBecome, type MaintenanceStatus } from './status.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { CancelBody, ChangeUpdateBody, PostUpdateBody } from './schema.ts';
import { windowOf } from './routes.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { bodyOrNone } from '../http/optional-body.ts';
import { dayMs } from '../../durations.ts';

/** Days of one list: no window has more occurrences in it. */
const mostDays = 366;
/** Of one occurrence. */
export const mostUpdates = 200;

const OccurrenceParams = strict(Type.Object({ id: Type.String(), occurrenceId: Type.String() }));
const UpdateParams = strict(
  Type.Object({ id: Type.String(), occurrenceId: Type.String(), updateId: Type.String() }),
);

const presentUpdate = ({ id, status, description, createdAt, updatedAt }: MaintenanceUpdate) => ({
  id,
  status,
  description,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt?.toISOString() ?? null,
});

const presentMaintenance = (maintenance: Maintenance) => ({
  id: maintenance.id,
  maintenanceWindowId: maintenance.window.id,
  startsAt: new Date(maintenance.startsAt).toISOString(),
  endsAt: new Date(maintenance.endsAt).toISOString(),
  status: maintenance.status,
  startedAt: maintenance.startedAt?.toISOString() ?? null,
  endedAt: maintenance.endedAt?.toISOString() ?? null,
  updates: maintenance.updates.map(presentUpdate),
});

/** The stretch of time of a list. Throws 400. */
function readStretch(
  query: { from?: string; to?: string },
  { timezone, now }: { timezone: string; now: number },
): { from: number; to: number } {
  const read = (name: 'from' | 'to', fallback: number): number => {
    const text = query[name];
    if (text === undefined) return fallback;
    const at = parseMoment(text, { timezone });
    if (at === null) throw badRequest({ [name]: [`must be: ${momentHint}`] });
    return at;
  };
  const from = read('from', now);
  const to = read('to', from + mostDays * dayMs);
  if (to <= from) throw badRequest({ to: ['must be later than from'] });
  if (to - from > mostDays * dayMs) throw badRequest({ to: [`must be at most ${mostDays} days after from`] });
  return { from, to };
}

/** Occurrences of a maintenance window, "maintenances": what becomes of them, and what is written about them. */
export function registerMaintenanceOccurrences(api: PublicApi, { db, now, background }: ApiDeps): void {
  const tags = ['Maintenance windows'];
  type Params = { id: string; occurrenceId: string };

  async function maintenanceOf(
    tx: Db,
    window: MaintenanceWindowRow,
    { id, time }: { id: string; time: number },
  ): Promise<Maintenance> {
    const found = await readMaintenance(tx, window, { id, now: time });
    if (found === null) throw notFound('occurrence', id, 'occurrenceId');
    return found;
  }

  /** An occurrence whose window nobody else changes before the transaction ends; what was due is done. */
  async function lockMaintenance(
    tx: Db,
    { accountId, params, time }: { accountId: string; params: Params; time: number },
  ): Promise<Maintenance> {
    const window = await windowOf((named) => lockMaintenanceWindow(tx, named), { accountId, id: params.id });
    await advanceWindow(tx, background, { window, now: time });
    return maintenanceOf(tx, window, { id: params.occurrenceId, time });
  }

  async function change(
    tx: Db,
    maintenance: Maintenance,
    options: { status: MaintenanceStatus; description: string; tellAlways: boolean; time: number },
  ): Promise<MaintenanceUpdate> {
    const { status, description, tellAlways, time } = options;
    const { window, startsAt, endsAt } = maintenance;
    if (!mayBecome(maintenance.status, status)) {
      const message = `The maintenance is ${maintenance.status}: it can not become ${status}.`;
      throw conflict(message, { status: [`can not follow ${maintenance.status}`] });
    }
    const count = await countMaintenanceUpdates(tx, {
      windowId: window.id,
      startsAt: new Date(startsAt),
    });
    if (count >= mostUpdates) {
      throw badRequest({ description: [`an occurrence has at most ${mostUpdates} updates`] });
    }
    return changeStatus(tx, background, {
      window,
      occurrence: { startsAt, endsAt },
      status,
      description,
      at: time,
      now: time,
      tell: tellAlways ? 'always' : 'as-window',
    });
  }

  api.get(
    '/v1/maintenance-windows/:id/occurrences',
    {
      schema: {
        operationId: 'listMaintenanceOccurrences',
        tags,
        summary: 'Occurrences of a maintenance window that lie in a stretch of time, by their beginnings',
        params: IdParams,
        querystring: strict(
          Type.Object({
            ...paginationFields,
            from: Type.Optional(Type.String({ maxLength: 40, description: `Default now: ${momentHint}` })),
            to: Type.Optional(
              Type.String({ maxLength: 40, description: `At most, and by default, ${mostDays} days later.` }),
            ),
          }),
        ),
        response: { 200: Type.Array(Type.Ref('Maintenance')), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, params, query }) => {
      const time = now();
      const window = await windowOf((named) => findMaintenanceWindow(db, named), {
        accountId,
        id: params.id,
      });
      const stretch = readStretch(query, { timezone: window.timezone, now: time });
      const offset = Math.min(offsetOf(query), mostDays * 2);
      const found = await listMaintenances(db, [window], {
        ...stretch,
        now: time,
        limit: offset + query.limit,
      });
      return found.slice(offset).map(presentMaintenance);
    },
  );

  api.get(
    '/v1/maintenance-windows/:id/occurrences/:occurrenceId',
    {
      schema: {
        operationId: 'getMaintenanceOccurrence',
        tags,
        summary: 'One occurrence of a maintenance window',
        params: OccurrenceParams,
        response: { 200: Type.Ref('Maintenance'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }) => {
      const window = await windowOf((named) => findMaintenanceWindow(db, named), {
        accountId,
        id: params.id,
      });
      return presentMaintenance(await maintenanceOf(db, window, { id: params.occurrenceId, time: now() }));
    },
  );

  api.post(
    '/v1/maintenance-windows/:id/occurrences/:occurrenceId/cancel',
    {
      schema: {
        operationId: 'cancelMaintenanceOccurrence',
        tags,
        summary: 'Cancel an occurrence: it has no effects, from now on',
        params: OccurrenceParams,
        body: CancelBody,
        response: { 200: Type.Ref('Maintenance'), ...errorResponses(404, 409, 413, 415) },
      },
      preValidation: bodyOrNone,
    },
    async ({ accountId, params, body }) =>
      db.tx(async (tx) => {
        const time = now();
        const maintenance = await lockMaintenance(tx, { accountId, params, time });
        if (isOver(maintenance.status)) {
          const message = `The maintenance is ${maintenance.status} already.`;
          throw conflict(message, { occurrenceId: [`is ${maintenance.status} already`] });
        }
        await change(tx, maintenance, {
          status: 'CANCELLED',
          description: body.description ?? 'The maintenance is cancelled.',
          tellAlways: body.notifySubscribers,
          time,
        });
        return presentMaintenance(
          await maintenanceOf(tx, maintenance.window, { id: params.occurrenceId, time }),
        );
      }),
  );

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
        const maintenance = await lockMaintenance(tx, { accountId, params, time });
        return change(tx, maintenance, {
          status: body.status ?? maintenance.status,
          description: body.description,
          tellAlways: body.notifySubscribers,
          time,
        });
      });
      return reply.code(201).send(presentUpdate(update));
    },
  );

  const namedUpdate = (maintenance: Maintenance, updateId: string) => {
    if (!isUuid(updateId)) throw notFound('update', updateId, 'updateId');
    return { windowId: maintenance.window.id, startsAt: new Date(maintenance.startsAt), id: updateId };
  };

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
        const maintenance = await lockMaintenance(tx, { accountId, params, time });
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
        const maintenance = await lockMaintenance(tx, { accountId, params, time: now() });
        if (!(await deleteMaintenanceUpdate(tx, namedUpdate(maintenance, params.updateId)))) {
          throw notFound('update', params.updateId, 'updateId');
        }
      });
      return reply.code(204).send(null);
    },
  );
}
