import type { CheckType } from '../../protocol/check-types.ts';
import { bucketSql, bucketValueSql } from '../engine/histogram.ts';
import { measuredColumns } from './measured-columns.ts';
import { measuresSql } from './measures.ts';
import type { TimeRange } from './ranges.ts';
import { spansBefore, type Spans } from './spans.ts';
import type { Queryable } from '../db/database.ts';
import { queryResults } from '../db/query-results.ts';

/** Statements on the figures of one check, from rollups or, where they are missing, from raw results. */

export type AnalysedCheck = {
  id: string;
  name: string;
  checkType: CheckType;
  activated: boolean;
  muted: boolean;
  frequency: number;
  tags: string[];
};

/** Reads those of these checks that belong to the account, without their definitions. */
export async function findAnalysedChecks(
  db: Queryable,
  { accountId, ids }: { accountId: string; ids: readonly string[] },
): Promise<AnalysedCheck[]> {
  return db.query<AnalysedCheck>(
    `select id, name, check_type as "checkType", activated, muted, frequency, tags from checks
     where id = any($1::uuid[]) and account_id = $2`,
    [[...ids], accountId],
  );
}

/** Hours of a check within a range whose rollup is outdated. */
export async function dueHours(
  db: Queryable,
  { checkId, from, to }: { checkId: string } & TimeRange,
): Promise<Date[]> {
  const rows = await db.query<{ hour: Date }>(
    'select hour from rollups_due where check_id = $1 and hour >= $2 and hour < $3 order by hour',
    [checkId, from, to],
  );
  return rows.map(({ hour }) => hour);
}

export type GroupBy = 'runLocation' | 'statusCode' | 'pageIndex';

export type Selection = {
  checkId: string;
  checkType: CheckType;
  range: TimeRange;
  /** Names of measures. */
  measures: readonly string[];
  /** passed, degraded, failed */
  statuses: readonly string[];
  groupBy: GroupBy | null;
  limit: number;
  offset: number;
};

/** Figures of one measure, interval and group; percentiles are null if not requested. */
export type FigureRow = {
  bin: Date;
  /** Empty when the figures are not grouped or belong to no group. */
  group: string;
  metric: string;
  count: number;
  up: number;
  sum: number;
  squares: number;
  least: number;
  greatest: number;
  p50: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
};

const groupColumn = (groupBy: GroupBy | null, table: string) =>
  groupBy === null ? `''` : groupBy === 'runLocation' ? `${table}.run_location` : `${table}.group_key`;

const quantiles = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99 } as const;

type Figures = Selection & {
  spans: Spans;
  origin: Date;
  intervalSeconds: number | null;
  withPercentiles: boolean;
};

/** If some intervals contain no run, so many times as many are looked at the next time. */
const growth = 4;

/**
 * Computes a page of intervals, oldest first: `limit` intervals that contain a run. Intervals are `intervalSeconds`
 * long and counted from `origin`; null = the whole range is one interval. Of a long range, only the beginning is read if that
 * has enough intervals.
 */
export async function figures(db: Queryable, selection: Figures): Promise<FigureRow[]> {
  const { range, spans, origin, intervalSeconds, limit, offset } = selection;
  if (intervalSeconds === null) return figuresOfSpans(db, selection);
  const intervalMs = intervalSeconds * 1000;
  const before = Math.floor((range.from.getTime() - origin.getTime()) / intervalMs);
  for (let count = offset + limit + 1; ; count *= growth) {
    const end = new Date(Math.min(origin.getTime() + (before + count) * intervalMs, range.to.getTime()));
    const rows = await figuresOfSpans(db, { ...selection, spans: spansBefore(spans, end) });
    const bins = new Set(rows.map(({ bin }) => bin.getTime()));
    if (bins.size === limit || end.getTime() === range.to.getTime()) return rows;
  }
}

