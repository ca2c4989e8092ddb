import type { ResultStatus } from '../../protocol/result.ts';
import type { SuiteTotals } from './suite-totals.ts';
import type { Queryable } from '../db/database.ts';
import { clockSkewSql } from '../engine/clock-skew.ts';
import { catchUpStatuses } from './catch-up.ts';

/** A result in stored form. Times are milliseconds since the epoch; `body` and `reason` are JSON texts. */
export type ResultToStore = {
  id: string;
  startedAt: number;
  stoppedAt: number;
  accountId: string;
  checkId: string;
  jobId: string | null;
  /** The lease of the reporting agent; absent if no agent reported it. */
  leaseToken?: string;
  sequenceId: string;
  /** True for a test session, which does not count for the check. Absent = false. */
  isTest?: boolean;
  checkType: string;
  runLocation: string;
  resultType: 'FINAL' | 'ATTEMPT';
  status: ResultStatus;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  overMaxResponseTime: boolean;
  isCancelled: boolean;
  responseTime: number;
  attempts: number;
  reason: string | null;
  /** assertions, timings, details, artifacts, log */
  body: string;
  /** What `body` was made of, which need not be parsed again. Absent = unknown. */
  content?: object | undefined;
  /** `body` has only what differs from this base (bases.ts). Absent = it is whole. */
  baseId?: string;
  /** Remaining days of the certificate that an attempt saw; null if it saw none. */
  sslDaysRemaining: number | null;
  /** Of suite runs that reached their tests. */
  totals?: SuiteTotals | null;
};

/**
 * Inserts all results in one statement. The partitions of their days must exist. What many results of a batch have in
 * common is sent once, because the database takes longer to read the columns than to store them.
 */
