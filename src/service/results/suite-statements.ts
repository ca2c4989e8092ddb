import type { Queryable } from '../db/database.ts';
import { queryResults } from '../db/query-results.ts';
import type { SuiteTotals } from './suite-totals.ts';

/** Statements on the results of suites. */

/** `from` and `to`: null = no limit. */
type Suite = { accountId: string; checkId: string; from: Date | null; to: Date | null };

export type SuiteRunRow = {
  id: string;
  status: string;
  /** Milliseconds. */
  responseTime: number;
  runLocation: string;
  startedAt: Date;
  totals: SuiteTotals | null;
};

/** The last final results of a suite in a stretch of time, newest first, without their bodies. */
export async function suiteRuns(
  db: Queryable,
  { accountId, checkId, from, to, limit }: Suite & { limit: number },
): Promise<SuiteRunRow[]> {
  return queryResults<SuiteRunRow>(
    db,
    {
      checkIds: [checkId],
      spans: [{ from, to }],
      columns: [
        'id',
        'check_id',
        'status',
        'result_type',
        'response_time',
        'run_location',
        'started_at',
        'totals',
      ],
      only: { result_type: 'FINAL' },
      first: { limit, order: 'newest' },
    },
    `select id, status, response_time as "responseTime", run_location as "runLocation", started_at as "startedAt", totals
     from check_results
     where check_id = $1 and account_id = $2 and result_type = 'FINAL' and not test_session
       and ($4::timestamptz is null or started_at >= $4) and ($5::timestamptz is null or started_at < $5)
     order by started_at desc, id desc limit $3`,
    [checkId, accountId, limit, from, to],
  );
}

export type SuiteTestRow = {
  resultId: string;
  startedAt: Date;
  /** As the report has them: of any type, because they come from outside. */
  test: { [field: string]: unknown };
};

/**
 * The tests of the last `runs` final results of a suite, newest run first and in the order of its report; at most `ofRun`
 * tests of each, and `limit` of all.
 */
export async function suiteTests(
  db: Queryable,
  {
    accountId,
    checkId,
    from,
    to,
    runs,
    ofRun,
    limit,
  }: Suite & { runs: number; ofRun: number; limit: number },
): Promise<SuiteTestRow[]> {
  return queryResults<SuiteTestRow>(
    db,
    {
      checkIds: [checkId],
      spans: [{ from, to }],
      columns: ['id', 'check_id', 'result_type', 'started_at', 'details'],
      only: { result_type: 'FINAL' },
      first: { limit: runs, order: 'newest' },
    },
    `select r.id as "resultId", r.started_at as "startedAt", jsonb_build_object('project', test->'project',
       'titlePath', test->'titlePath', 'title', test->'title', 'status', test->'status', 'degraded', test->'degraded',
       'durationMs', test->'durationMs', 'retries', test->'retries') as test
     from (select id, started_at, body->'details'->'tests' as tests from check_results
       where check_id = $1 and account_id = $2 and result_type = 'FINAL' and not test_session
         and ($3::timestamptz is null or started_at >= $3) and ($4::timestamptz is null or started_at < $4)
       order by started_at desc, id desc limit $5) as r
     cross join lateral jsonb_array_elements(case when jsonb_typeof(r.tests) = 'array' then r.tests else '[]' end)
       with ordinality as listed (test, place)
     where place <= $6 and jsonb_typeof(test) = 'object' order by r.started_at desc, r.id desc, place limit $7`,
    [checkId, accountId, from, to, runs, ofRun, limit],
  );
}