async function figuresOfSpans(db: Queryable, selection: Figures): Promise<FigureRow[]> {
  const { checkId, checkType, measures, statuses, groupBy, spans, origin, intervalSeconds, withPercentiles } =
    selection;
  const params: unknown[] = [];
  const param = (value: unknown) => `$${params.push(value)}`;
  const check = param(checkId);
  const allowed = param([...statuses]);
  const start = param(origin);
  const interval = intervalSeconds === null ? null : `make_interval(secs => ${param(intervalSeconds)})`;
  const bin = (time: string) =>
    interval === null ? `${start}::timestamptz` : `date_bin(${interval}, ${time}, ${start}::timestamptz)`;
  const sources: string[] = [];
  if (spans.rollups !== null) {
    const { from, to, except } = spans.rollups;
    const without = except.length === 0 ? '' : `and not t.hour = any(${param(except)}::timestamptz[])`;
    sources.push(`select ${bin('t.hour')}, ${groupColumn(groupBy, 't')}, t.metric, t.status, t.count, t.sum,
        t.squares, t.least, t.greatest${withPercentiles ? ', t.bucket_keys, t.bucket_counts' : ''}
      from check_rollups t
      where t.check_id = ${check} and t.metric = any(${param([...measures])}::text[]) and t.hour >= ${param(from)} and t.hour < ${param(to)}
        and t.status = any(${allowed}::text[]) ${without}`);
  }
  if (spans.raw.length > 0) {
    const group = groupBy === 'runLocation' ? 'r.run_location' : groupColumn(groupBy, 'm');
    sources.push(`select ${bin('r.started_at')}, ${group}, m.metric, r.status, 1, m.value, m.value * m.value, m.value,
        m.value${withPercentiles ? `, array[${bucketSql('m.value')}], array[1]` : ''}
      from unnest(${param(spans.raw.map(({ from }) => from))}::timestamptz[], ${param(spans.raw.map(({ to }) => to))}::timestamptz[])
        as span (since, until)
      cross join lateral (
        select * from check_results where check_id = ${check} and started_at >= span.since and started_at < span.until
          and result_type = 'FINAL' and not test_session and status = any(${allowed}::text[])
      ) as r ${measuresSql(checkType, measures)}
      where m.value is not null`);
  }
  if (sources.length === 0) return [];
  const wanted = {
    checkIds: [checkId],
    spans: spans.raw,
    columns: measuredColumns(checkType, measures),
    only: { result_type: 'FINAL', status: statuses },
  };
  const percentiles = Object.entries(quantiles);
  const read = percentiles.map(
    ([name, share]) =>
      `least(greatest(${bucketValueSql(`min(key) filter (where upto >= ceil(total * ${share}))`)}, min(stats.least)), max(stats.greatest)) as ${name}`,
  );
  const columns = 'bin, grp, metric, status, count, sum, squares, least, greatest';
  const sums = `sum(count) as count, coalesce(sum(count) filter (where status in ('passed', 'degraded')), 0) as up,
    sum(sum) as sum, sum(squares) as squares, min(least) as least, max(greatest) as greatest`;
  const limits = `limit ${param(selection.limit)} offset ${param(selection.offset)}`;
  const all = sources.join(' union all ');
  const names = percentiles.map(([name]) => name).join(', ');
  const figure = 'bin, grp as "group", metric, count, up, sum, squares, least, greatest';
  if (!withPercentiles) {
    const none = percentiles.map(([name]) => `null as ${name}`).join(', ');
    return queryResults<FigureRow>(
      db,
      wanted,
      `with stats as materialized (
         select bin, grp, metric, ${sums} from (${all}) as parts (${columns}) group by bin, grp, metric
       )
       select ${figure}, ${none} from stats where bin in (select distinct bin from stats order by bin ${limits})
       order by bin, grp, metric`,
      params,
    );
  }
  // Groups are numbered, so that the buckets can be sorted and summed by integers only.
  return queryResults<FigureRow>(
    db,
    wanted,
    `with parts (${columns}, keys, counts) as materialized (${all}),
     page as materialized (select distinct bin from parts order by bin ${limits}),
     numbered as materialized (
       select dense_rank() over (order by bin, grp, metric) as id, parts.* from parts join page using (bin)
     ), stats as materialized (
       select id, min(bin) as bin, min(grp) as grp, min(metric) as metric, ${sums} from numbered group by 1
     ), merged as (
       select id, key, sum(n) as n from (select id, unnest(keys) as key, unnest(counts) as n from numbered) as b group by 1, 2
     ), cumulated as (
       select id, key, sum(n) over (partition by id order by key) as upto, sum(n) over (partition by id) as total from merged
     ), shares as (select id, ${read.join(', ')} from cumulated join stats using (id) group by 1)
     select ${figure}, ${names} from stats join shares using (id) order by id`,
    params,
  );
}

export type RawRow = {
  id: string;
  startedAt: Date;
  group: string;
  /** Status code or index of the page. */
  key: string;
  metric: string;
  value: number;
  /** Instead of the number; null = the number. */
  shown: string | null;
};

/** Reads values of a page of runs, oldest first: `limit` runs, with or without measured values. */
export async function rawValues(db: Queryable, selection: Selection): Promise<RawRow[]> {
  const { checkId, checkType, range, measures, statuses, groupBy, limit, offset } = selection;
  const group = groupBy === 'runLocation' ? 'r.run_location' : groupColumn(groupBy, 'm');
  return queryResults<RawRow>(
    db,
    {
      checkIds: [checkId],
      spans: [range],
      columns: ['id', ...measuredColumns(checkType, measures)],
      only: { result_type: 'FINAL', status: statuses },
      first: { limit: limit + offset, order: 'oldest' },
    },
    `select r.id, r.started_at as "startedAt", ${group} as "group", m.group_key as key, m.metric, m.value, m.shown
     from (
       select * from check_results where check_id = $1 and started_at >= $2 and started_at < $3
         and result_type = 'FINAL' and not test_session and status = any($4::text[])
       order by started_at, id limit $5 offset $6
     ) as r ${measuresSql(checkType, measures)}
     where m.value is not null order by r.started_at, r.id, m.group_key`,
    [checkId, range.from, range.to, [...statuses], limit, offset],
  );
}
