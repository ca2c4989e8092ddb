import { scheduledRunId } from '../../protocol/schedule.ts';
import type { Queryable } from '../db/database.ts';
import { recurrenceOf } from './effect-statements.ts';
import { findVisibleWindows, type MaintenanceWindowRow } from './statements.ts';
import {
  findMaintenance,
  findMaintenances,
  findMaintenanceUpdates,
  type MaintenanceRecord,
  type MaintenanceUpdate,
} from './occurrence-statements.ts';
import { timeOfUuidv7 } from '../engine/ids.ts';
import { occurrenceBeginning, occurrencesWithin, type Occurrence } from './recurrence.ts';
import { hasBegun, isOver, statusAt, type MaintenanceStatus } from './status.ts';

/** Reads occurrences of windows: the computed times combined with the recorded changes. */

export type Maintenance = Occurrence & {
  /** Derived from the window and the start, so every read gives the same id. */
  id: string;
  window: MaintenanceWindowRow;
  status: MaintenanceStatus;
  startedAt: Date | null;
  endedAt: Date | null;
  /** Oldest first. */
  updates: MaintenanceUpdate[];
};

/** Id of a window's occurrence, derived from its start in milliseconds since the epoch. */
export function maintenanceId(windowId: number, startsAt: number): string {
  return scheduledRunId(`maintenance window ${windowId}`, startsAt);
}

/** The times of a window's occurrence with this id; null = no such occurrence. */
export async function findOccurrence(
  db: Queryable,
  window: MaintenanceWindowRow,
  id: string,
): Promise<{ occurrence: Occurrence; record: MaintenanceRecord | undefined } | null> {
  const startsAt = timeOfUuidv7(id);
  if (startsAt === null || maintenanceId(window.id, startsAt) !== id) return null;
  const record = await findMaintenance(db, { windowId: window.id, startsAt: new Date(startsAt) });
  const occurrence = occurrenceBeginning(recurrenceOf(window), startsAt) ?? fromRecord(record);
  return occurrence === null ? null : { occurrence, record };
}

function fromRecord(record: MaintenanceRecord | undefined): Occurrence | null {
  return record === undefined
    ? null
    : { startsAt: record.startsAt.getTime(), endsAt: record.endsAt.getTime() };
}

function maintenanceOf(
  window: MaintenanceWindowRow,
  occurrence: Occurrence,
  options: { record: MaintenanceRecord | undefined; updates: MaintenanceUpdate[]; now: number },
): Maintenance {
  const { record, updates, now } = options;
  const status = statusAt(occurrence, {
    recorded: record?.status ?? null,
    visibility: window.statusPageVisibility,
    windowCreatedAt: window.createdAt.getTime(),
    now,
  });
  const begun = hasBegun(status) || status === 'COMPLETED';
  return {
    id: maintenanceId(window.id, occurrence.startsAt),
    window,
    startsAt: occurrence.startsAt,
    // An occurrence that is over keeps its end, even if the window becomes longer.
    endsAt: record !== undefined && isOver(record.status) ? record.endsAt.getTime() : occurrence.endsAt,
    status,
    startedAt:
      record?.startedAt ??
      (begun && (record === undefined || !isOver(record.status)) ? new Date(occurrence.startsAt) : null),
    endedAt: record?.endedAt ?? (isOver(status) ? new Date(occurrence.endsAt) : null),
    updates,
  };
}

/** One complete occurrence. */
export async function readMaintenance(
  db: Queryable,
  window: MaintenanceWindowRow,
  { id, now }: { id: string; now: number },
): Promise<Maintenance | null> {
  const found = await findOccurrence(db, window, id);
  if (found === null) return null;
  const at = new Date(found.occurrence.startsAt);
  const updates = await findMaintenanceUpdates(db, { windowIds: [window.id], from: at, to: at });
  return maintenanceOf(window, found.occurrence, { record: found.record, updates, now });
}

/** Occurrences of these windows that overlap the time between the two moments, sorted by start; at most `limit`. */
export async function listMaintenances(
  db: Queryable,
  windows: readonly MaintenanceWindowRow[],
  options: { from: number; to: number; now: number; limit: number },
): Promise<Maintenance[]> {
  const { from, to, now, limit } = options;
  const windowIds = windows.map(({ id }) => id);
  const records = await findMaintenances(db, { windowIds, from: new Date(from), to: new Date(to) });
  const byId = new Map(
    records.map((record) => [maintenanceId(record.windowId, record.startsAt.getTime()), record]),
  );
  const found = windows.flatMap((window) => {
    const planned = occurrencesWithin(recurrenceOf(window), { from, to, limit });
    const known = new Set(planned.map(({ startsAt }) => startsAt));
    // Records whose occurrence no longer exists, because the window was changed.
    const former = records.flatMap((record) => {
      const occurrence = record.windowId === window.id ? fromRecord(record) : null;
      return occurrence === null || known.has(occurrence.startsAt) ? [] : [occurrence];
    });
    return [...planned, ...former].map((occurrence) => ({ window, occurrence }));
  });
  found.sort((a, b) => a.occurrence.startsAt - b.occurrence.startsAt || a.window.id - b.window.id);
  const page = found.slice(0, limit);
  const [first, last] = [page.at(0), page.at(-1)];
  if (first === undefined || last === undefined) return [];
  const updates = await findMaintenanceUpdates(db, {
    windowIds,
    from: new Date(first.occurrence.startsAt),
    to: new Date(last.occurrence.startsAt),
  });
  const updatesById = new Map<string, MaintenanceUpdate[]>();
  for (const update of updates) {
    const id = maintenanceId(update.windowId, update.startsAt.getTime());
    updatesById.set(id, [...(updatesById.get(id) ?? []), update]);
  }
  return page.map(({ window, occurrence }) => {
    const id = maintenanceId(window.id, occurrence.startsAt);
    return maintenanceOf(window, occurrence, {
      record: byId.get(id),
      updates: updatesById.get(id) ?? [],
      now,
    });
  });
}

/** The occurrences that a status page shows: those of the account's visible windows, sorted by start. */
export async function visibleMaintenances(
  db: Queryable,
  options: { accountId: string; statusPageId: string; from: number; to: number; now: number; limit: number },
): Promise<Maintenance[]> {
  const { accountId, statusPageId, from, to } = options;
  const max = 500;
  const windows = await findVisibleWindows(db, {
    accountId,
    from: new Date(from),
    to: new Date(to),
    limit: max,
  });
  const shown = windows.filter(({ statusPageVisibility: { statusPageIds } }) => {
    return statusPageIds.length === 0 || statusPageIds.includes(statusPageId);
  });
  return listMaintenances(db, shown, options);
}
