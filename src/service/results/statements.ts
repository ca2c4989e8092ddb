import type { SuiteTotals } from './suite-totals.ts';
import type { Queryable } from '../db/database.ts';
import type { WantedResults } from '../db/filed-results.ts';
import { queryResults } from '../db/query-results.ts';
import { wholeBody, wholeBytes } from '../db/whole-body.ts';

/**
 * Statements on results for the public API. The partitions are by started_at, so every statement limits it if
 * possible.
 */

export type ResultRow = {
  id: string;
  checkId: string;
  sequenceId: string;
  /** The job that an agent reported on; null if no agent did. */
  jobId: string | null;
  leaseToken: string | null;
  checkType: string;
  runLocation: string;
  resultType: string;
  status: string;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  overMaxResponseTime: boolean;
  isCancelled: boolean;
  responseTime: number;
  attempts: number;
  reason: unknown;
  /** A suite's tests, counted by result. */
  totals: SuiteTotals | null;
  /** assertions, timings, details, artifacts, log; null = too large for a list. */
  body: Record<string, unknown> | null;
  startedAt: Date;
  stoppedAt: Date;
  storedAt: Date;
  /** Set by src/service/error-groups/groups-of-results.ts. */
  errorGroupIds?: string[];
};

/** Lists omit a body with more stored (compressed) bytes than this, so that a page stays small. */
const listedBodyBytes = 32 * 1024;

const summary = `id, check_id as "checkId", sequence_id as "sequenceId", job_id as "jobId",
  lease_token as "leaseToken", check_type as "checkType",
  run_location as "runLocation", result_type as "resultType", status, has_failures as "hasFailures",
  has_errors as "hasErrors", is_degraded as "isDegraded", over_max_response_time as "overMaxResponseTime",
  is_cancelled as "isCancelled", response_time as "responseTime", attempts, reason, totals, started_at as "startedAt",
  stopped_at as "stoppedAt", stored_at as "storedAt"`;

export type ResultFilter = {
  accountId: string;
  checkId: string;
  runLocation: string | null;
  checkType: string | null;
  hasFailures: boolean | null;
  status: string | null;
  /** null = all. */
  resultType: 'FINAL' | 'ATTEMPT' | null;
  /** null = all. */
  sequenceId: string | null;
  from: Date | null;
  to: Date | null;
  /** Only results that follow this one, newest first. */
  after?: { id: string; startedAt: Date } | null;
  limit: number;
  offset: number;
};

/** A page of a check's results, newest first. */
export async function listResults(db: Queryable, filter: ResultFilter): Promise<ResultRow[]> {
  return queryResults<ResultRow>(
    db,
    wantedOf(filter),
    `select ${summary}, case when coalesce(body_bytes, ${wholeBytes()}) <= ${listedBodyBytes} then ${wholeBody()} end as body
     from check_results
     where check_id = $1 and account_id = $2 and not test_session
       and started_at >= coalesce($3::timestamptz, '-infinity') and started_at <= least($4::timestamptz, $11::timestamptz, 'infinity')
       and ($5::text is null or run_location = $5)
       and ($6::text is null or check_type = $6)
       and ($7::boolean is null or has_failures = $7)
       and ($8::text is null or result_type = $8)
       and ($13::text is null or status = $13)
       and ($14::uuid is null or sequence_id = $14)
       and ($12::uuid is null or (started_at, id) < ($11::timestamptz, $12::uuid))
     order by started_at desc, id desc limit $9 offset $10`,
    [
      filter.checkId,
      filter.accountId,
      filter.from,
      filter.to,
      filter.runLocation,
      filter.checkType,
      filter.hasFailures,
      filter.resultType,
      filter.limit,
      filter.offset,
      filter.after?.startedAt ?? null,
      filter.after?.id ?? null,
      filter.status,
      filter.sequenceId,
    ],
  );
}

function wantedOf(filter: ResultFilter): WantedResults {
  const { from, to, after, runLocation, checkType, hasFailures, resultType, status, sequenceId } = filter;
  const end =
    after === null || after === undefined ? to : to !== null && to < after.startedAt ? to : after.startedAt;
  return {
    checkIds: [filter.checkId],
    spans: [{ from, to: end }],
    columns: 'all',
    only: {
      ...(runLocation === null ? {} : { run_location: runLocation }),
      ...(checkType === null ? {} : { check_type: checkType }),
      ...(hasFailures === null ? {} : { has_failures: hasFailures }),
      ...(resultType === null ? {} : { result_type: resultType }),
      ...(status === null ? {} : { status }),
      ...(sequenceId === null ? {} : { sequence_id: sequenceId }),
    },
    // Those that started at the same moment as `after` may come before it.
    first: { limit: filter.limit + filter.offset, order: 'newest', uncounted: after?.startedAt ?? null },
    maxBodyBytes: listedBodyBytes,
  };
}

/** A complete result. `startedAt` is the time in its id (a UUIDv7), which identifies the partition. */
export async function findResult(
  db: Queryable,
  options: { accountId: string; checkId: string; id: string; startedAt: Date },
): Promise<ResultRow | undefined> {
  const rows = await queryResults<ResultRow>(
    db,
    {
      checkIds: [options.checkId],
      spans: [{ from: options.startedAt, to: options.startedAt }],
      columns: 'all',
    },
    `select ${summary}, ${wholeBody()} as body from check_results
     where id = $1 and check_id = $2 and account_id = $3
       and started_at >= $4::timestamptz and started_at < $4::timestamptz + interval '1 millisecond'`,
    [options.id, options.checkId, options.accountId, options.startedAt],
  );
  return rows[0];
}
