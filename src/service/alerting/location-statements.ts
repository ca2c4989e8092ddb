import type { Queryable } from '../db/database.ts';
import { toJsonb } from '../db/jsonb.ts';
import type { LocationNetwork } from './location-rules.ts';

/** Statements on the networks of locations, as their agents' results show them. */

export type LocationSubject = {
  locationId: string;
  accountId: string;
  name: string;
  slugName: string;
  state: LocationNetwork;
  /** The alert that reported the present trouble; null = none. */
  alertId: string | null;
};

type Row = Omit<LocationSubject, 'state'> & {
  since: Date | null;
  lastSeenAt: Date;
  endedAt: Date | null;
  pending: Record<string, number>;
};

/** Reason codes and messages of errored results, by result id. `at`: start of each result. */
export async function findReasons(
  tx: Queryable,
  results: readonly { accountId: string; resultId: string; at: Date }[],
): Promise<Map<string, { code: string | null; message: string | null }>> {
  if (results.length === 0) return new Map();
  const rows = await tx.query<{ id: string; code: string | null; message: string | null }>(
    `select r.id, r.reason->>'code' as code, r.reason->>'message' as message
     from unnest($1::uuid[], $2::timestamptz[]) as item (id, at)
     join check_results r on r.id = item.id and r.account_id = any($3::uuid[])
       and r.started_at >= item.at and r.started_at < item.at + interval '1 millisecond'`,
    [
      results.map(({ resultId }) => resultId),
      results.map(({ at }) => at),
      [...new Set(results.map(({ accountId }) => accountId))],
    ],
  );
  return new Map(rows.map(({ id, code, message }) => [id, { code, message }]));
}

/** Locations of these accounts whose network counts as failed: `accountId slug`. */
export async function troubledLocations(tx: Queryable, accountIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx.query<{ accountId: string; slugName: string }>(
    `select n.account_id as "accountId", l.slug_name as "slugName"
     from location_networks n join locations l on l.id = n.location_id
     where n.account_id = any($1::uuid[]) and n.since is not null`,
    [[...accountIds]],
  );
  return new Set(rows.map(({ accountId, slugName }) => `${accountId} ${slugName}`));
}

/** Locks the states of these locations in the order of their ids, and creates those that are missing. */
export async function lockLocations(
  tx: Queryable,
  places: readonly { accountId: string; slug: string }[],
): Promise<LocationSubject[]> {
  const parameters = [places.map(({ accountId }) => accountId), places.map(({ slug }) => slug)];
  const named =
    'join unnest($1::uuid[], $2::text[]) as item (account, slug) on l.account_id = account and l.slug_name = slug';
  await tx.query(
    `insert into location_networks (location_id, account_id, last_seen_at)
     select l.id, l.account_id, to_timestamp(0) from locations l ${named} order by l.id on conflict do nothing`,
    parameters,
  );
  const rows = await tx.query<Row>(
    `select l.id as "locationId", l.account_id as "accountId", l.name, l.slug_name as "slugName", n.since,
       n.last_seen_at as "lastSeenAt", n.ended_at as "endedAt", n.pending, n.alert_id as "alertId"
     from location_networks n join locations l on l.id = n.location_id ${named}
     order by l.id for update of n`,
    parameters,
  );
  return rows.map(({ since, lastSeenAt, endedAt, pending, ...row }) => ({
    ...row,
    state: {
      since: since?.getTime() ?? null,
      lastSeenAt: lastSeenAt.getTime(),
      endedAt: endedAt?.getTime() ?? null,
      pending,
    },
  }));
}

/** Stores the state of one location. */
export async function saveLocation(
  tx: Queryable,
  { locationId, state, alertId }: Pick<LocationSubject, 'locationId' | 'state' | 'alertId'>,
): Promise<void> {
  const { since, lastSeenAt, endedAt, pending } = state;
  const instant = (at: number | null) => (at === null ? null : new Date(at));
  await tx.query(
    `update location_networks set since = $2, last_seen_at = $3, ended_at = $4, pending = $5::jsonb, alert_id = $6
     where location_id = $1`,
    [locationId, instant(since), new Date(lastSeenAt), instant(endedAt), toJsonb(pending), alertId],
  );
}

/**
 * Channels that receive an alert about a location: those with sendFailure that are subscribed to an active check of the
 * location, or to such a check's group.
 */
export async function channelsOfLocation(
  tx: Queryable,
  { accountId, slug, checkIds }: { accountId: string; slug: string; checkIds: readonly string[] },
): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `select c.id::float8 as id from alert_channels c
     where c.account_id = $1 and c.send_failure and exists (
       select 1 from alert_subscriptions s
       join checks k on k.id = s.check_id or k.group_id = s.group_id
       left join check_groups g on g.id = k.group_id
       where s.channel_id = c.id and s.activated and k.account_id = $1
         and k.activated and coalesce(g.activated, true) and not k.muted and not coalesce(g.muted, false)
         and ($2 = any(k.private_locations) or $2 = any(k.locations) or k.id = any($3::uuid[])))
     order by c.id`,
    [accountId, slug, checkIds],
  );
  return rows.map(({ id }) => id);
}

/** Channels that were notified of an alert and receive recoveries. */
export async function recoveryChannels(tx: Queryable, accountId: string, alertId: string): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `select c.id::float8 as id from alert_channels c
     where c.account_id = $1 and c.send_recovery
       and exists (select 1 from alert_notifications n where n.channel_id = c.id and n.alert_id = $2)
     order by c.id`,
    [accountId, alertId],
  );
  return rows.map(({ id }) => id);
}
