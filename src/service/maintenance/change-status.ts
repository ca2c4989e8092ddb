import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import type { MaintenanceEventKind } from './event-statements.ts';
import type { MaintenanceWindowRow } from './statements.ts';
import {
  findMaintenance,
  insertMaintenanceUpdate,
  saveMaintenance,
  type MaintenanceUpdate,
} from './occurrence-statements.ts';
import { uuidv7 } from '../engine/ids.ts';
import { recordMaintenanceEvent } from './events.ts';
import type { Occurrence } from './recurrence.ts';
import { hasBegun, isOver, statusAt, type MaintenanceStatus } from './status.ts';

/** The event of a status change. An update without a status change has an event too. */
function eventOf(from: MaintenanceStatus, to: MaintenanceStatus): MaintenanceEventKind {
  if (from === to) return 'UPDATED';
  if (to === 'COMPLETED') return 'ENDED';
  if (to === 'CANCELLED') return 'CANCELLED';
  return from === 'SCHEDULED' ? 'STARTED' : 'UPDATED';
}

/**
 * Writes an update of an occurrence with its new status, and the event that follows. The caller has locked the window
 * and has checked that the status may follow. `from`: the previous status; `at`: the time of the change.
 */
export async function changeStatus(
  tx: Db,
  background: Background,
  options: {
    window: MaintenanceWindowRow;
    occurrence: Occurrence;
    status: MaintenanceStatus;
    description: string;
    at: number;
    now: number;
    /** Whether subscribers are notified: according to the window, always, or never. */
    notify: 'as-window' | 'always' | 'never';
    /** Default: the recorded status, or the one that follows from the time. */
    from?: MaintenanceStatus;
  },
): Promise<MaintenanceUpdate> {
  const { window, occurrence, status, description, at, now, notify } = options;
  const { notifyOnStart, notifyOnEnd } = window.statusPageVisibility;
  const startsAt = new Date(occurrence.startsAt);
  const record = await findMaintenance(tx, { windowId: window.id, startsAt });
  const from =
    options.from ??
    statusAt(occurrence, {
      recorded: record?.status ?? null,
      visibility: window.statusPageVisibility,
      windowCreatedAt: window.createdAt.getTime(),
      now,
    });
  // An automatic start or end happened on time.
  const began = hasBegun(from) || (from === 'COMPLETED' && record === undefined);
  const startedAt = record?.startedAt ?? (began ? startsAt : hasBegun(status) ? new Date(at) : null);
  const ended = isOver(from) ? occurrence.endsAt : at;
  const endedAt = isOver(status) ? (record?.endedAt ?? new Date(ended)) : null;
  await saveMaintenance(tx, {
    windowId: window.id,
    startsAt,
    endsAt: new Date(occurrence.endsAt),
    status,
    startedAt,
    endedAt,
  });
  const update = {
    id: uuidv7(now),
    windowId: window.id,
    startsAt,
    status,
    description,
    createdAt: new Date(now),
  };
  await insertMaintenanceUpdate(tx, update);
  const kind = eventOf(from, status);
  const asWindow =
    (kind === 'STARTED' && notifyOnStart) || (kind === 'ENDED' && notifyOnEnd && hasBegun(from));
  if (notify === 'always' || (notify === 'as-window' && asWindow)) {
    const detail = kind === 'UPDATED' ? update.id : '';
    await recordMaintenanceEvent(tx, background, {
      window,
      occurrence,
      kind,
      detail,
      text: description,
      now,
    });
  }
  return { ...update, updatedAt: null };
}
