import { uuidv7 } from '../engine/ids.ts';
import type { Queryable } from '../db/database.ts';
import type { ChannelType } from './configs.ts';

/** Statements on the notification log. */

export const notificationStatuses = [
  'IN_PROGRESS',
  'SUCCESS',
  'FAILURE',
  'RATE_LIMITED',
  'SUPERSEDED',
] as const;
export type NotificationStatus = (typeof notificationStatuses)[number];

export type NotificationRow = {
  id: string;
  accountId: string;
  channelId: number;
  channelType: ChannelType;
  /** Null = a test. */
  alertId: string | null;
  alertType: string;
  checkId: string | null;
  status: NotificationStatus;
  alertConfig: Record<string, unknown>;
  result: string | null;
  attempts: number;
  told: string[];
  /** What its order is about, for example a check; null = it has no order. */
  subject: string | null;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = `id, account_id as "accountId", channel_id as "channelId", channel_type as "channelType",
  alert_id as "alertId", alert_type as "alertType", check_id as "checkId", status, alert_config as "alertConfig", result,
  attempts, told, subject, created_at as "createdAt", updated_at as "updatedAt"`;

/** A channel's config without secret values and long fields, as the log shows it (SQL on a channel's row `c`). */
const shownConfig = `c.config - '{webhookSecret,template,headers,queryParameters,apiKey,serviceKey}'::text[]`;

/**
 * The subject of an alert's notifications (SQL on an alert's row `a`). Alerts about certificates have none: each is
 * about another certificate, and no later alert replaces it.
 */
const subjectOfAlert = `case when a.alert_type <> 'ALERT_SSL'
  then coalesce('check ' || a.check_id::text, 'location ' || a.location_id::text) end`;

/** Types that end an alert. */
const recoveries = ['ALERT_RECOVERY', 'ALERT_DEGRADED_RECOVERY', 'ALERT_LOCATION_NETWORK_RECOVERY'];

/** Inserts one notification, in progress, for each channel that the account has. Returns their ids. */
export async function insertNotifications(
  tx: Queryable,
  { accountId, channelIds, alertId }: { accountId: string; channelIds: readonly number[]; alertId: string },
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `insert into alert_notifications (id, account_id, channel_id, channel_type, alert_id, alert_type, check_id,
       alert_config, subject, created_at)
     select item.id, a.account_id, c.id, c.type, a.id, a.alert_type, a.check_id, ${shownConfig}, ${subjectOfAlert},
       a.created_at
     from unnest($1::uuid[], $4::bigint[]) as item (id, channel)
     join alert_channels c on c.id = item.channel
     join alerts a on a.account_id = c.account_id
     where a.account_id = $2 and a.id = $3
     returning id`,
    [channelIds.map(() => uuidv7()), accountId, alertId, channelIds],
  );
  return rows.map(({ id }) => id);
}

/** Like insertNotifications, for one test that a person requested. */
export async function insertTestNotification(
  tx: Queryable,
  { accountId, channelId, now }: { accountId: string; channelId: number; now: Date },
): Promise<string | null> {
  const id = uuidv7(now.getTime());
  const rows = await tx.query(
    `insert into alert_notifications (id, account_id, channel_id, channel_type, alert_type, alert_config, created_at)
     select $1, c.account_id, c.id, c.type, 'NO_ALERT', ${shownConfig}, $4
     from alert_channels c where c.account_id = $2 and c.id = $3
     returning id`,
    [id, accountId, channelId, now],
  );
  return rows.length > 0 ? id : null;
}

/** A notification of any account and alert type. */
export async function findNotification(db: Queryable, id: string): Promise<NotificationRow | undefined> {
  const rows = await db.query<NotificationRow>(`select ${columns} from alert_notifications where id = $1`, [
    id,
  ]);
  return rows[0];
}

/** Records the result of a try, which ends its lease. A finished notification does not change. */
export async function updateNotification(
  db: Queryable,
  notification: Pick<NotificationRow, 'id' | 'status' | 'result' | 'attempts' | 'told'> & { now: Date },
): Promise<void> {
  const { id, status, result, attempts, told, now } = notification;
  await db.query(
    `update alert_notifications set status = $2, result = $3, attempts = $4, told = $5, updated_at = $6,
       trying_until = null
     where id = $1 and status = 'IN_PROGRESS'`,
    [id, status, result, attempts, told, now],
  );
}

/**
 * Counts a channel's earlier notifications since a given time, of the same check and in all. At most `maxOfCheck`
 * count per check: notifications beyond that are refused, but may not have been processed yet.
 */
