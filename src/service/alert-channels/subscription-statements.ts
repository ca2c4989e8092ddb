import { countRows } from '../db/count-rows.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on subscriptions: which checks and groups send alerts to which channels. */

export type NotifiedChannel = {
  id: number;
  type: string;
  sendFailure: boolean;
  sendRecovery: boolean;
  sendDegraded: boolean;
  sslExpiry: boolean;
  /** Days, 1 to 30. */
  sslExpiryThreshold: number;
};

/** Channels that receive a check's alerts: with `ofGroup` only those of its group, otherwise only its own. */
export async function channelsOf(
  tx: Queryable,
  {
    accountId,
    checkId,
    groupId,
    ofGroup,
  }: { accountId: string; checkId: string; groupId: number | null; ofGroup: boolean },
): Promise<NotifiedChannel[]> {
  return tx.query<NotifiedChannel>(
    `select c.id, c.type, c.send_failure as "sendFailure", c.send_recovery as "sendRecovery",
       c.send_degraded as "sendDegraded", c.ssl_expiry as "sslExpiry", c.ssl_expiry_threshold as "sslExpiryThreshold"
     from alert_subscriptions s join alert_channels c on c.id = s.channel_id
     where s.activated and c.account_id = $1 and ${ofGroup ? 's.group_id' : 's.check_id'} = $2
     order by c.id`,
    [accountId, ofGroup ? groupId : checkId],
  );
}

/** Whether a channel receives alerts of a group's checks. */
export async function receivesGroupAlerts(
  db: Queryable,
  { channelId, groupId }: { channelId: number; groupId: number },
): Promise<boolean> {
  const rows = await db.query(
    'select id from alert_subscriptions where channel_id = $1 and group_id = $2 and activated',
    [channelId, groupId],
  );
  return rows.length > 0;
}

/** A subscription as checks and groups show it. */
export type OwnSubscription = { alertChannelId: number; activated: boolean };

/** The subscriber: a check or a group. */
export type Subscriber = { checkId: string; groupId: null } | { checkId: null; groupId: number };

/** SQL expression for all subscriptions of a row of `checks` or `check_groups`, for use among selected columns. */
export function subscriptionsColumn(table: 'checks' | 'check_groups'): string {
  const column = table === 'checks' ? 'check_id' : 'group_id';
  return `(select coalesce(jsonb_agg(jsonb_build_object('alertChannelId', s.channel_id, 'activated', s.activated)
      order by s.channel_id), '[]') from alert_subscriptions s where s.${column} = ${table}.id) as subscriptions`;
}

/** Those of the given channels that the account has, locked against deletion until `tx` ends. */
export async function shareLockChannels(
  tx: Queryable,
  { accountId, ids }: { accountId: string; ids: readonly number[] },
): Promise<number[]> {
  if (ids.length === 0) return [];
  const rows = await tx.query<{ id: number }>(
    'select id from alert_channels where account_id = $1 and id = any($2::bigint[]) order by id for share',
    [accountId, ids],
  );
  return rows.map(({ id }) => id);
}

/** Replaces the subscriptions of a check or a group. The channels must belong to the account. */
export async function replaceSubscriptions(
  tx: Queryable,
  { checkId, groupId }: Subscriber,
  subscriptions: readonly OwnSubscription[],
): Promise<void> {
  const channels = subscriptions.map(({ alertChannelId }) => alertChannelId);
  const column = checkId === null ? 'group_id' : 'check_id';
  await tx.query(
    `delete from alert_subscriptions where ${column} = $1 and not channel_id = any($2::bigint[])`,
    [checkId ?? groupId, channels],
  );
  if (channels.length === 0) return;
  await tx.query(
    `insert into alert_subscriptions (channel_id, activated, ${column})
     select s.channel, s.activated, $3 from unnest($1::bigint[], $2::boolean[]) as s (channel, activated)
     on conflict (channel_id, ${column}) do update set activated = excluded.activated
       where alert_subscriptions.activated <> excluded.activated`,
    [channels, subscriptions.map(({ activated }) => activated), checkId ?? groupId],
  );
}

