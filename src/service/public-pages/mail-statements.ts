import { nextTry, type NextTry, type OpenNotification } from '../alert-channels/next-try.ts';
import type { Db, Queryable } from '../db/database.ts';
import { uuidv7 } from '../engine/ids.ts';
import { tryLeaseSeconds } from '../engine/try-lease.ts';

/** Statements on mails to subscribers that are not sent yet. Leases follow the database's clock. */

/** Content of a mail. `name` identifies the message, so that a retry sends the same mail. */
export type Message = { name: string; subject: string; lines: string[] };

export type SubscriberMail = {
  id: string;
  subscriberId: string;
  subject: string;
  message: Message;
  attempts: number;
};

/** After this time without a try, later mails no longer wait for one that its queue has lost. */
const lostAfter = '15 minutes';

/** Inserts a mail for each subscriber and returns their ids. `subject` = the incident or maintenance. */
export async function insertMails(
  tx: Queryable,
  mail: { subscriberIds: readonly string[]; subject: string; message: Message; now: Date },
): Promise<string[]> {
  const ids = mail.subscriberIds.map(() => uuidv7(mail.now.getTime()));
  await tx.query(
    `insert into subscriber_mails (id, subscriber_id, subject, message, created_at)
     select item.id, item.subscriber, $3, $4::jsonb, $5
     from unnest($1::uuid[], $2::uuid[]) as item (id, subscriber)`,
    [ids, [...mail.subscriberIds], mail.subject, JSON.stringify(mail.message), mail.now],
  );
  return ids;
}

export async function findMail(db: Queryable, id: string): Promise<SubscriberMail | undefined> {
  const rows = await db.query<SubscriberMail>(
    `select id, subscriber_id as "subscriberId", subject, message, attempts from subscriber_mails where id = $1`,
    [id],
  );
  return rows[0];
}

/**
 * Decides whether the mail may be sent now, and if so takes the lease of the try and deletes what it replaces. A mail
 * that a newer one replaces is deleted too.
 */
export async function claimMail(
  db: Db,
  { id, subscriberId, subject, now }: Pick<SubscriberMail, 'id' | 'subscriberId' | 'subject'> & { now: Date },
): Promise<NextTry['kind']> {
  return db.tx(async (tx) => {
    const sequence = await tx.query<OpenNotification>(
      `select id, attempts, coalesce(trying_until > clock_timestamp()
           and trying_until <= clock_timestamp() + interval '${tryLeaseSeconds + 5} seconds', false) as "isTried",
         coalesce(updated_at, created_at) < $3::timestamptz - interval '${lostAfter}' as "isLost"
       from subscriber_mails where subscriber_id = $1 and subject = $2
       order by position for update`,
      [subscriberId, subject, now],
    );
    const next = nextTry(sequence, id);
    if (next.kind === 'superseded') await deleteMails(tx, [id]);
    if (next.kind === 'try') {
      if (next.drops.length > 0) await deleteMails(tx, next.drops);
      await renewMail(tx, id);
    }
    return next.kind;
  });
}

/** Extends the lease of a running try. */
export async function renewMail(db: Queryable, id: string): Promise<void> {
  await db.query(
    `update subscriber_mails set trying_until = clock_timestamp() + interval '${tryLeaseSeconds} seconds'
     where id = $1`,
    [id],
  );
}

/** Ends the lease of a try that was broken off. */
export async function releaseMail(db: Queryable, id: string): Promise<void> {
  await db.query('update subscriber_mails set trying_until = null where id = $1', [id]);
}

/** Records a failed try, which ends its lease. */
export async function failTry(
  db: Queryable,
  { id, attempts, now }: { id: string; attempts: number; now: Date },
): Promise<void> {
  await db.query(
    'update subscriber_mails set attempts = $2, updated_at = $3, trying_until = null where id = $1',
    [id, attempts, now],
  );
}

export async function deleteMails(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query('delete from subscriber_mails where id = any($1::uuid[])', [[...ids]]);
}

/** Deletes mails that their queue has lost. */
export async function deleteOldMails(db: Queryable, before: Date): Promise<void> {
  await db.query('delete from subscriber_mails where created_at < $1', [before]);
}
