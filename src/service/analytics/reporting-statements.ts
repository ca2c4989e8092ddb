import { bucketSql, bucketValueSql } from '../engine/histogram.ts';
import { measuredColumns } from './measured-columns.ts';
import { measuresSql } from './measures.ts';
import type { TimeRange } from './ranges.ts';
import { sqlTypesWhere } from '../checks/types/table.ts';
import type { Queryable } from '../db/database.ts';
import { queryResults } from '../db/query-results.ts';
import { checksWithGroups } from '../checks/storage/effective-checks.ts';
import { hourOfReport } from './report-day-statements.ts';
import { dayMs, hourMs } from '../../durations.ts';

/** Statements of reports: figures of many checks over one range. */

export type ReportedCheck = {
  id: string;
  name: string;
  checkType: string;
  deactivated: boolean;
  tags: string[];
};

/**
 * Lists an account's checks, oldest first; if tags are given, only checks with any of them (their own or their
 * group's).
 */
export async function reportedChecks(
  db: Queryable,
  options: {
    accountId: string;
    tags: readonly string[] | null;
    deactivated: boolean | null;
    /** Null = all. */
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
  /** Runs that describe the target (not errored), and those of them that did not fail. */
  runs: number;
  up: number;
  /** Milliseconds; null = nothing was measured. */
  avg: number | null;
  p95: number | null;
  p99: number | null;
};

/** The sources of figures; parts of a range do not overlap. */
type Sources = {
  /** Whole days; null = none. */
  days: TimeRange | null;
  /** Whole hours before and after the days. */
  hours: TimeRange[];
  /** Raw results for the remaining parts of the range. */
  raw: TimeRange[];
};

const isSome = ({ from, to }: TimeRange) => from < to;
const dayAt = (days: number) => new Date(days * dayMs);

/** `hours`: hours that may have a rollup (rolledUpHours). */
function reportSources(range: TimeRange, hours: TimeRange | null): Sources {
  if (hours === null) return { days: null, hours: [], raw: [range].filter(isSome) };
  const raw = [
    { from: range.from, to: hours.from },
    { from: hours.to, to: range.to },
  ].filter(isSome);
  const days = {
    from: dayAt(Math.ceil(hours.from.getTime() / dayMs)),
    to: dayAt(Math.floor(hours.to.getTime() / dayMs)),
  };
  if (!isSome(days)) return { days: null, hours: [hours], raw };
  const around = [
    { from: hours.from, to: days.from },
    { from: days.to, to: hours.to },
  ];
  return { days, hours: around.filter(isSome), raw };
}

/** Hours of these checks within a range whose rollups are outdated. */
async function dueHoursOf(
  db: Queryable,
  { checkIds, hours }: { checkIds: readonly string[]; hours: TimeRange | null },
): Promise<{ checkId: string; hour: Date }[]> {
  if (hours === null) return [];
  return db.query(
    `select check_id as "checkId", hour from rollups_due where check_id = any($1::uuid[]) and hour >= $2 and hour < $3`,
    [[...checkIds], hours.from, hours.to],
  );
}

/** Computes figures of these checks: days and `hours` from rollups, the rest and outdated hours from raw results. */
export async function reportFigures(
  db: Queryable,
  { checkIds, range, hours }: { checkIds: readonly string[]; range: TimeRange; hours: TimeRange | null },
): Promise<ReportRow[]> {
  const due = await dueHoursOf(db, { checkIds, hours });
  const sources = reportSources(range, hours);
  const params: unknown[] = [];
  const param = (value: unknown) => `$${params.push(value)}`;
  const ids = param([...checkIds]);
  const dueChecks = param(due.map(({ checkId }) => checkId));
  const dueTimes = param(due.map(({ hour }) => hour));
  const statuses = `('passed', 'degraded', 'failed')`;
  const parts: string[] = [];
  // Each span has its own limits, so that PostgreSQL can skip partitions.
  const hourly = (join: string, where: string) =>
    parts.push(`select t.check_id, ${hourOfReport} from ${join}
      where t.metric in ('responseTime', 'retries') and t.status in ${statuses} and ${where}
        and not exists (select 1 from due where due.check_id = t.check_id and due.hour = t.hour)`);
  const within = (column: string, { from, to }: TimeRange) =>
    `${column} >= ${param(from)}::timestamptz and ${column} < ${param(to)}::timestamptz`;
  let stale = '';
  if (sources.days !== null) {
    stale = `, stale as materialized (
      select check_id, date_trunc('day', hour, 'UTC') as day from due where ${within('hour', sources.days)}
      union select check_id, day from report_days_due where check_id = any(${ids}::uuid[]) and ${within('day', sources.days)}
    )`;
    parts.push(`select d.check_id, d.runs, d.up, d.count, d.sum, d.least, d.greatest, d.bucket_keys, d.bucket_counts, d.tail_key
      from report_days d where d.check_id = any(${ids}::uuid[]) and ${within('d.day', sources.days)}
        and not exists (select 1 from stale where stale.check_id = d.check_id and stale.day = d.day)`);
    const ofDay = `t.hour >= stale.day and t.hour < stale.day + interval '1 day'`;
    hourly(
      `stale join check_rollups t on t.check_id = stale.check_id`,
      `${ofDay} and ${within('t.hour', sources.days)}`,
    );
  }
  for (const span of sources.hours)
    hourly('check_rollups t', `t.check_id = any(${ids}::uuid[]) and ${within('t.hour', span)}`);
  // Both metrics are stored in columns, so this works for any type.
  const measures = measuresSql('MULTI_STEP', ['responseTime', 'retries']);
  const raw = (from: string) =>
    parts.push(`select t.check_id, ${hourOfReport} from (
      select r.check_id, m.metric, r.status, 1 as count, m.value as sum, m.value as least, m.value as greatest,
        array[${bucketSql('m.value')}] as bucket_keys, array[1] as bucket_counts
      from ${from} ${measures}
      where r.result_type = 'FINAL' and not r.test_session and r.status in ${statuses} and m.value is not null
        and not (r.check_type in ${sqlTypesWhere(({ runBy }) => runBy === 'nobody')} and m.metric = 'responseTime')
    ) as t`);
  for (const span of sources.raw) {
    raw(
      `(select * from check_results where check_id = any(${ids}::uuid[]) and ${within('started_at', span)}) as r`,
    );
  }
  if (due.length > 0) {
    const all = due.map(({ hour }) => hour.getTime());
    const least = all.reduce((a, b) => Math.min(a, b));
    const greatest = all.reduce((a, b) => Math.max(a, b));
    const dueSpan = { from: new Date(least), to: new Date(greatest + hourMs) };
    raw(`due cross join lateral (
      select * from check_results where check_id = due.check_id and started_at >= due.hour
        and started_at < due.hour + interval '1 hour' and ${within('started_at', dueSpan)}) as r`);
  }
  if (parts.length === 0) return [];
  const read = (share: number) =>
    `least(greatest(${bucketValueSql(`min(key) filter (where upto >= ceil(total * ${share}))`)}, min(stats.least)), max(stats.greatest))`;
  return queryResults<ReportRow>(
    db,
    {
      checkIds,
      spans: [
        ...sources.raw,
        ...due.map(({ hour }) => ({ from: hour, to: new Date(hour.getTime() + hourMs) })),
      ],
      columns: measuredColumns('MULTI_STEP', ['responseTime', 'retries']),
      only: { result_type: 'FINAL' },
    },
    `with due as materialized (
       select check_id, hour from unnest(${dueChecks}::uuid[], ${dueTimes}::timestamptz[]) as item (check_id, hour)
     )${stale}, parts (check_id, runs, up, count, sum, least, greatest, keys, counts, tail) as materialized (
       ${parts.join(' union all ')}
     ), numbered as materialized (
       select item.id, parts.* from parts join unnest(${ids}::uuid[]) with ordinality as item (check_id, id) using (check_id)
     ), sums as materialized (
       select id, min(check_id::text)::uuid as check_id, sum(runs) as runs, sum(up) as up, sum(count) as count,
         sum(sum) / nullif(sum(count), 0) as avg, min(least) as least, max(greatest) as greatest,
         coalesce(sum(count) filter (where tail is not null), 0) as of_days, min(tail) as tail
       from numbered group by 1
     ), stats as materialized (
       -- A tenth of what the days have reaches the lowest tail: where they have most of all, p95 is not below it.
       select sums.*, case when of_days >= count * 0.6 and tail > -32768 then (tail - 1)::smallint end as below from sums
     ), merged as (
       select id, key, sum(n) as n from (
         select id, unnest(keys[skipped + 1:]) as key, unnest(counts[skipped + 1:]) as n from (
           select id, keys, counts, case when below is null then 0 else width_bucket(below, keys) end as skipped
           from numbered join stats using (id) where cardinality(keys) > 0
         ) as rows
       ) as b group by 1, 2
     ), cumulated as (
       select id, key, count - sum(n) over (partition by id) + sum(n) over (partition by id order by key) as upto, count as total
       from merged join stats using (id)
     ), shares as (
       select id, ${read(0.95)} as p95, ${read(0.99)} as p99 from cumulated join stats using (id) group by 1
     )
     select check_id as "checkId", runs, up, avg, p95, p99 from stats left join shares using (id)`,
    params,
  );
}