/** Subscribes a new check to the channels that it does not name: to all, or to those with autoSubscribe. */
export async function subscribeNewCheck(
  tx: Queryable,
  { accountId, checkId, toAll }: { accountId: string; checkId: string; toAll: boolean },
): Promise<void> {
  await tx.query(
    `insert into alert_subscriptions (channel_id, check_id)
     select id, $2 from alert_channels where account_id = $1 and ($3 or auto_subscribe)
     on conflict (channel_id, check_id) do nothing`,
    [accountId, checkId, toAll],
  );
}

/**
 * Writes the subscriptions of a check that has none yet: those that it names, and those of other channels as
 * subscribeNewCheck makes them.
 */
export async function subscribeFirst(
  tx: Queryable,
  {
    accountId,
    checkId,
    subscriptions,
    toAll,
  }: { accountId: string; checkId: string; subscriptions: readonly OwnSubscription[]; toAll: boolean },
): Promise<void> {
  await tx.query(
    `insert into alert_subscriptions (channel_id, check_id, activated)
     select s.channel, $2::uuid, s.activated from unnest($3::bigint[], $4::boolean[]) as s (channel, activated)
     union all select id, $2::uuid, true from alert_channels
       where account_id = $1 and ($5::boolean or auto_subscribe) and id <> all($3::bigint[])`,
    [
      accountId,
      checkId,
      subscriptions.map(({ alertChannelId }) => alertChannelId),
      subscriptions.map(({ activated }) => activated),
      toAll,
    ],
  );
}

/** Subscribes a check or a group to every channel of the account. Existing subscriptions do not change. */
export async function subscribeToAll(
  tx: Queryable,
  { accountId, checkId, groupId }: Subscriber & { accountId: string },
): Promise<void> {
  const column = checkId === null ? 'group_id' : 'check_id';
  await tx.query(
    `insert into alert_subscriptions (channel_id, ${column})
     select id, $2 from alert_channels where account_id = $1
     on conflict (channel_id, ${column}) do nothing`,
    [accountId, checkId ?? groupId],
  );
}

/** A subscription as channels show it. */
export type SubscriptionRow = Subscriber & { id: number; channelId: number; activated: boolean };

const columns =
  'id, channel_id as "channelId", check_id as "checkId", group_id::float8 as "groupId", activated';

/** Subscriptions of each channel, the oldest `limit + 1` of each. The extra one shows that there are more. */
export async function subscriptionsOfChannels(
  db: Queryable,
  { channelIds, limit }: { channelIds: readonly number[]; limit: number },
): Promise<SubscriptionRow[]> {
  if (channelIds.length === 0) return [];
  return db.query<SubscriptionRow>(
    `select s.* from unnest($1::bigint[]) as c (id), lateral (
       select ${columns} from alert_subscriptions where channel_id = c.id order by id limit $2) s`,
    [channelIds, limit + 1],
  );
}

/** How many checks and groups are subscribed to a channel. */
export async function countSubscriptions(db: Queryable, channelId: number): Promise<number> {
  return countRows(db, 'from alert_subscriptions where channel_id = $1', [channelId]);
}

/** A page of a channel's subscriptions, oldest first. */
export async function listSubscriptions(
  db: Queryable,
  { channelId, limit, offset }: { channelId: number; limit: number; offset: number },
): Promise<SubscriptionRow[]> {
  return db.query<SubscriptionRow>(
    `select ${columns} from alert_subscriptions where channel_id = $1 order by id limit $2 offset $3`,
    [channelId, limit, offset],
  );
}

type Named = { channelId: number; id: number };

export async function findSubscription(
  db: Queryable,
  { channelId, id }: Named,
): Promise<SubscriptionRow | undefined> {
  const rows = await db.query<SubscriptionRow>(
    `select ${columns} from alert_subscriptions where channel_id = $1 and id = $2`,
    [channelId, id],
  );
  return rows[0];
}

