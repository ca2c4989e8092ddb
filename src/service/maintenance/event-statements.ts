import type { Db, Queryable } from '../db/database.ts';

/** Statements on maintenance events, which subscribers of status pages are notified of. */

export type MaintenanceEventKind = 'REMINDER' | 'STARTED' | 'ENDED' | 'CANCELLED' | 'UPDATED';

/** All values of a message, as they were at the time of the event. */
export type MaintenanceEvent = {
  id: string;
  accountId: string;
  windowId: number;
  /** Start of the occurrence. */
  startsAt: Date;
  endsAt: Date;
  kind: MaintenanceEventKind;
  createdAt: Date;
  body: {
    /** Name and description of the window. */
    name: string;
    description: string | null;
    timezone: string;
    /** The text of the update; null if nobody wrote one. */
    text: string | null;
    /** Of a reminder; otherwise null. */
    minutesBefore: number | null;
    /** Status pages that show it; empty = all status pages of the account. */
    statusPageIds: string[];
    affectAllServices: boolean;
    serviceIds: string[];
  };
};

/** Returns false if the event was already written. */
export async function insertMaintenanceEvent(
  tx: Queryable,
  event: MaintenanceEvent,
  detail: string,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into maintenance_events (id, account_id, window_id, starts_at, ends_at, kind, detail, body, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9)
     on conflict (window_id, starts_at, kind, detail) do nothing returning id`,
    [
      event.id,
      event.accountId,
      event.windowId,
      event.startsAt,
      event.endsAt,
      event.kind,
      detail,
      JSON.stringify(event.body),
      event.createdAt,
    ],
  );
  return rows.length > 0;
}

/**
 * An unhandled event and earlier unhandled ones of the same occurrence, oldest first and locked. Empty if it was handled
 * or its window is deleted.
 */
export async function lockMaintenanceEvents(tx: Db, id: string): Promise<MaintenanceEvent[]> {
  return tx.query<MaintenanceEvent>(
    `select e.id, e.account_id as "accountId", e.window_id as "windowId", e.starts_at as "startsAt",
       e.ends_at as "endsAt", e.kind, e.body, e.created_at as "createdAt"
     from maintenance_events e
     join maintenance_events own on own.window_id = e.window_id and own.starts_at = e.starts_at and own.id = $1
     where e.handled_at is null and own.handled_at is null and (e.created_at, e.id) <= (own.created_at, own.id)
     order by e.created_at, e.id for update of e`,
    [id],
  );
}

/** Marks an event as handled. */
export async function markEventHandled(tx: Queryable, { id, now }: { id: string; now: Date }): Promise<void> {
  await tx.query('update maintenance_events set handled_at = $2 where id = $1', [id, now]);
}

/** Deletes old events, handled or not, because nobody needs such old news. */
export async function deleteOldMaintenanceEvents(db: Queryable, before: Date): Promise<void> {
  await db.query('delete from maintenance_events where created_at < $1', [before]);
}
