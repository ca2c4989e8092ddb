import type { MaintenanceStatus } from './status.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on occurrences of maintenance windows. Writers must have locked the window. */

export type MaintenanceRecord = {
  windowId: number;
  startsAt: Date;
  endsAt: Date;
  status: MaintenanceStatus;
  startedAt: Date | null;
  endedAt: Date | null;
};

const columns = `window_id as "windowId", starts_at as "startsAt", ends_at as "endsAt", status,
  started_at as "startedAt", ended_at as "endedAt"`;

export async function findMaintenance(
  db: Queryable,
  { windowId, startsAt }: { windowId: number; startsAt: Date },
): Promise<MaintenanceRecord | undefined> {
  const rows = await db.query<MaintenanceRecord>(
    `select ${columns} from maintenances where window_id = $1 and starts_at = $2`,
    [windowId, startsAt],
  );
  return rows[0];
}

/** Occurrences that overlap the time between the two moments, sorted by start. */
export async function findMaintenances(
  db: Queryable,
  { windowIds, from, to }: { windowIds: readonly number[]; from: Date; to: Date },
): Promise<MaintenanceRecord[]> {
  return db.query<MaintenanceRecord>(
    `select ${columns} from maintenances
     where window_id = any($1::bigint[]) and ends_at > $2 and starts_at < $3 order by starts_at`,
    [[...windowIds], from, to],
  );
}

/** Occurrences of a window that are not over or start in the future. */
export async function findOpenMaintenances(
  tx: Queryable,
  { windowId, now }: { windowId: number; now: Date },
): Promise<MaintenanceRecord[]> {
  return tx.query<MaintenanceRecord>(
    `select ${columns} from maintenances where window_id = $1 and (ended_at is null or starts_at > $2)`,
    [windowId, now],
  );
}

/** Inserts or replaces the record of an occurrence. */
export async function saveMaintenance(tx: Queryable, record: MaintenanceRecord): Promise<void> {
  await tx.query(
    `insert into maintenances (window_id, starts_at, ends_at, status, started_at, ended_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (window_id, starts_at) do update set ends_at = excluded.ends_at, status = excluded.status,
       started_at = excluded.started_at, ended_at = excluded.ended_at`,
    [record.windowId, record.startsAt, record.endsAt, record.status, record.startedAt, record.endedAt],
  );
}

/** Deletes the record of an occurrence. */
export async function deleteMaintenance(
  tx: Queryable,
  { windowId, startsAt }: { windowId: number; startsAt: Date },
): Promise<void> {
  await tx.query('delete from maintenances where window_id = $1 and starts_at = $2', [windowId, startsAt]);
}

/**
 * Deletes records of occurrences that ended before a given time, with their updates; at most `limit`. Occurrences
 * that a person starts or completes are kept, because nothing else records them. Returns how many were deleted.
 */
export async function deleteOldMaintenances(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const rows = await db.query(
    `delete from maintenances where (window_id, starts_at) in (
       select m.window_id, m.starts_at from maintenances m join maintenance_windows w on w.id = m.window_id
       where m.ended_at is not null and m.ends_at < $1
         and (not (w.status_page_visibility->>'enabled')::boolean
           or (w.status_page_visibility->>'autoStart')::boolean and (w.status_page_visibility->>'autoEnd')::boolean)
       order by m.ends_at limit $2)
     returning window_id`,
    [before, limit],
  );
  return rows.length;
}

export type MaintenanceUpdate = {
  id: string;
  windowId: number;
  startsAt: Date;
  status: MaintenanceStatus;
  description: string;
  createdAt: Date;
  updatedAt: Date | null;
};

const updateColumns = `id, window_id as "windowId", starts_at as "startsAt", status, description,
  created_at as "createdAt", updated_at as "updatedAt"`;

export async function insertMaintenanceUpdate(
  tx: Queryable,
  update: Omit<MaintenanceUpdate, 'updatedAt'>,
): Promise<void> {
  await tx.query(
    `insert into maintenance_updates (id, window_id, starts_at, status, description, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [update.id, update.windowId, update.startsAt, update.status, update.description, update.createdAt],
  );
}

/** Updates of occurrences that start between the two moments, both inclusive; oldest first. */
export async function findMaintenanceUpdates(
  db: Queryable,
  { windowIds, from, to }: { windowIds: readonly number[]; from: Date; to: Date },
): Promise<MaintenanceUpdate[]> {
  return db.query<MaintenanceUpdate>(
    `select ${updateColumns} from maintenance_updates
     where window_id = any($1::bigint[]) and starts_at >= $2 and starts_at <= $3 order by created_at, id`,
    [[...windowIds], from, to],
  );
}

export async function countMaintenanceUpdates(
  tx: Queryable,
  { windowId, startsAt }: { windowId: number; startsAt: Date },
): Promise<number> {
  const rows = await tx.query<{ count: number }>(
    'select count(*)::integer as count from maintenance_updates where window_id = $1 and starts_at = $2',
    [windowId, startsAt],
  );
  return rows[0]?.count ?? 0;
}

type NamedUpdate = { windowId: number; startsAt: Date; id: string };

/** Returns false if there is no such update. */
export async function changeMaintenanceUpdate(
  tx: Queryable,
  { windowId, startsAt, id, description, now }: NamedUpdate & { description: string; now: Date },
): Promise<boolean> {
  const rows = await tx.query(
    `update maintenance_updates set description = $4, updated_at = $5
     where id = $3 and window_id = $1 and starts_at = $2 returning id`,
    [windowId, startsAt, id, description, now],
  );
  return rows.length > 0;
}

/** Returns false if there is no such update. */
export async function deleteMaintenanceUpdate(
  tx: Queryable,
  { windowId, startsAt, id }: NamedUpdate,
): Promise<boolean> {
  const rows = await tx.query(
    'delete from maintenance_updates where id = $3 and window_id = $1 and starts_at = $2 returning id',
    [windowId, startsAt, id],
  );
  return rows.length > 0;
}
