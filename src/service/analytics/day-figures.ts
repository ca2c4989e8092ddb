import { hourMs } from '../../durations.ts';
import type { Queryable } from '../db/database.ts';
import { bucketValueSql } from '../engine/histogram.ts';

/** Figures of the last 24 full hours of each check, which lists of all checks show and are sorted by. */

const hours = 24;

/** The statuses of `check_figures.runs`, in its order within an hour. */
export const countedStatuses = ['passed', 'degraded', 'failed', 'errored'] as const;
const slots = hours * countedStatuses.length;

/** Computes the figures of these checks up to an hour whose rollup has been made. Older ones never replace newer ones. */
export async function refreshDayFigures(
  tx: Queryable,
  { checkIds, hour }: { checkIds: readonly string[]; hour: Date },
): Promise<void> {
  await tx.query(
    `with upto as (
       select c.id as check_id, greatest(f.hour, $2::timestamptz) as hour
       from checks c left join check_figures f on f.check_id = c.id where c.id = any($1::uuid[])
     ), parts as (
       select u.check_id, u.hour as last, t.hour, t.metric, t.status, t.count, t.bucket_keys, t.bucket_counts from upto u
       join check_rollups t on t.check_id = u.check_id and t.hour <= u.hour and t.hour > u.hour - make_interval(hours => ${hours})
       where t.hour > $3 and (t.metric = 'retries' or (t.metric = 'responseTime' and t.status <> 'errored'))
     ), runs as (
       select check_id, floor(10000.0 * coalesce(sum(count) filter (where status <> 'failed'), 0) / sum(count)) / 100 as availability
       from parts where metric = 'retries' and status <> 'errored' group by 1
     ), counted as (
       select check_id, sum(count) as n, ${countedStatuses.length} * (${hours - 1} - (extract(epoch from last - hour) / 3600)::integer)
         + array_position($4::text[], status) - 1 as slot
       from parts where metric = 'retries' group by check_id, last, hour, status
     ), listed as (
       select u.check_id, array_agg(coalesce(counted.n, 0)::integer order by s.slot) as runs
       from upto u cross join generate_series(0, ${slots - 1}) as s (slot)
       left join counted on counted.check_id = u.check_id and counted.slot = s.slot group by 1
     ), buckets as (
       select check_id, b.key, sum(b.n) as n from parts cross join lateral unnest(bucket_keys, bucket_counts) as b (key, n)
       where metric = 'responseTime' group by 1, 2
     ), cumulated as (
       select check_id, key, sum(n) over (partition by check_id order by key) as upto, sum(n) over (partition by check_id) as total
       from buckets
     ), times as (
       select check_id, ${bucketValueSql('min(key) filter (where upto >= ceil(total * 0.95))')} as p95 from cumulated group by 1
     )
     insert into check_figures (check_id, hour, availability, p95, runs)
     select u.check_id, u.hour, runs.availability, times.p95, listed.runs
     from upto u join listed using (check_id) left join runs using (check_id) left join times using (check_id) order by u.check_id
     on conflict (check_id) do update set hour = excluded.hour, availability = excluded.availability, p95 = excluded.p95,
       runs = excluded.runs`,
    [[...checkIds], hour, new Date(hour.getTime() - hours * hourMs), [...countedStatuses]],
  );
}
