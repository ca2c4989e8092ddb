import { scheduledRunId } from '../../protocol/schedule.ts';
import type { Db, Queryable } from '../db/database.ts';
import { countsForStatus } from '../db/last-run.ts';
import { timeOfUuidv7 } from '../engine/ids.ts';

/**
 * Statuses that are behind (db/last-run.ts): uneventful runs of checks that agents hold leave only their results. Nothing
 * else may be stored for such a check until its status has caught up.
 */

type LastRun = {
  checkId: string;
  accountId: string;
  resultId: string;
  jobId: string | null;
  startedAt: Date;
  storedAt: Date;
  runLocation: string;
};

/**
 * Brings statuses up to date that are behind, before anything else is stored for their checks. The last run is followed
 * as any other run is: the followers of later runs see it. Locks the checks that agents hold, so that no uneventful run
 * is being stored meanwhile.
 */
export async function catchUpStatuses(
  tx: Queryable,
  {
    checkIds,
    exceptIds,
  }: {
    checkIds: readonly string[];
    /** Results that this transaction has stored already. */
    exceptIds: readonly string[];
  },
): Promise<void> {
  await tx.query(
    `select 1 from kept_checks where check_id = any($1::uuid[]) and dropped_at is null
     order by check_id, agent_id for no key update`,
    [[...checkIds]],
  );
  const behind = await tx.query<{ id: string; since: Date }>(
    `select check_id as id, last_started_at as since from check_statuses
     where check_id = any($1::uuid[]) and is_behind order by check_id for no key update`,
    [[...checkIds]],
  );
  if (behind.length === 0) return;
  const since = new Date(Math.min(...behind.map((row) => row.since.getTime())));
  const runs = await tx.query<LastRun>(
    `select s.check_id as "checkId", s.account_id as "accountId", last.id as "resultId", last.job_id as "jobId",
       last.started_at as "startedAt", last.stored_at as "storedAt", last.run_location as "runLocation"
     from check_statuses s cross join lateral (
       select r.id, r.job_id, r.started_at, r.stored_at, r.run_location from check_results r
       where r.check_id = s.check_id and r.started_at >= s.last_started_at and r.started_at >= $2 and ${countsForStatus}
         and r.id <> all($3::uuid[])
       order by r.started_at desc, r.id desc limit 1) as last
     where s.check_id = any($1::uuid[]) and last.id <> s.last_check_run_id
     order by s.check_id`,
    [behind.map(({ id }) => id), since, [...exceptIds]],
  );
  await tx.query(
    `update check_statuses s set is_behind = false, last_check_run_id = coalesce(r.id, s.last_check_run_id),
       last_started_at = coalesce(r.started, s.last_started_at), last_run_location = coalesce(r.location, s.last_run_location),
       updated_at = coalesce(r.stored, s.updated_at)
     from unnest($1::uuid[]) as b (check_id)
       left join unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::timestamptz[], $6::text[])
         as r (check_id, id, started, stored, location) on r.check_id = b.check_id
     where s.check_id = b.check_id`,
    [
      behind.map(({ id }) => id),
      runs.map(({ checkId }) => checkId),
      runs.map(({ resultId }) => resultId),
      runs.map(({ startedAt }) => startedAt),
      runs.map(({ storedAt }) => storedAt),
      runs.map(({ runLocation }) => runLocation),
    ],
  );
  if (runs.length === 0) return;
  await tx.query(
    `insert into finished_runs (account_id, check_id, run_id, result_id, started_at, run_location, status)
     select r.*, 'passed' from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::text[]) as r`,
    [
      runs.map(({ accountId }) => accountId),
      runs.map(({ checkId }) => checkId),
      runs.map(runIdOf),
      runs.map(({ resultId }) => resultId),
      runs.map(({ startedAt }) => startedAt),
      runs.map(({ runLocation }) => runLocation),
    ],
  );
}

/** The run of a job that an agent made itself follows from the check and the moment, which the job's id contains. */
function runIdOf({ checkId, jobId, resultId }: LastRun): string {
  const dueAt = timeOfUuidv7(jobId ?? '');
  return dueAt === null ? resultId : scheduledRunId(checkId, dueAt);
}

/** Marks statuses as behind: an uneventful run is stored for each check in this transaction. */
export async function leaveBehind(tx: Queryable, checkIds: readonly string[]): Promise<void> {
  if (checkIds.length === 0) return;
  await tx.query(
    `update check_statuses set is_behind = true where check_id in (
       select check_id from check_statuses where check_id = any($1::uuid[]) order by check_id for no key update)`,
    [[...checkIds]],
  );
}

/** Extends the longest and shortest run of statuses by these uneventful ones. */
export async function widenStatuses(
  tx: Queryable,
  runs: readonly { checkId: string; responseTime: number }[],
): Promise<void> {
  if (runs.length === 0) return;
  await tx.query(
    `with run as (
       select check_id, max(time) as longest, min(time) as shortest
       from unnest($1::uuid[], $2::float8[]) as item (check_id, time) group by check_id
     ), locked as (
       select s.check_id from check_statuses s where s.check_id = any($1::uuid[]) order by s.check_id for no key update
     )
     update check_statuses s set longest_run = greatest(s.longest_run, run.longest),
       shortest_run = least(s.shortest_run, run.shortest)
     from run join locked on locked.check_id = run.check_id where s.check_id = run.check_id`,
    [runs.map(({ checkId }) => checkId), runs.map(({ responseTime }) => responseTime)],
  );
}

const refreshAtOnce = 500;

/** Writes the last run into statuses that have been behind since before `before`, and leaves them so. */
export async function refreshBehind(db: Db, before: Date): Promise<void> {
  for (;;) {
    const rows = await db.query(
      `with old as (
         select s.check_id from check_statuses s where s.is_behind and s.last_started_at < $1
           and exists (select 1 from check_results r
             where r.check_id = s.check_id and r.started_at >= $1 and ${countsForStatus})
         order by s.check_id limit ${refreshAtOnce} for no key update skip locked
       ), found as (
         select s.check_id, last.* from old join check_statuses s on s.check_id = old.check_id cross join lateral (
           select r.id, r.started_at, r.stored_at, r.run_location from check_results r
           where r.check_id = s.check_id and r.started_at > s.last_started_at and ${countsForStatus}
           order by r.started_at desc, r.id desc limit 1) as last
         where last.started_at >= $1
       )
       update check_statuses s set last_check_run_id = found.id, last_started_at = found.started_at,
         last_run_location = found.run_location, updated_at = found.stored_at
       from found where s.check_id = found.check_id returning 1`,
      [before],
    );
    if (rows.length < refreshAtOnce) return;
  }
}

/** Checks whose status is behind, at most `limit`. */
export async function checksBehind(db: Queryable, limit: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    'select check_id as id from check_statuses where is_behind order by check_id limit $1',
    [limit],
  );
  return rows.map(({ id }) => id);
}
