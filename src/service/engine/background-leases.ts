import type { Queryable } from '../db/database.ts';

/**
 * Leases of background items. The library restarts an item only after its longest time, which is minutes. Replicas
 * therefore mark their running items when they take them and then every few seconds. Whatever was marked once and is no
 * longer marked is restarted at once. During a rolling update, replicas of an earlier version mark nothing: their items
 * are restarted after the longest time only.
 */

/** In the column of an item's result, which is empty until its end: the library clears it with each try that ends. */
const lease = `'{"leased": true}'::jsonb`;

/** How often replicas mark their items and look for abandoned ones. */
export const markEveryMs = 5_000;
/** An item without a mark for so long belongs to a replica that died. */
const abandonedAfter = '15 seconds';

/** Marks running items. The library counts an item's longest time from its last mark. */
export async function markRunning(db: Queryable, schema: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.query(
    `update ${schema}.job set started_on = now(), output = ${lease} where id = any($1::uuid[]) and state = 'active'`,
    [ids],
  );
}

/** Makes items of replicas that died due now; returns how many. An item without a try left stays. */
export async function restartAbandoned(
  db: Queryable,
  schema: string,
  queues: readonly string[],
): Promise<number> {
  const rows = await db.query(
    `update ${schema}.job set state = 'retry', start_after = now() - interval '1 second', output = null
     where name = any($1::text[]) and state = 'active' and retry_count < retry_limit
       and output @> ${lease} and started_on < now() - interval '${abandonedAfter}'
     returning id`,
    [queues],
  );
  return rows.length;
}