export async function countBefore(
  db: Queryable,
  notification: Pick<NotificationRow, 'id' | 'channelId' | 'checkId' | 'createdAt'> & {
    since: Date;
    maxOfCheck: number;
  },
): Promise<{ all: number; ofCheck: number }> {
  const { id, channelId, checkId, createdAt, since, maxOfCheck } = notification;
  const [row] = await db.query<{ all: number; ofCheck: number }>(
    `select coalesce(sum(least(count, $6)), 0)::float8 as all,
       coalesce(sum(count) filter (where check_id is not distinct from $5::uuid), 0)::float8 as "ofCheck"
     from (
       select check_id, count(*) as count from alert_notifications
       where channel_id = $1 and created_at >= $2 and (created_at, id) < ($3, $4::uuid) and status <> 'RATE_LIMITED'
       group by check_id) of_checks`,
    [channelId, since, createdAt, id, checkId, maxOfCheck],
  );
  return row ?? { all: 0, ofCheck: 0 };
}

/**
 * Whether this is the recovery from an alert that its channel may have received last. It must not be dropped, because
 * the channel's last word would stay wrong.
 */
export async function endsLastAlert(
  db: Queryable,
  { id, channelId, subject, alertType }: Pick<NotificationRow, 'id' | 'channelId' | 'subject' | 'alertType'>,
): Promise<boolean> {
  if (subject === null || !recoveries.includes(alertType)) return false;
  const [last] = await db.query<{ alertType: string }>(
    `select alert_type as "alertType" from alert_notifications
     where channel_id = $1 and subject = $2 and status <> 'RATE_LIMITED'
       and position < (select position from alert_notifications where id = $3)
     order by position desc limit 1`,
    [channelId, subject, id],
  );
  return last !== undefined && !recoveries.includes(last.alertType);
}

export type NotificationFilter = {
  accountId: string;
  channelId: number | null;
  checkId: string | null;
  alertId: string | null;
  status: NotificationStatus | null;
  from: Date | null;
  to: Date | null;
  limit: number;
  offset: number;
};

// The log omits certificate alerts (facts, 4.2).
const isLogged = `alert_type <> 'ALERT_SSL'`;

/** A page of the log, newest first. */
export async function listNotifications(
  db: Queryable,
  filter: NotificationFilter,
): Promise<NotificationRow[]> {
  return db.query<NotificationRow>(
    `select ${columns} from alert_notifications
     where account_id = $1 and ${isLogged}
       and ($2::bigint is null or channel_id = $2)
       and ($3::uuid is null or check_id = $3)
       and ($4::uuid is null or alert_id = $4)
       and ($5::text is null or status = $5)
       and created_at >= coalesce($6::timestamptz, '-infinity') and created_at <= coalesce($7::timestamptz, 'infinity')
     order by created_at desc, id desc limit $8 offset $9`,
    [
      filter.accountId,
      filter.channelId,
      filter.checkId,
      filter.alertId,
      filter.status,
      filter.from,
      filter.to,
      filter.limit,
      filter.offset,
    ],
  );
}

/** A notification of the account's log. */
export async function findLoggedNotification(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<NotificationRow | undefined> {
  const rows = await db.query<NotificationRow>(
    `select ${columns} from alert_notifications where id = $1 and account_id = $2 and ${isLogged}`,
    [id, accountId],
  );
  return rows[0];
}

/**
 * Reopens a notification of the log that was not delivered, so that it can be tried again. Returns false if it is in
 * progress, was delivered, does not exist, or if a newer one of the same subject was delivered: the channel's last word
 * would be an old one.
 */
export async function reopenNotification(
  tx: Queryable,
  { accountId, id, now }: { accountId: string; id: string; now: Date },
): Promise<boolean> {
  const rows = await tx.query(
    `update alert_notifications set status = 'IN_PROGRESS', updated_at = $3
     where id = $1 and account_id = $2 and status not in ('IN_PROGRESS', 'SUCCESS') and ${isLogged}
       and not exists (
         select 1 from alert_notifications newer
         where newer.channel_id = alert_notifications.channel_id and newer.subject = alert_notifications.subject
           and newer.position > alert_notifications.position and newer.status in ('IN_PROGRESS', 'SUCCESS')
       )
     returning id`,
    [id, accountId, now],
  );
  return rows.length > 0;
}

/**
 * Marks notifications as failed that nobody delivers any more, because the process of their last try died. Returns
 * how many.
 */
export async function failLostNotifications(
  db: Queryable,
  { before, now, limit }: { before: Date; now: Date; limit: number },
): Promise<number> {
  const rows = await db.query(
    `update alert_notifications set status = 'FAILURE', updated_at = $2, trying_until = null,
       result = concat_ws('; ', result, 'the last try did not end')
     where id in (
       select id from alert_notifications
       where status = 'IN_PROGRESS' and coalesce(updated_at, created_at) < $1 limit $3 for update skip locked)
     returning id`,
    [before, now, limit],
  );
  return rows.length;
}

/** Deletes at most `limit` notifications and returns how many were deleted. */
export async function deleteOldNotifications(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const rows = await db.query(
    `delete from alert_notifications where id in (
       select id from alert_notifications where created_at < $1 order by created_at limit $2 for update skip locked)
     returning id`,
    [before, limit],
  );
  return rows.length;
}
