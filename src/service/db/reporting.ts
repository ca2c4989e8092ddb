import { bucketSql, bucketValueSql } from '../analytics/histogram.ts';
import { measuresSql } from '../analytics/measures.ts';
import type { TimeRange } from '../analytics/ranges.ts';
import type { Queryable } from './database.ts';
import { checksWithGroups } from './effective-checks.ts';

/** Statements of reports: figures of many checks over one range. */

export type ReportedCheck = {
  id: string;
  name: string;
  checkType: string;
  deactivated: boolean;
  tags: string[];
};

/** Checks of an account, oldest first; with any of these tags (its own or its group's), where there are any. */
export async function reportedChecks(
  db: Queryable,
  options: {
    accountId: string;
    tags: readonly string[] | null;
    deactivated: boolean | null;
    /** null = all. */
    limit: number | null;
    offset: number;
  },
): Promise<ReportedCheck[]> {
  return db.query<ReportedCheck>(
    `select c.id, c.name, c.check_type as "checkType", not (c.activated and g.activated is not false) as deactivated, c.tags
     from ${checksWithGroups}
     where c.account_id = $1 and ($2::text[] is null or c.tags && $2::text[] or g.tags && $2::text[])
       and ($3::boolean is null or not (c.activated and g.activated is not false) = $3)
     order by c.created_at, c.id limit $4 offset $5`,
    [
      options.accountId,
      options.tags === null ? null : [...options.tags],
      options.deactivated,
      options.limit,
      options.offset,
    ],
  );
}

export type ReportRow = {
  checkId: string;
  /** Runs that say something about the target, and those of them that did not fail. */
  runs: number;
  up: number;
  /** Milliseconds; null = nothing was measured. */
  avg: number | null;
  p95: number | null;
  p99: number | null;
};

/** Figures of these checks: `hours` from rollups, what is around them and what rollups lack from raw results. */
export async function reportFigures(
  db: Queryable,
  { checkIds, range, hours }: { checkIds: readonly string[]; range: TimeRange; hours: TimeRange | null },
): Promise<ReportRow[]> {
  const statuses = `('passed', 'degraded', 'failed')`;
  const counts = `r.result_type = 'FINAL' and not r.test_session and r.status in ${statuses}
    and m.value is not null and not (r.check_type = 'HEARTBEAT' and m.metric = 'responseTime')`;
  // Both metrics stand in columns, so that any type will do.
  const measures = measuresSql('MULTI_STEP', ['responseTime', 'retries']);
  const ofRaw = `r.check_id, m.metric, r.status, 1 as count, m.value as sum, m.value as least, m.value as greatest,
    array[${bucketSql('m.value')}] as keys, array[1] as counts`;
  const around =
    hours === null
      ? [range]
      : [
          { from: range.from, to: hours.from },
          { from: hours.to, to: range.to },
        ].filter(({ from, to }) => from < to);
  const whole = hours ?? { from: range.from, to: range.from };
  const read = (share: number) =>
    `least(greatest(${bucketValueSql(`min(key) filter (where upto >= ceil(total * ${share}))`)}, min(stats.least)), max(stats.greatest))`;
  return db.query<ReportRow>(
    `with parts as materialized (
       select t.check_id, t.metric, t.status, t.count, t.sum, t.least, t.greatest, t.bucket_keys as keys, t.bucket_counts as counts
       from unnest($1::uuid[]) as item (id) join check_rollups t on t.check_id = item.id
       where t.metric in ('responseTime', 'retries') and t.hour >= $2 and t.hour < $3 and t.status in ${statuses}
         and not exists (select 1 from rollups_due d where d.check_id = t.check_id and d.hour = t.hour)
       union all
       select ${ofRaw} from rollups_due d
       cross join lateral (
         select * from check_results where check_id = d.check_id and started_at >= d.hour and started_at < d.hour + interval '1 hour'
       ) as r ${measures}
       where d.check_id = any($1::uuid[]) and d.hour >= $2 and d.hour < $3 and ${counts}
       union all
       select ${ofRaw} from unnest($4::timestamptz[], $5::timestamptz[]) as span (since, until)
       cross join unnest($1::uuid[]) as item (id)
       cross join lateral (
         select * from check_results where check_id = item.id and started_at >= span.since and started_at < span.until
       ) as r ${measures}
       where ${counts}
     ), stats as materialized (
       select item.id, min(parts.check_id::text)::uuid as check_id, coalesce(sum(count) filter (where metric = 'retries'), 0) as runs,
         coalesce(sum(count) filter (where metric = 'retries' and status <> 'failed'), 0) as up,
         sum(sum) filter (where metric = 'responseTime') / sum(count) filter (where metric = 'responseTime') as avg,
         min(least) filter (where metric = 'responseTime') as least,
         max(greatest) filter (where metric = 'responseTime') as greatest
       from parts join unnest($1::uuid[]) with ordinality as item (check_id, id) using (check_id) group by 1
     ), merged as (
       select id, key, sum(n) as n from (
         select stats.id, unnest(keys) as key, unnest(counts) as n from parts join stats using (check_id)
         where metric = 'responseTime'
       ) as b group by 1, 2
     ), cumulated as (
       select id, key, sum(n) over (partition by id order by key) as upto, sum(n) over (partition by id) as total from merged
     ), shares as (
       select id, ${read(0.95)} as p95, ${read(0.99)} as p99 from cumulated join stats using (id) group by 1
     )
     select check_id as "checkId", runs, up, avg, p95, p99 from stats left join shares using (id)`,
    [[...checkIds], whole.from, whole.to, around.map(({ from }) => from), around.map(({ to }) => to)],
  );
}
