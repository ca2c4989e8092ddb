import type { Queryable } from '../db/database.ts';

/** Statements on what checks wait for. */

export type Queued = { checkId: string; runLocation: string; since: Date };

/** The run of each check that has waited longest for an agent, if it was claimable before `before`. */
export async function longestQueued(
  db: Queryable,
  { checkIds, now, before }: { checkIds: readonly string[]; now: Date; before: Date },
): Promise<Map<string, Queued>> {
  const rows = await db.query<Queued>(
    `select distinct on (check_id) check_id as "checkId", run_location as "runLocation", not_before as since from jobs
     where check_id = any($1::uuid[]) and state = 'queued' and not_before < $2 and expires_at > $3
     order by check_id, not_before`,
    [[...checkIds], before, now],
  );
  return new Map(rows.map((row) => [row.checkId, row]));
}
