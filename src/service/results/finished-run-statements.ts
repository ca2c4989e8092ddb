import type { Queryable } from '../db/database.ts';
import type { ResultToStore } from './store-result.ts';

/** Statements on the final results that wait to be followed: by alerts, error groups, incidents. */

/** One location's part of a run. */
export type FinishedPart = {
  resultId: string;
  startedAt: Date;
  runLocation: string;
  status: 'passed' | 'degraded' | 'failed' | 'errored';
};

/** A run whose locations have all ended, whatever their number. */
export type FinishedRun = {
  accountId: string;
  checkId: string;
  runId: string;
  /** In the order in which they were stored; never empty. */
  parts: FinishedPart[];
};

/** What says something about the check: not attempts, not tests, not what did not take place. */
const counts = ({ resultType, isTest, status }: ResultToStore) =>
  resultType === 'FINAL' && isTest !== true && status !== 'missed' && status !== 'cancelled';

/** In the transaction that stores the results. `runId`: the run of a result, the same at all locations of a run. */
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

/** How many times as many rows are looked at, oldest first: other replicas may have the first ones, and a check many. */
const looksAhead = 10;

/** Rows of runs that have ended everywhere: of `f`, at the moment `$2`. */
const ended = (f: string) => `(${f}.not_before is null or ${f}.not_before <= $2) and not exists (
  select 1 from jobs j where j.check_id = ${f}.check_id and j.run_id = ${f}.run_id and j.state <> 'abandoned')`;

/**
 * The oldest runs that have ended everywhere, whole and locked, at most `limit`. A run of which a location still has a job
 * is not among them. Runs of one check are had by one replica at a time: whoever has its oldest row has the check.
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
    [limit, now, limit * looksAhead],
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

export async function forgetFinishedRuns(tx: Queryable, rowIds: readonly number[]): Promise<void> {
  await tx.query('delete from finished_runs where id = any($1::bigint[])', [[...rowIds]]);
}

/** Puts rows off; those that failed so often are given up. How many were. */
export async function postponeFinishedRuns(
  db: Queryable,
  options: { rowIds: readonly number[]; until: Date; mostFailures: number },
): Promise<number> {
  const { rowIds, until, mostFailures } = options;
  await db.query(
    'update finished_runs set failures = failures + 1, not_before = $2 where id = any($1::bigint[])',
    [[...rowIds], until],
  );
  const given = await db.query(
    'delete from finished_runs where id = any($1::bigint[]) and failures >= $2 returning id',
    [[...rowIds], mostFailures],
  );
  return given.length;
}
