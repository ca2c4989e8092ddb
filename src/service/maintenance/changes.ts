import Type from 'typebox';
import type { Db } from '../db/database.ts';
import { lockMaintenanceWindow, type MaintenanceWindowRow } from './statements.ts';
import { countMaintenanceUpdates, type MaintenanceUpdate } from './occurrence-statements.ts';
import { badRequest, conflict, notFound } from '../http/errors.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { advanceWindow } from './advance.ts';
import { changeStatus } from './change-status.ts';
import { readMaintenance, type Maintenance } from './maintenances.ts';
import { mayBecome, type MaintenanceStatus } from './status.ts';
import { windowOf } from './routes.ts';
import type { ApiDeps } from '../http/api.ts';

/** Updates per occurrence. */
const maxUpdates = 200;

/** Path parameters of the routes of one occurrence. */
export const OccurrenceParams = strict(Type.Object({ id: Type.String(), occurrenceId: Type.String() }));

/** An update as the API returns it. */
export const presentUpdate = ({ id, status, description, createdAt, updatedAt }: MaintenanceUpdate) => ({
  id,
  status,
  description,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt?.toISOString() ?? null,
});

/** Reads an occurrence of a window; `time`: milliseconds since the epoch. Throws 404. */
export async function maintenanceOf(
  tx: Db,
  window: MaintenanceWindowRow,
  { id, time }: { id: string; time: number },
): Promise<Maintenance> {
  const found = await readMaintenance(tx, window, { id, now: time });
  if (found === null) throw notFound('occurrence', id, 'occurrenceId');
  return found;
}

/** Reads an occurrence and locks its window until the transaction ends. Due steps are done first. Throws 404. */
export async function lockMaintenance(
  tx: Db,
  { background }: Pick<ApiDeps, 'background'>,
  {
    accountId,
    params,
    time,
  }: { accountId: string; params: { id: string; occurrenceId: string }; time: number },
): Promise<Maintenance> {
  const window = await windowOf((named) => lockMaintenanceWindow(tx, named), { accountId, id: params.id });
  await advanceWindow(tx, background, { window, now: time });
  return maintenanceOf(tx, window, { id: params.occurrenceId, time });
}

/**
 * Writes an update of an occurrence and gives the occurrence that status. Throws 409 for a status that cannot follow the
 * current one, 400 if the occurrence has too many updates.
 */
export async function updateMaintenance(
  tx: Db,
  { background }: Pick<ApiDeps, 'background'>,
  options: {
    maintenance: Maintenance;
    status: MaintenanceStatus;
    description: string;
    /** True = notify subscribers; false = notify them if the window is set to. */
    notifyAlways: boolean;
    time: number;
  },
): Promise<MaintenanceUpdate> {
  const { maintenance, status, description, notifyAlways, time } = options;
  const { window, startsAt, endsAt } = maintenance;
  if (!mayBecome(maintenance.status, status)) {
    const message = `The maintenance is ${maintenance.status}: it cannot become ${status}.`;
    throw conflict(message, { status: [`cannot follow ${maintenance.status}`] });
  }
  const count = await countMaintenanceUpdates(tx, {
    windowId: window.id,
    startsAt: new Date(startsAt),
  });
  if (count >= maxUpdates) {
    throw badRequest({ description: [`an occurrence has at most ${maxUpdates} updates`] });
  }
  return changeStatus(tx, background, {
    window,
    occurrence: { startsAt, endsAt },
    status,
    description,
    at: time,
    now: time,
    notify: notifyAlways ? 'always' : 'as-window',
  });
}