export async function insertResults(
  tx: Queryable,
  results: readonly ResultToStore[],
  now: Date,
): Promise<void> {
  if (results.length === 0) return;
  const shared: string[] = [];
  const numbers = new Map<string, number>();
  const rows = results.map((result) => {
    const text = sharedOf(result);
    const number = numbers.get(text) ?? shared.push(text) - 1;
    numbers.set(text, number);
    return rowOf(result, number);
  });
  await tx.query(
    `insert into check_results (id, started_at, stopped_at, stored_at, account_id, check_id, job_id, lease_token, sequence_id,
       test_session, check_type, run_location, result_type, status, has_failures, has_errors, is_degraded, over_max_response_time,
       is_cancelled, response_time, attempts, reason, totals, body, base_id)
     select r.id, r.started, r.stopped, $2, s.account, r.checks, r.job, s.lease, r.sequence, s.test, s.type, s.location, s.kind,
       s.status, s.failures, s.errors, s.degraded, s.over, s.cancelled, r.time, s.attempts, nullif(s.reason, 'null'),
       nullif(r.totals, 'null'), r.body, r.base
     from jsonb_to_recordset($1::jsonb) as r (id uuid, started timestamptz, stopped timestamptz, checks uuid, job uuid,
         sequence uuid, time double precision, totals jsonb, body jsonb, base uuid, shared integer)
       join jsonb_to_recordset($3::jsonb) as s (number integer, account uuid, lease uuid, test boolean, type text,
         location text, kind text, status text, failures boolean, errors boolean, degraded boolean, over boolean,
         cancelled boolean, attempts integer, reason jsonb) on s.number = r.shared`,
    [
      `[${rows.join(',')}]`,
      now,
      `[${shared.map((text, number) => `{"number":${number},${text}`).join(',')}]`,
    ],
  );
}

/** Columns in which many results agree, as JSON without its first brace. */
function sharedOf(result: ResultToStore): string {
  const record = JSON.stringify({
    account: result.accountId,
    lease: result.leaseToken ?? null,
    test: result.isTest === true,
    type: result.checkType,
    location: result.runLocation,
    kind: result.resultType,
    status: result.status,
    failures: result.hasFailures,
    errors: result.hasErrors,
    degraded: result.isDegraded,
    over: result.overMaxResponseTime,
    cancelled: result.isCancelled,
    attempts: result.attempts,
  });
  return `${record.slice(1, -1)},"reason":${result.reason ?? 'null'}}`;
}

/** The other columns. Embeds the JSON texts unparsed, so that only the database parses them. */
function rowOf(result: ResultToStore, shared: number): string {
  const record = JSON.stringify({
    id: result.id,
    started: new Date(result.startedAt).toISOString(),
    stopped: new Date(result.stoppedAt).toISOString(),
    checks: result.checkId,
    job: result.jobId,
    sequence: result.sequenceId,
    time: result.responseTime,
    totals: result.totals ?? undefined,
    base: result.baseId,
    shared,
  });
  return `${record.slice(0, -1)},"body":${result.body}}`;
}

/** Whether a result changes the check's status. A run that did not take place does not. */
const changesStatus = (result: ResultToStore) =>
  result.resultType === 'FINAL' &&
  result.isTest !== true &&
  result.status !== 'missed' &&
  result.status !== 'cancelled';

/**
 * Updates check statuses: the newest final result counts, and the longest and shortest run. Call it before the runs are
 * queued for those that follow them, because an earlier run may have to be queued first.
 */
export async function updateStatuses(
  tx: Queryable,
  results: readonly ResultToStore[],
  now: Date,
): Promise<void> {
  const byCheck = new Map<string, { newest: ResultToStore; longest: number; shortest: number }>();
  for (const result of results.filter(changesStatus)) {
    const time = result.responseTime;
    const known = byCheck.get(result.checkId);
    byCheck.set(result.checkId, {
      newest: known !== undefined && known.newest.startedAt > result.startedAt ? known.newest : result,
      longest: Math.max(known?.longest ?? time, time),
      shortest: Math.min(known?.shortest ?? time, time),
    });
  }
  if (byCheck.size === 0) return;
  await catchUpStatuses(tx, { checkIds: [...byCheck.keys()], exceptIds: results.map(({ id }) => id) });
  const records = [...byCheck.values()]
    // All writers use the same order, so that no two transactions deadlock.
    .sort((a, b) => (a.newest.checkId < b.newest.checkId ? -1 : 1))
    .map(({ newest, longest, shortest }) => ({
      id: newest.checkId,
      account: newest.accountId,
      status: newest.status,
      failures: newest.hasFailures,
      errors: newest.hasErrors,
      degraded: newest.isDegraded,
      longest,
      shortest,
      location: newest.runLocation,
      run: newest.id,
      started: new Date(newest.startedAt).toISOString(),
      ssl: newest.sslDaysRemaining,
      reason: newest.reason === null ? null : (JSON.parse(newest.reason) as unknown),
    }));
  await tx.query(
    // The join skips checks that were deleted in the meantime.
    `insert into check_statuses as s (check_id, account_id, status, has_failures, has_errors, is_degraded, longest_run,
       shortest_run, last_run_location, last_check_run_id, last_started_at, ssl_days_remaining, reason, created_at)
     select r.id, r.account, r.status, r.failures, r.errors, r.degraded, r.longest, r.shortest, r.location, r.run,
       r.started, r.ssl, nullif(r.reason, 'null'), $2
     from jsonb_to_recordset($1::jsonb) as r (id uuid, account uuid, status text, failures boolean, errors boolean,
       degraded boolean, longest double precision, shortest double precision, location text, run uuid,
       started timestamptz, ssl integer, reason jsonb)
     join checks c on c.id = r.id
     on conflict (check_id) do update set
       longest_run = greatest(s.longest_run, excluded.longest_run),
       shortest_run = least(s.shortest_run, excluded.shortest_run),
       (status, has_failures, has_errors, is_degraded, last_run_location, last_check_run_id, last_started_at,
         ssl_days_remaining, reason, updated_at) = (select
         case when newer then excluded.status else s.status end,
         case when newer then excluded.has_failures else s.has_failures end,
         case when newer then excluded.has_errors else s.has_errors end,
         case when newer then excluded.is_degraded else s.is_degraded end,
         case when newer then excluded.last_run_location else s.last_run_location end,
         case when newer then excluded.last_check_run_id else s.last_check_run_id end,
         case when newer then excluded.last_started_at else s.last_started_at end,
         case when newer then coalesce(excluded.ssl_days_remaining, s.ssl_days_remaining) else s.ssl_days_remaining end,
         case when newer then excluded.reason else s.reason end,
         $2::timestamptz
         from (select excluded.last_started_at >= s.last_started_at
           -- The clock was wrong and has been set back.
           or s.last_started_at > $2::timestamptz + ${clockSkewSql} as newer) as age)`,
    [JSON.stringify(records), now],
  );
}
