import type { Queryable } from '../db/database.ts';
import type { ResultToStore } from './store-result.ts';

/** Statements on final results that alerts, error groups and incidents still have to process. */

/** The result of a run at one location. */
export type FinishedPart = {
  resultId: string;
  startedAt: Date;
  runLocation: string;
  status: 'passed' | 'degraded' | 'failed' | 'errored';
};

/** A run that has finished at all its locations. */
export type FinishedRun = {
  accountId: string;
  checkId: string;
  runId: string;
  /** In the order of storage; never empty. */
  parts: FinishedPart[];
};

/** Results that count for the check: not attempts, not tests, and not runs that did not take place. */
const counts = ({ resultType, isTest, status }: ResultToStore) =>
  resultType === 'FINAL' && isTest !== true && status !== 'missed' && status !== 'cancelled';

/**
 * Queues the runs of these results, in the transaction that stores them. `runId` is the same at all locations of a
 * run.
 */
export async function queueFinishedRuns(
  tx: Queryable,
  results: readonly ResultToStore[],
  runId: (result: ResultToStore) => string,
): Promise<void> {
  const finals = results.filter(counts);
  if (finals.length === 0) return;
  await tx.query(
    `insert into finished_runs (account_id, check_id, run_id, result_id, started_at, run_location, status)
     select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::text[], $7::text[])`,
    [
      finals.map(({ accountId }) => accountId),
      finals.map(({ checkId }) => checkId),
      finals.map(runId),
      finals.map(({ id }) => id),
      finals.map(({ startedAt }) => new Date(startedAt)),
      finals.map(({ runLocation }) => runLocation),
      finals.map(({ status }) => status),
    ],
  );
}

type Row = { id: number; accountId: string; checkId: string; runId: string } & FinishedPart;
export type LockedRun = FinishedRun & { rowIds: number[] };

/**
 * Reads this many times `limit` rows, oldest first, because other replicas may hold the first ones and a check may
 * have many.
 */
const readAheadFactor = 10;

/**
 * Condition for rows `f` of runs that have finished at all locations at the time `$2`. A postponed run holds up the later
 * runs of its check: a follower ignores a run that is older than one it has followed, so a failure would raise no alert.
 */
const ended = (f: string) => `(${f}.not_before is null or ${f}.not_before <= $2) and not exists (
  select 1 from finished_runs p where p.check_id = ${f}.check_id and p.id < ${f}.id and p.not_before > $2) and not exists (
  select 1 from jobs j where j.check_id = ${f}.check_id and j.run_id = ${f}.run_id and j.state <> 'abandoned')`;

/** Whether there is a row after `after` of a run that has finished at all locations, also if another replica has locked it. */
export async function isAnyRunFinished(
  db: Queryable,
  { after, now }: { after: number; now: Date },
): Promise<boolean> {
  const rows = await db.query(
    `select 1 from finished_runs f where f.id > $1 and ${ended('f')} order by f.id limit 1`,
    [after, now],
  );
  return rows.length > 0;
}

/** The last row that was queued, whether it is still there or not. Those that are queued later have higher numbers. */
export async function lastQueuedRun(db: Queryable): Promise<number> {
  const rows = await db.query<{ last: number }>(
    'select case when is_called then last_value else 0 end as last from finished_runs_id_seq',
  );
  return rows[0]?.last ?? 0;
}

/**
 * Locks the oldest runs that have finished at all locations, complete, at most `limit`. Runs with a job left at any
 * location are excluded. One replica at a time processes the runs of a check: the one that holds its oldest row.
 */
export async function lockFinishedRuns(
  tx: Queryable,
  { limit, now }: { limit: number; now: Date },
): Promise<LockedRun[]> {
  const checks = await tx.query<{ checkId: string; last: number }>(
    `with oldest as (select f.id, f.check_id from finished_runs f where ${ended('f')} order by f.id limit $3)
     select f.check_id as "checkId", (select max(id) from oldest)::float8 as last from finished_runs f
     where f.id in (select min(id) from oldest group by check_id)
     order by f.id limit $1 for update of f skip locked`,
    [limit, now, limit * readAheadFactor],
  );
  const [first] = checks;
  if (first === undefined) return [];
  const rows = await tx.query<Row>(
    `select f.id, f.account_id as "accountId", f.check_id as "checkId", f.run_id as "runId",
       f.result_id as "resultId", f.started_at as "startedAt", f.run_location as "runLocation", f.status
     from finished_runs f
     where (f.check_id, f.run_id) in (
       select e.check_id, e.run_id from finished_runs e
       where e.check_id = any($3::uuid[]) and e.id <= $4 and ${ended('e')}
       group by e.check_id, e.run_id order by min(e.id) limit $1)
     order by f.id for update of f skip locked`,
    [limit, now, checks.map(({ checkId }) => checkId), first.last],
  );
  const runs = new Map<string, LockedRun>();
  for (const { id, accountId, checkId, runId, ...part } of rows) {
    const key = `${checkId} ${runId}`;
    const run = runs.get(key) ?? { accountId, checkId, runId, parts: [], rowIds: [] };
    run.parts.push(part);
    run.rowIds.push(id);
    runs.set(key, run);
  }
  return [...runs.values()];
}

/** Deletes the rows of runs that have been followed. */
export async function forgetFinishedRuns(tx: Queryable, rowIds: readonly number[]): Promise<void> {
  await tx.query('delete from finished_runs where id = any($1::bigint[])', [[...rowIds]]);
}

/** Postpones rows and gives up those that have failed too often. Returns how many were given up. */
export async function postponeFinishedRuns(
  db: Queryable,
  options: { rowIds: readonly number[]; until: Date; maxFailures: number },
): Promise<number> {
  const { rowIds, until, maxFailures } = options;
  await db.query(
    'update finished_runs set failures = failures + 1, not_before = $2 where id = any($1::bigint[])',
    [[...rowIds], until],
  );
  const given = await db.query(
    'delete from finished_runs where id = any($1::bigint[]) and failures >= $2 returning id',
    [[...rowIds], maxFailures],
  );
  return given.length;
}
