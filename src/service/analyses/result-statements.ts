import type { Queryable } from '../db/database.ts';
import { queryResults } from '../db/query-results.ts';

/** A result, as analyses compare it with others. */
export type ShortResult = {
  id: string;
  status: string;
  runLocation: string;
  /** Milliseconds. */
  responseTime: number;
  startedAt: Date;
  message: string | null;
  code: string | null;
  /** Phases in milliseconds. */
  timings: Record<string, unknown> | null;
};

/** Reads final results from `from` to `to`, newest first. */
export async function earlierResults(
  db: Queryable,
  options: {
    accountId: string;
    checkId: string;
    from: Date;
    to: Date;
    onlyPassed: boolean;
    limit: number;
  },
): Promise<ShortResult[]> {
  return queryResults<ShortResult>(
    db,
    {
      checkIds: [options.checkId],
      spans: [options],
      columns: [
        'id',
        'check_id',
        'status',
        'result_type',
        'run_location',
        'response_time',
        'started_at',
        'reason',
        'timings',
      ],
      only: { result_type: 'FINAL', ...(options.onlyPassed ? { status: 'passed' } : {}) },
      first: { limit: options.limit, order: 'newest' },
    },
    `select id, status, run_location as "runLocation", response_time as "responseTime", started_at as "startedAt",
       reason->>'message' as message, reason->>'code' as code, nullif(body->'timings', 'null') as timings
     from check_results
     where check_id = $1 and account_id = $2 and started_at >= $3 and started_at <= $4 and result_type = 'FINAL'
       and not test_session and (not $5::boolean or status = 'passed')
     order by started_at desc, id desc limit $6`,
    [options.checkId, options.accountId, options.from, options.to, options.onlyPassed, options.limit],
  );
}
