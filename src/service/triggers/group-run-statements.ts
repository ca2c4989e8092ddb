import type { Queryable } from '../db/database.ts';

/** Statements on triggered group runs, which run a limited number of checks at a time. */

export async function insertGroupRun(
  db: Queryable,
  run: { id: string; accountId: string; concurrency: number; startedAt: Date },
): Promise<void> {
  await db.query('insert into group_runs (id, account_id, concurrency, started_at) values ($1, $2, $3, $4)', [
    run.id,
    run.accountId,
    run.concurrency,
    run.startedAt,
  ]);
}

/** SQL on `group_runs g`: how many of its checks are running or queued. */
const under = `(select count(distinct j.check_id) from group_run_jobs j
  where j.group_run_id = g.id and j.state in ('queued', 'leased'))`;

/**
 * Locks and reads group runs that can start another check; skips those that another replica has locked.
 * Full group runs are omitted, so that many of them do not delay the others.
 */
export async function lockBlockedGroupRuns(
  tx: Queryable,
  { limit }: { limit: number },
): Promise<{ id: string; concurrency: number }[]> {
  return tx.query(
    `select g.id, g.concurrency from group_runs g
     where g.id in (select j.group_run_id from group_run_jobs j where j.state = 'blocked')
       and ${under} < g.concurrency
     order by g.id limit $1 for update skip locked`,
    [limit],
  );
}

/** Whether a group run has checks that wait for their turn. */
export async function isSomethingBlocked(db: Queryable): Promise<boolean> {
  const rows = await db.query(`select 1 from group_run_jobs where state = 'blocked' limit 1`);
  return rows.length > 0;
}

/**
 * Queues jobs and the service's own runs for the next checks, as far as there is room. Returns the locations with new
 * jobs.
 * The service's own runs may wait until `ownExpiry`.
 */
export async function releaseNextChecks(
  tx: Queryable,
  { groupRun, now, ownExpiry }: { groupRun: { id: string; concurrency: number }; now: Date; ownExpiry: Date },
): Promise<string[]> {
  const rows = await tx.query<{ locationId: string }>(
    `with next as (
       select check_id from group_run_jobs where group_run_id = $1 and state = 'blocked' and check_id not in (
         select check_id from group_run_jobs where group_run_id = $1 and state in ('queued', 'leased'))
       group by check_id order by min(group_position) limit greatest(0, $2 - (
         select count(distinct check_id) from group_run_jobs where group_run_id = $1 and state in ('queued', 'leased')))
     ), own as (
       update agentic_runs set state = 'queued', expires_at = $4
       where group_run_id = $1 and state = 'blocked' and check_id in (select check_id from next)
     )
     update jobs set state = 'queued', not_before = $3,
       expires_at = $3::timestamptz + make_interval(secs => claim_window_seconds)
     where group_run_id = $1 and state = 'blocked' and check_id in (select check_id from next)
     returning location_id as "locationId"`,
    [groupRun.id, groupRun.concurrency, now, ownExpiry],
  );
  return [...new Set(rows.map(({ locationId }) => locationId))];
}

/** Deletes group runs that began before `before`. */
export async function deleteOldGroupRuns(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<void> {
  await db.query(
    `delete from group_runs where id in (
       select id from group_runs where started_at < $1 order by started_at limit $2)`,
    [before, limit],
  );
}