/** Sets the subscription of a check or a group to a channel. Both must belong to the account. */
export async function setSubscription(
  tx: Queryable,
  { channelId, checkId, groupId, activated }: Subscriber & { channelId: number; activated: boolean },
): Promise<SubscriptionRow> {
  const column = checkId === null ? 'group_id' : 'check_id';
  const [row] = await tx.query<SubscriptionRow>(
    `insert into alert_subscriptions (channel_id, ${column}, activated) values ($1, $2, $3)
     on conflict (channel_id, ${column}) do update set activated = excluded.activated
     returning ${columns}`,
    [channelId, checkId ?? groupId, activated],
  );
  if (row === undefined) throw new Error('the subscription was not written');
  return row;
}

/** Returns false if there was no such subscription. */
export async function deleteSubscription(tx: Queryable, { channelId, id }: Named): Promise<boolean> {
  const rows = await tx.query(
    'delete from alert_subscriptions where channel_id = $1 and id = $2 returning id',
    [channelId, id],
  );
  return rows.length > 0;
}

export type ChannelSubscription = Subscriber & { activated: boolean };

/** Replaces the subscriptions of a channel. The checks and groups must belong to the account. */
export async function replaceChannelSubscriptions(
  tx: Queryable,
  channelId: number,
  subscriptions: readonly ChannelSubscription[],
): Promise<void> {
  const checks = subscriptions.filter((one) => one.checkId !== null);
  const groups = subscriptions.filter((one) => one.groupId !== null);
  await tx.query(
    `delete from alert_subscriptions where channel_id = $1
       and ((check_id is not null and not check_id = any($2::uuid[]))
         or (group_id is not null and not group_id = any($3::bigint[])))`,
    [channelId, checks.map(({ checkId }) => checkId), groups.map(({ groupId }) => groupId)],
  );
  const rows = [
    { column: 'check_id', type: 'uuid', ids: checks.map(({ checkId }) => checkId), of: checks },
    { column: 'group_id', type: 'bigint', ids: groups.map(({ groupId }) => groupId), of: groups },
  ];
  for (const { column, type, ids, of } of rows) {
    if (ids.length === 0) continue;
    await tx.query(
      `insert into alert_subscriptions (channel_id, ${column}, activated)
       select $1, s.id, s.activated from unnest($2::${type}[], $3::boolean[]) as s (id, activated)
       on conflict (channel_id, ${column}) do update set activated = excluded.activated
         where alert_subscriptions.activated <> excluded.activated`,
      [channelId, ids, of.map(({ activated }) => activated)],
    );
  }
}

/** Those of the given checks and groups that the account has, locked against deletion until `tx` ends. */
export async function shareLockSubscribers(
  tx: Queryable,
  {
    accountId,
    checkIds,
    groupIds,
  }: { accountId: string; checkIds: readonly string[]; groupIds: readonly number[] },
): Promise<{ checks: Set<string>; groups: Set<number> }> {
  const groups =
    groupIds.length === 0
      ? []
      : await tx.query<{ id: number }>(
          'select id from check_groups where account_id = $1 and id = any($2::bigint[]) order by id for key share',
          [accountId, groupIds],
        );
  const checks =
    checkIds.length === 0
      ? []
      : await tx.query<{ id: string }>(
          'select id from checks where account_id = $1 and id = any($2::uuid[]) order by id for key share',
          [accountId, checkIds],
        );
  return { checks: new Set(checks.map(({ id }) => id)), groups: new Set(groups.map(({ id }) => id)) };
}

/** The part of a channel that checks show: its type and config, without long fields and secret fields. */
export type ChannelDetailRow = { id: number; type: string; config: Record<string, unknown> };

/** Those of the given channels whose types checks show. */
export async function channelDetails(
  db: Queryable,
  { accountId, ids }: { accountId: string; ids: readonly number[] },
): Promise<ChannelDetailRow[]> {
  if (ids.length === 0) return [];
  return db.query<ChannelDetailRow>(
    `select id, type, config - '{template,webhookSecret}'::text[] as config from alert_channels
     where account_id = $1 and id = any($2::bigint[]) and type in ('EMAIL', 'WEBHOOK', 'CHAT_A', 'SMS') order by id`,
    [accountId, ids],
  );
}
