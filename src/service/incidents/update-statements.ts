import type { Queryable } from '../db/database.ts';

/** Statements on incident updates of both kinds. The caller must have locked the incident. */

export const updateTables = {
  'status-page': 'status_page_incident_updates',
  dashboard: 'incident_updates',
} as const;
export type IncidentKind = keyof typeof updateTables;

export type IncidentUpdateRow<Status extends string = string> = {
  id: string;
  incidentId: string;
  status: Status;
  description: string;
  notifySubscribers: boolean;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = `id, incident_id as "incidentId", status, description, notify_subscribers as "notifySubscribers",
  created_at as "createdAt", updated_at as "updatedAt"`;

export async function insertIncidentUpdate(
  tx: Queryable,
  kind: IncidentKind,
  update: Omit<IncidentUpdateRow, 'updatedAt'>,
): Promise<void> {
  await tx.query(
    `insert into ${updateTables[kind]} (id, incident_id, status, description, notify_subscribers, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      update.id,
      update.incidentId,
      update.status,
      update.description,
      update.notifySubscribers,
      update.createdAt,
    ],
  );
}

/** Reads the updates of these incidents, oldest first. */
export async function findIncidentUpdates<Status extends string>(
  db: Queryable,
  kind: IncidentKind,
  { incidentIds, onlyFirst = false }: { incidentIds: readonly string[]; onlyFirst?: boolean },
): Promise<IncidentUpdateRow<Status>[]> {
  if (incidentIds.length === 0) return [];
  const first = onlyFirst ? 'distinct on (incident_id)' : '';
  return db.query<IncidentUpdateRow<Status>>(
    `select ${first} ${columns} from ${updateTables[kind]} where incident_id = any($1::uuid[])
     order by incident_id, position`,
    [[...incidentIds]],
  );
}

/** Limit on the stored bytes of descriptions in one list, and the bytes that count for the rest of an update. */
const listedBytes = 512 * 1024;
const otherBytes = 200;

/**
 * Like findIncidentUpdates, for a list. After the byte limit, an incident has only its first and last update, and its
 * id is in `partial`.
 */
export async function findListedUpdates<Status extends string>(
  db: Queryable,
  kind: IncidentKind,
  incidentIds: readonly string[],
): Promise<{ updates: IncidentUpdateRow<Status>[]; partial: Set<string> }> {
  if (incidentIds.length === 0) return { updates: [], partial: new Set() };
  type Listed = IncidentUpdateRow<Status> & { isShort: boolean; count: number };
  const rows = await db.query<Listed>(
    `select ${columns}, "isShort", count::integer from (
       select u.*, coalesce(before, 0) + bytes > ${listedBytes} as "isShort", min(position) over own as first, max(position) over own as last,
         count(*) over own as count
       from (
         select u.*, sum(pg_column_size(description) + ${otherBytes}) over (partition by incident_id) as bytes,
           sum(pg_column_size(description) + ${otherBytes}) over (order by place range unbounded preceding exclude group) as before
         from ${updateTables[kind]} u
         join unnest($1::uuid[]) with ordinality as item (id, place) on item.id = u.incident_id
       ) u window own as (partition by incident_id)
     ) u where not "isShort" or position in (first, last)
     order by incident_id, position`,
    [[...incidentIds]],
  );
  return {
    updates: rows,
    partial: new Set(
      rows.flatMap(({ isShort, count, incidentId }) => (isShort && count > 2 ? [incidentId] : [])),
    ),
  };
}

/** Groups updates by incident, in the order of `rows`. */
export function byIncident<Row extends { incidentId: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) {
    const own = found.get(row.incidentId);
    if (own === undefined) found.set(row.incidentId, [row]);
    else own.push(row);
  }
  return found;
}

type Named = { incidentId: string; id: string };

export async function findIncidentUpdate<Status extends string>(
  db: Queryable,
  kind: IncidentKind,
  { incidentId, id }: Named,
): Promise<IncidentUpdateRow<Status> | undefined> {
  const rows = await db.query<IncidentUpdateRow<Status>>(
    `select ${columns} from ${updateTables[kind]} where id = $1 and incident_id = $2`,
    [id, incidentId],
  );
  return rows[0];
}

export async function changeIncidentUpdate(
  tx: Queryable,
  kind: IncidentKind,
  change: { id: string; status: string; description: string; now: Date },
): Promise<void> {
  await tx.query(
    `update ${updateTables[kind]} set status = $2, description = $3, updated_at = $4 where id = $1`,
    [change.id, change.status, change.description, change.now],
  );
}

export async function deleteIncidentUpdate(tx: Queryable, kind: IncidentKind, id: string): Promise<void> {
  await tx.query(`delete from ${updateTables[kind]} where id = $1`, [id]);
}

/**
 * Marks an update, and earlier ones of its incident that were not sent yet, as sent to subscribers. Returns their ids in
 * the order in which they were written, each only once, and only those that subscribers are to be notified of.
 */
export async function claimSubscriberUpdates(
  tx: Queryable,
  kind: IncidentKind,
  { id, now }: { id: string; now: Date },
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `select u.id from ${updateTables[kind]} u
     join ${updateTables[kind]} own on own.incident_id = u.incident_id and own.id = $1
     where u.position <= own.position and u.notify_subscribers and u.told_at is null
     order by u.position for update of u`,
    [id],
  );
  const ids = rows.map((row) => row.id);
  await tx.query(`update ${updateTables[kind]} set told_at = $2 where id = any($1::uuid[])`, [ids, now]);
  return ids;
}
