import Type from 'typebox';

import { findMaintenanceWindow, listMaintenanceWindows } from './statements.ts';

import { badRequest, conflict } from '../http/errors.ts';

import { listMaintenances, type Maintenance } from './maintenances.ts';
import { momentHint, parseMoment } from './moments.ts';
import { isOver } from './status.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { CancelBody } from './schema.ts';
import { maxWindows, windowOf } from './routes.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams } from '../http/fields/path-params.ts';
import {
  lockMaintenance,
  maintenanceOf,
  OccurrenceParams,
  presentUpdate,
  updateMaintenance,
} from './changes.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { bodyOrNone } from '../http/optional-body.ts';
import { dayMs } from '../../durations.ts';

/** Longest list in days. No window has too many occurrences in this time. */
const maxDays = 366;

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

/** The time range of a list. Throws 400. */
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
  const to = read('to', from + maxDays * dayMs);
  if (to <= from) throw badRequest({ to: ['must be later than from'] });
  if (to - from > maxDays * dayMs) throw badRequest({ to: [`must be at most ${maxDays} days after from`] });
  return { from, to };
}

const tags = ['Maintenance windows'];

/** The occurrences of a maintenance window ("maintenances"): list, read, cancel. */
export function registerMaintenanceOccurrences(api: PublicApi, deps: ApiDeps): void {
  registerCalendar(api, deps);
  registerList(api, deps);
  registerRead(api, deps);
  registerCancel(api, deps);
}

/** Occurrences of all windows in one answer. */
const maxOccurrences = 1000;

function registerCalendar(api: PublicApi, { db, now }: ApiDeps): void {
  api.get(
    '/v1/maintenance-windows/occurrences',
    {
      schema: {
        operationId: 'listAllMaintenanceOccurrences',
        tags,
        summary: `Occurrences of all maintenance windows in a stretch of time, by their beginnings; ${maxOccurrences} at most`,
        querystring: strict(
          Type.Object({
            from: Type.Optional(
              Type.String({ maxLength: 40, description: `Default now, in UTC: ${momentHint}` }),
            ),
            to: Type.Optional(
              Type.String({ maxLength: 40, description: `At most, and by default, ${maxDays} days later.` }),
            ),
          }),
        ),
        response: { 200: Type.Array(Type.Ref('Maintenance')), ...errorResponses(400) },
      },
    },
    async ({ accountId, query }) => {
      const time = now();
      const stretch = readStretch(query, { timezone: 'UTC', now: time });
      const windows = await listMaintenanceWindows(db, {
        accountId,
        startsAt: {},
        endsAt: {},
        limit: maxWindows,
        offset: 0,
      });
      const found = await listMaintenances(db, windows, { ...stretch, now: time, limit: maxOccurrences });
      return found.map(presentMaintenance);
    },
  );
}

function registerList(api: PublicApi, { db, now }: ApiDeps): void {
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
              Type.String({ maxLength: 40, description: `At most, and by default, ${maxDays} days later.` }),
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
      const offset = Math.min(offsetOf(query), maxDays * 2);
      const found = await listMaintenances(db, [window], {
        ...stretch,
        now: time,
        limit: offset + query.limit,
      });
      return found.slice(offset).map(presentMaintenance);
    },
  );
}

function registerRead(api: PublicApi, { db, now }: ApiDeps): void {
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
}

function registerCancel(api: PublicApi, deps: ApiDeps): void {
  const { db, now } = deps;

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
        const maintenance = await lockMaintenance(tx, deps, { accountId, params, time });
        if (isOver(maintenance.status)) {
          const message = `The maintenance is already ${maintenance.status}.`;
          throw conflict(message, { occurrenceId: [`is ${maintenance.status} already`] });
        }
        await updateMaintenance(tx, deps, {
          maintenance,
          status: 'CANCELLED',
          description: body.description ?? 'The maintenance is cancelled.',
          notifyAlways: body.notifySubscribers,
          time,
        });
        return presentMaintenance(
          await maintenanceOf(tx, maintenance.window, { id: params.occurrenceId, time }),
        );
      }),
  );
}
