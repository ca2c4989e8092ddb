import type { Db, Queryable } from '../db/database.ts';

/** Statements on what subscribers of status pages are to be told of maintenances. */

export type MaintenanceEventKind = 'REMINDER' | 'STARTED' | 'ENDED' | 'CANCELLED' | 'UPDATED';

/** All that a message needs, as it was when it was caused. */
export type MaintenanceEvent = {
  id: string;
  accountId: string;
  windowId: number;
  /** Of the occurrence. */
  startsAt: Date;
  endsAt: Date;
  kind: MaintenanceEventKind;
  createdAt: Date;
  body: {
    /** Name and description of the window. */
    name: string;
    description: string | null;
    timezone: string;
    /** What was written about it; null where nobody wrote anything. */
    text: string | null;
    /** Of a reminder; else null. */
    minutesBefore: number | null;
    /** Where it is shown; empty = on all status pages of the account. */
    statusPageIds: string[];
    affectAllServices: boolean;
    serviceIds: string[];
  };
};

/** False when it was written before. */
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

/** An event that nobody has handled, locked; undefined when it was handled, or its window is gone. */
export async function lockMaintenanceEvent(tx: Db, id: string): Promise<MaintenanceEvent | undefined> {
  const rows = await tx.query<MaintenanceEvent>(
    `select id, account_id as "accountId", window_id as "windowId", starts_at as "startsAt", ends_at as "endsAt", kind,
       body, created_at as "createdAt"
     from maintenance_events where id = $1 and handled_at is null for update`,
    [id],
  );
  return rows[0];
}

export async function markEventHandled(tx: Queryable, { id, now }: { id: string; now: Date }): Promise<void> {
  await tx.query('update maintenance_events set handled_at = $2 where id = $1', [id, now]);
}

/** Handled or not: nobody wants to hear of what is so long ago. */
export async function deleteOldMaintenanceEvents(db: Queryable, before: Date): Promise<void> {
  await db.query('delete from maintenance_events where created_at < $1', [before]);
}
