import { bucketSql, bucketValueSql, largestValue } from '../engine/histogram.ts';
import { sqlTypesWhere } from '../checks/types/table.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on the last hours of many checks: from rollups, and from raw results where these are not ready. */

export type HoursOf = {
  checkIds: readonly string[];
  /** Those of them whose rollups are read; of the others, only raw results. */
  fromRollups: readonly string[];
  /** A full hour. */
  from: Date;
  /** Rollups may exist for the hours before this one. */
  rolledUpTo: Date;
  to: Date;
};

const paramsOf = ({ checkIds, fromRollups, from, rolledUpTo, to }: HoursOf): unknown[] => [
  [...checkIds],
  from,
  rolledUpTo,
  to,
  [...fromRollups],
];

/** Hours whose rollups are outdated, and the rows of `check_rollups t` that count. Over the parameters of HoursOf. */
const due = `due as materialized (
  select check_id, hour from rollups_due where check_id = any($1::uuid[]) and hour >= $2 and hour < $3)`;
const rolledUp = `t.check_id = any($5::uuid[]) and t.hour >= $2 and t.hour < $3
  and not exists (select 1 from due where due.check_id = t.check_id and due.hour = t.hour)`;
/** Final results of the hours without a rollup. */
const raw = `(select id as check_id, $3::timestamptz as since, $4::timestamptz as until from unnest($1::uuid[]) as i (id)
    union all select check_id, hour, hour + interval '1 hour' from due) as span
  cross join lateral (
    select status, started_at, response_time, check_type from check_results
    where check_id = span.check_id and started_at >= span.since and started_at < span.until
      and result_type = 'FINAL' and not test_session and status in ('passed', 'degraded', 'failed', 'errored')
    offset 0
  ) as r`;

/** Runs of an hour by status: hours since `from`, then passed, degraded, failed, errored. */
export type HourCounts = [hour: number, passed: number, degraded: number, failed: number, errored: number];

/** Runs of each check by hour; hours without runs are absent. */
export async function countHours(db: Queryable, hours: HoursOf): Promise<Map<string, HourCounts[]>> {
  const count = (status: string) => `coalesce(sum(n) filter (where status = '${status}'), 0)`;
  const [row] = await db.query<{ checks: { [checkId: string]: HourCounts[] } | null }>(
    `with ${due}, counted as (
       select t.check_id, t.hour, t.status, t.count as n from check_rollups t where t.metric = 'retries' and ${rolledUp}
       union all
       select span.check_id, date_trunc('hour', r.started_at, 'UTC'), r.status, 1 from ${raw}
     ), hours as (
       select check_id, json_build_array((extract(epoch from hour - $2) / 3600)::integer, ${count('passed')},
         ${count('degraded')}, ${count('failed')}, ${count('errored')}) as hour
       from counted group by check_id, counted.hour
     )
     select json_object_agg(check_id, hours) as checks from (
       select check_id, json_agg(hour) as hours from hours group by 1) as item`,
    paramsOf(hours),
  );
  return new Map(Object.entries(row?.checks ?? {}));
}

/** Figures that were made with rollups. `runs`: of 24 hours by status, oldest first (see day-figures.ts); null = not known. */
export type Figures = { hour: string; p95: number | null; runs: number[] | null };

/** The figures of each check; checks without a rollup are absent. */
export async function readFigures(db: Queryable, checkIds: readonly string[]): Promise<Map<string, Figures>> {
  const [row] = await db.query<{ checks: { [checkId: string]: Figures } | null }>(
    `select json_object_agg(check_id, json_build_object('hour', hour, 'p95', p95, 'runs', runs)) as checks
     from check_figures where check_id = any($1::uuid[])`,
    [[...checkIds]],
  );
  return new Map(Object.entries(row?.checks ?? {}));
}

const unmeasured = sqlTypesWhere(({ runBy }) => runBy === 'nobody');

/** The 95th percentile of each check's response times, in milliseconds. */
export async function slowest(db: Queryable, hours: HoursOf): Promise<Map<string, number>> {
  const [row] = await db.query<{ checks: { [checkId: string]: number } | null }>(
    `with ${due}, parts as (
       select t.check_id, b.key, b.n from check_rollups t cross join lateral unnest(t.bucket_keys, t.bucket_counts) as b (key, n)
       where t.metric = 'responseTime' and t.status <> 'errored' and ${rolledUp}
       union all
       select span.check_id, ${bucketSql('r.response_time')}, 1 from ${raw}
       where r.status <> 'errored' and r.response_time between 0 and ${largestValue} and r.check_type not in ${unmeasured}
     ), merged as (
       select check_id, key, sum(n) as n from parts group by 1, 2
     ), cumulated as (
       select check_id, key, sum(n) over (partition by check_id order by key) as upto,
         sum(n) over (partition by check_id) as total from merged
     )
     select json_object_agg(check_id, p95) as checks from (
       select check_id, ${bucketValueSql('min(key) filter (where upto >= ceil(total * 0.95))')} as p95
       from cumulated group by 1) as item`,
    paramsOf(hours),
  );
  return new Map(Object.entries(row?.checks ?? {}));
}

/** Consecutive missed runs, which share one record. */
export type MissedSpan = { checkId: string; from: Date; to: Date; count: number };

/** Records of missed runs that overlap the time from `from` on and began after `since`, and all that are still open. */
export async function missedSpans(
  db: Queryable,
  { checkIds, since, from }: { checkIds: readonly string[]; since: Date; from: Date },
): Promise<MissedSpan[]> {
  return db.query<MissedSpan>(
    `select r.check_id as "checkId", r.started_at as "from", r.stopped_at as "to",
       coalesce((r.body->'details'->>'count')::integer, 1) as count
     from check_results r where r.status = 'missed' and r.check_id = any($1::uuid[]) and r.started_at >= $2
       and r.stopped_at >= $3 and not r.test_session
     union all
     select m.check_id, m.from_due_at, m.to_due_at, m.count from missed_runs m
     where m.check_id = any($1::uuid[]) and m.from_due_at < $2 and m.to_due_at >= $3`,
    [[...checkIds], since, from],
  );
}
