import type { Db, Queryable } from '../db/database.ts';
import { tryLeaseSeconds } from '../engine/try-lease.ts';
import { nextTry, type NextTry, type OpenNotification } from './next-try.ts';

/** Statements on the order of notifications and on the leases of their tries. Leases follow the database's clock. */

/** After this time without a try, later notifications no longer wait for one that its queue has lost. */
const lostAfter = '15 minutes';

const supersededText = 'not sent again: a newer alert of the same check replaced it';

/**
 * Decides whether the notification may be tried now, and if so takes the lease of the try and drops what it replaces.
 * `subject` null = it has no order.
 */
export async function claimTry(
  db: Db,
  { id, channelId, subject, now }: { id: string; channelId: number; subject: string | null; now: Date },
): Promise<NextTry['kind']> {
  return db.tx(async (tx) => {
    const sequence = await tx.query<OpenNotification>(
      `select id, attempts, coalesce(trying_until > clock_timestamp()
           and trying_until <= clock_timestamp() + interval '${tryLeaseSeconds + 5} seconds', false) as "isTried",
         coalesce(updated_at, created_at) < $4::timestamptz - interval '${lostAfter}' as "isLost"
       from alert_notifications
       where channel_id = $1 and status = 'IN_PROGRESS'
         and (id = $3 or ($2::text is not null and subject = $2))
       order by position for update`,
      [channelId, subject, id, now],
    );
    const next = nextTry(sequence, id);
    if (next.kind === 'superseded') await supersede(tx, [id], now);
    if (next.kind === 'try') {
      if (next.drops.length > 0) await supersede(tx, next.drops, now);
      await renewTry(tx, id);
    }
    return next.kind;
  });
}

async function supersede(tx: Queryable, ids: readonly string[], now: Date): Promise<void> {
  await tx.query(
    `update alert_notifications set status = 'SUPERSEDED', updated_at = $2, trying_until = null,
       result = concat_ws('; ', result, '${supersededText}')
     where id = any($1::uuid[]) and status = 'IN_PROGRESS'`,
    [ids, now],
  );
}

/** Extends the lease of a running try. */
export async function renewTry(db: Queryable, id: string): Promise<void> {
  await db.query(
    `update alert_notifications set trying_until = clock_timestamp() + interval '${tryLeaseSeconds} seconds'
     where id = $1 and status = 'IN_PROGRESS'`,
    [id],
  );
}

/** Ends the lease of a try that was broken off, so that the next try need not wait for its end. */
export async function releaseTry(db: Queryable, id: string): Promise<void> {
  await db.query('update alert_notifications set trying_until = null where id = $1', [id]);
}
