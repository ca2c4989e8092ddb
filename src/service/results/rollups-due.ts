import type { Queryable } from '../db/database.ts';

/** Marks the rollups of these checks and hours as outdated, in the transaction that follows from the results. */
export async function noteRollupsDue(
  tx: Queryable,
  due: readonly { checkId: string; startedAt: Date }[],
): Promise<void> {
  if (due.length === 0) return;
  await tx.query(
    `insert into rollups_due (hour, check_id)
     select distinct date_trunc('hour', at, 'UTC'), check_id from unnest($1::uuid[], $2::timestamptz[]) as item (check_id, at)
     order by 1, 2 on conflict do nothing`,
    [due.map(({ checkId }) => checkId), due.map(({ startedAt }) => startedAt)],
  );
}
