import { hourMs } from '../../durations.ts';
import type { Db, Queryable } from '../db/database.ts';
import { createFindPauses } from '../maintenance/pauses.ts';
import { keepingChannel } from './statements.ts';

/** Maintenance windows for agents that hold checks: they know the pauses of the next hours, should the service be away. */

/** Longer than agents continue without the service. */
const aheadMs = 30 * hourMs;
/** Pauses that end sooner are sent again. */
const leastAheadMs = 27 * hourMs;

/** The pauses of each check until `until`. Checks without any are absent. */
export async function pausesAhead(
  db: Queryable,
  { checks, now }: { checks: readonly { id: string; accountId: string }[]; now: number },
): Promise<{ until: number; pauses: Map<string, [number, number][]>; hasWindows: boolean }> {
  const until = now + aheadMs;
  const nextDueAt = new Date(now - hourMs);
  const found = await createFindPauses()(db, {
    checks: checks.map(({ id, accountId }) => ({ id, accountId, nextDueAt })),
    now: until,
  });
  const pauses = new Map(
    [...found].map(([id, stretches]) => [id, stretches.map(({ from, to }): [number, number] => [from, to])]),
  );
  const accounts = [...new Set(checks.map(({ accountId }) => accountId))];
  const rows = await db.query(
    `select 1 from maintenance_windows w where account_id = any($1::uuid[]) and (pause_all_checks or cardinality(tags) > 0)
       and (over_at is null or over_at > $2) limit 1`,
    [accounts, new Date(now)],
  );
  return { until, pauses, hasWindows: rows.length > 0 };
}

/** Makes agents read the pauses again that they know for too short a time. */
export async function markStalePauses(db: Db, now: number): Promise<void> {
  const rows = await db.query<{ accountId: string }>(
    `insert into kept_changes (account_id)
     select distinct account_id from kept_checks where dropped_at is null and pauses_until < $1
     returning account_id as "accountId"`,
    [new Date(now + leastAheadMs)],
  );
  for (const { accountId } of rows) await db.notify(keepingChannel, accountId);
}
