import type { Spans } from '../analytics/spans.ts';
import type { TimeRange } from '../analytics/ranges.ts';
import type { Queryable } from '../db/database.ts';
import { queryResults } from '../db/query-results.ts';

/** Statements on the timeline of one check. */

/** Statuses of runs that took place. */
const finished = ['passed', 'degraded', 'failed', 'errored'];

/** `retries`: attempts before the final ones. */
export type StatusCount = { bin: Date; location: string; status: string; count: number; retries: number };

/** Runs by bucket, location and status, from rollups and raw results. */
export async function countRuns(
  db: Queryable,
  { checkId, spans, origin, seconds }: { checkId: string; spans: Spans; origin: Date; seconds: number },
): Promise<StatusCount[]> {
  const { rollups, raw } = spans;
  return queryResults<StatusCount>(
    db,
    {
      checkIds: [checkId],
      spans: raw,
      columns: ['check_id', 'started_at', 'run_location', 'status', 'result_type', 'attempts'],
      only: { result_type: 'FINAL', status: finished },
    },
    `select date_bin(make_interval(secs => $2), at, $3::timestamptz) as bin, run_location as location, status,
       sum(n)::integer as count, sum(repeated)::integer as retries
     from (
       select t.hour as at, t.run_location, t.status, t.count as n, t.sum as repeated
       from check_rollups t
       where t.check_id = $1 and t.metric = 'retries' and t.hour >= $4 and t.hour < $5 and not t.hour = any($6::timestamptz[])
       union all
       select r.started_at, r.run_location, r.status, 1, r.attempts
       from unnest($7::timestamptz[], $8::timestamptz[]) as span (since, until)
       cross join lateral (
         select started_at, run_location, status, attempts from check_results
         where check_id = $1 and started_at >= span.since and started_at < span.until and result_type = 'FINAL'
           and not test_session and status in ('passed', 'degraded', 'failed', 'errored')
       ) as r
     ) as runs group by 1, 2, 3 order by 1, 2`,
    [
      checkId,
      seconds,
      origin,
      rollups?.from ?? origin,
      rollups?.to ?? origin,
      rollups?.except ?? [],
      raw.map(({ from }) => from),
      raw.map(({ to }) => to),
    ],
  );
}

export type RunRow = {
  id: string;
  startedAt: Date;
  status: string;
  responseTime: number;
  location: string;
  phases: { [phase: string]: unknown } | null;
};

/** The final results of a range, oldest first; at most `limit`. */
export async function listRuns(
  db: Queryable,
  { checkId, range, limit }: { checkId: string; range: TimeRange; limit: number },
): Promise<RunRow[]> {
  return queryResults<RunRow>(
    db,
    {
      checkIds: [checkId],
      spans: [range],
      columns: [
        'id',
        'check_id',
        'started_at',
        'status',
        'result_type',
        'response_time',
        'run_location',
        'timings',
      ],
      only: { result_type: 'FINAL', status: finished },
      first: { limit, order: 'oldest' },
    },
    `select id, started_at as "startedAt", status, response_time as "responseTime", run_location as location,
       case jsonb_typeof(body->'timings') when 'object' then body->'timings' end as phases
     from check_results where check_id = $1 and started_at >= $2 and started_at < $3 and result_type = 'FINAL'
       and not test_session and status in ('passed', 'degraded', 'failed', 'errored')
     order by started_at, id limit $4`,
    [checkId, range.from, range.to, limit],
  );
}

export type MissedRow = { location: string; from: Date; to: Date; count: number };

/** Records of missed runs that overlap a range. */
export async function listMissed(
  db: Queryable,
  { checkId, range }: { checkId: string; range: TimeRange },
): Promise<MissedRow[]> {
  return db.query<MissedRow>(
    `select run_location as location, started_at as "from", stopped_at as "to",
       coalesce((body->'details'->>'count')::integer, 1) as count
     from check_results where check_id = $1 and status = 'missed' and started_at < $3 and stopped_at >= $2
       and not test_session order by started_at`,
    [checkId, range.from, range.to],
  );
}

export type AlertMark = { id: string; at: Date; alertType: string; error: string | null };

/** Alerts of a check within a range, without reminders; oldest first, at most `limit`. */
export async function listAlertMarks(
  db: Queryable,
  { checkId, range, limit }: { checkId: string; range: TimeRange; limit: number },
): Promise<AlertMark[]> {
  return db.query<AlertMark>(
    `select id, started_at as at, alert_type as "alertType", error from alerts
     where check_id = $1 and location_id is null and not is_reminder and created_at >= $2
       and started_at >= $2 and started_at < $3
     order by created_at limit $4`,
    [checkId, range.from, range.to, limit],
  );
}

export type IncidentMark = { id: string; name: string; at: Date; until: Date | null };

/** Incidents of status pages that alerts of a check opened and that overlap a range. */
export async function listIncidentMarks(
  db: Queryable,
  {
    accountId,
    checkId,
    range,
    limit,
  }: { accountId: string; checkId: string; range: TimeRange; limit: number },
): Promise<IncidentMark[]> {
  return db.query<IncidentMark>(
    `select i.id, i.name, i.started_at as at, i.resolved_at as until from status_page_incidents i
     where i.account_id = $1 and i.started_at < $4 and (i.resolved_at is null or i.resolved_at >= $3)
       and (i.followed_check_id = $2 or exists (select 1 from alerts a where a.id = i.alert_id and a.check_id = $2))
     order by i.started_at limit $5`,
    [accountId, checkId, range.from, range.to, limit],
  );
}
