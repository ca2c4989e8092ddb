import type { Queryable } from '../db/database.ts';

/** Statements on which channels have been notified of an expiring certificate. */

/**
 * Records that these channels are notified of a check's certificate. Returns the channels that had not been notified
 * before.
 */
export async function insertSslNotices(
  tx: Queryable,
  notice: { checkId: string; channelIds: readonly number[]; expiresAt: Date; now: Date },
): Promise<number[]> {
  const { checkId, channelIds, expiresAt, now } = notice;
  if (channelIds.length === 0) return [];
  const rows = await tx.query<{ channelId: number }>(
    `insert into ssl_notices (check_id, channel_id, expires_at, created_at)
     select $1, id, $3, $4 from unnest($2::bigint[]) as item (id)
     on conflict do nothing returning channel_id::float8 as "channelId"`,
    [checkId, [...channelIds], expiresAt, now],
  );
  return rows.map(({ channelId }) => channelId);
}

/** Records when the certificates of these checks were examined, and how many days they had left. */
export async function recordSslCheck(
  tx: Queryable,
  { checkIds, now }: { checkIds: readonly string[]; now: Date },
): Promise<void> {
  if (checkIds.length === 0) return;
  await tx.query(
    `update alert_states s set ssl_looked_at = $2, ssl_days = st.ssl_days_remaining
     from check_statuses st where st.check_id = s.check_id and s.check_id = any($1::uuid[])`,
    [[...checkIds], now],
  );
}

/** Deletes notices of certificates that expired before a moment, up to `limit`. Returns how many were deleted. */
export async function deleteOldSslNotices(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const rows = await db.query(
    `delete from ssl_notices where (check_id, channel_id, expires_at) in (
       select check_id, channel_id, expires_at from ssl_notices where expires_at < $1 order by expires_at limit $2)
     returning channel_id`,
    [before, limit],
  );
  return rows.length;
}
