import type { Queryable } from '../db/database.ts';
import { dayMs } from '../../durations.ts';

/**
 * Statements on daily figures for reports. They are computed from the hours in `check_rollups`, and again when an hour
 * changes.
 */

/** Marks the day of this hour as outdated, in the transaction that computes the hour. */
export async function noteReportDaysDue(
  tx: Queryable,
  { checkIds, hour }: { checkIds: readonly string[]; hour: Date },
): Promise<void> {
  await tx.query(
    // Locks an existing mark, so that no replica computes the day before this hour is visible.
    `insert into report_days_due as d (day, check_id)
     select date_trunc('day', $2::timestamptz, 'UTC'), id from unnest($1::uuid[]) as item (id) order by id
     on conflict (day, check_id) do update set day = excluded.day`,
    [[...checkIds], hour],
  );
}

/** Returns the oldest outdated day up to `before`; null = none. */
export async function oldestReportDayDue(db: Queryable, before: Date): Promise<Date | null> {
  const rows = await db.query<{ day: Date }>(
    'select day from report_days_due where day <= $1 order by day limit 1',
    [before],
  );
  return rows[0]?.day ?? null;
}

/**
 * Computes the figures of an outdated day for up to `limit` checks; skips those that another replica has locked.
 * Returns how many.
 */
export async function makeReportDays(
  tx: Queryable,
  { day, limit }: { day: Date; limit: number },
): Promise<number> {
  const taken = await tx.query<{ id: string }>(
    `with picked as (
       select check_id from report_days_due where day = $1 order by check_id limit $2 for update skip locked
     )
     delete from report_days_due d using picked where d.day = $1 and d.check_id = picked.check_id returning d.check_id as id`,
    [day, limit],
  );
  if (taken.length === 0) return 0;
  await tx.query(
    `with hours as materialized (
       select t.check_id, ${hourOfReport} from check_rollups t
       where t.check_id = any($1::uuid[]) and t.metric in ('responseTime', 'retries') and t.hour >= $2 and t.hour < $3
         and t.status in ('passed', 'degraded', 'failed')
     ), totals as (
       select check_id, sum(runs) as runs, sum(up) as up, sum(count) as count, sum(sum) as sum, min(least) as least,
         max(greatest) as greatest
       from hours group by 1
     ), merged as (
       select check_id, key, sum(n)::integer as n from (
         select check_id, unnest(keys) as key, unnest(counts) as n from hours
       ) as b group by 1, 2
     ), cumulated as (
       select check_id, key, n, sum(n) over (partition by check_id order by key desc) as reach,
         sum(n) over (partition by check_id) as whole from merged
     ), buckets as (
       select check_id, array_agg(key order by key) as keys, array_agg(n order by key) as counts,
         max(key) filter (where reach >= whole * 0.1) as tail
       from cumulated group by 1
     )
     insert into report_days (check_id, day, runs, up, count, sum, least, greatest, bucket_keys,
       bucket_counts, tail_key)
     select check_id, $2::timestamptz, runs, up, count, sum, least, greatest, coalesce(keys, '{}'), coalesce(counts, '{}'), tail
     from totals left join buckets using (check_id)
     on conflict (check_id, day) do update set runs = excluded.runs, up = excluded.up, count = excluded.count,
       sum = excluded.sum, least = excluded.least, greatest = excluded.greatest, bucket_keys = excluded.bucket_keys,
       bucket_counts = excluded.bucket_counts, tail_key = excluded.tail_key`,
    [taken.map(({ id }) => id), day, new Date(day.getTime() + dayMs)],
  );
  return taken.length;
}

const times = (column: string, otherwise: string) =>
  `case t.metric when 'responseTime' then t.${column} else ${otherwise} end`;

/**
 * Columns of report_days from a row of `check_rollups t` with the metric responseTime or retries, ready to be summed.
 */
export const hourOfReport = `case t.metric when 'retries' then t.count else 0 end as runs,
  case when t.metric = 'retries' and t.status <> 'failed' then t.count else 0 end as up,
  ${times('count', '0')} as count, ${times('sum', '0')} as sum, ${times('least', 'null')} as least,
  ${times('greatest', 'null')} as greatest, ${times('bucket_keys', "'{}'::smallint[]")} as keys,
  ${times('bucket_counts', "'{}'::integer[]")} as counts, null::smallint as tail`;
