import { lanes, type Lane } from '../../protocol/check-types.ts';
import { bucketSql, bucketValueSql } from '../engine/histogram.ts';
import type { Queryable } from '../db/database.ts';
import { joinLastRun, lastRun } from '../db/last-run.ts';

/** Statements on location figures: one sample per minute, and the current values for the metrics exporter. */

/** Samples all locations for the current minute; once, however many replicas call it. */
export async function sampleLocations(db: Queryable, now: Date): Promise<void> {
  await db.query(
    `insert into location_samples (location_id, sampled_at, queue_size, oldest_seconds)
     select l.id, date_trunc('minute', $1::timestamptz, 'UTC'), count(j.id)::integer,
       coalesce(extract(epoch from $1::timestamptz - min(j.not_before)), 0)::float8
     from locations l left join jobs j on j.location_id = l.id and j.state = 'queued' and j.not_before <= $1
       and j.expires_at > $1
     where l.kind = 'private' group by l.id on conflict do nothing`,
    [now],
  );
}

export type LocationSample = { sampledAt: Date; queueSize: number; oldestSeconds: number };

/** Samples of a location between two times, both inclusive; oldest first. */
export async function listLocationSamples(
  db: Queryable,
  { locationId, from, to }: { locationId: string; from: Date; to: Date },
): Promise<LocationSample[]> {
  return db.query<LocationSample>(
    `select sampled_at as "sampledAt", queue_size as "queueSize", oldest_seconds as "oldestSeconds" from location_samples
     where location_id = $1 and sampled_at >= $2 and sampled_at <= $3 order by sampled_at`,
    [locationId, from, to],
  );
}

/** Deletes old samples, at most `limit` rows of each kind. Returns how many rows were deleted. */
export async function deleteOldSamples(
  db: Queryable,
  { samplesBefore, waitsBefore, limit }: { samplesBefore: Date; waitsBefore: Date; limit: number },
): Promise<number> {
  const samples = await db.query(
    `delete from location_samples where (location_id, sampled_at) in (
       select location_id, sampled_at from location_samples where sampled_at < $1 limit $2) returning 1`,
    [samplesBefore, limit],
  );
  const waits = await db.query(
    `delete from queue_waits where ctid = any(array(select ctid from queue_waits where recorded_at < $1 limit $2)) returning 1`,
    [waitsBefore, limit],
  );
  return Math.max(samples.length, waits.length);
}

export type QueueName = 'uptime' | 'main';

/** Adds how long runs waited for an agent, in milliseconds, by location and queue. */
export async function insertQueueWaits(
  db: Queryable,
  waits: readonly { locationId: string; queue: QueueName; milliseconds: number }[],
  now: Date,
): Promise<void> {
  await db.query(
    `insert into queue_waits (location_id, queue, recorded_at, count, sum, bucket_keys, bucket_counts)
     select location_id, queue, $4, sum(n)::integer, sum(total), array_agg(key order by key), array_agg(n::integer order by key)
     from (
       select w.location_id, w.queue, ${bucketSql('w.ms')} as key, count(*) as n, sum(w.ms) as total
       from unnest($1::uuid[], $2::text[], $3::float8[]) as w (location_id, queue, ms)
       join locations l on l.id = w.location_id group by 1, 2, 3
     ) as buckets group by location_id, queue`,
    [
      waits.map(({ locationId }) => locationId),
      waits.map(({ queue }) => queue),
      waits.map(({ milliseconds }) => milliseconds),
      now,
    ],
  );
}

export type RunCounts = { queued: number; inFlight: number };

export type LocationFigures = RunCounts & {
  id: string;
  name: string;
  slugName: string;
  oldestSeconds: number;
  lanes: { readonly [L in Lane]: RunCounts };
};

/** Private locations of an account with their waiting and running jobs. */
export async function locationFigures(
  db: Queryable,
  { accountId, now }: { accountId: string; now: Date },
): Promise<LocationFigures[]> {
  const queued = "j.state = 'queued' and j.not_before <= $2 and j.expires_at > $2";
  const ofLanes = lanes.flatMap((lane) => [
    `'${lane}', jsonb_build_object('queued', count(j.id) filter (where j.lane = '${lane}' and ${queued}),
       'inFlight', count(j.id) filter (where j.lane = '${lane}' and j.state = 'leased'))`,
  ]);
  return db.query<LocationFigures>(
    `select l.id, l.name, l.slug_name as "slugName",
       count(j.id) filter (where ${queued}) as queued, count(j.id) filter (where j.state = 'leased') as "inFlight",
       coalesce(extract(epoch from $2::timestamptz - min(j.not_before) filter (where ${queued})), 0)::float8 as "oldestSeconds",
       jsonb_build_object(${ofLanes.join(', ')}) as lanes
     from locations l left join jobs j on j.location_id = l.id
     where l.account_id = $1 and l.kind = 'private' group by l.id order by l.created_at, l.id`,
    [accountId, now],
  );
}

export type QueueWait = { locationId: string; queue: QueueName; avg: number; p90: number; p99: number };

/** How long runs waited that agents took since `since`, in milliseconds. */
export async function queueWaits(
  db: Queryable,
  { accountId, since }: { accountId: string; since: Date },
): Promise<QueueWait[]> {
  const read = (share: number) => bucketValueSql(`min(key) filter (where upto >= ceil(total * ${share}))`);
  return db.query<QueueWait>(
    `with recent as (
       select w.* from queue_waits w join locations l on l.id = w.location_id
       where l.account_id = $1 and l.kind = 'private' and w.recorded_at > $2
     ), merged as (
       select location_id, queue, b.key, sum(b.n) as n from recent cross join lateral unnest(bucket_keys, bucket_counts) as b (key, n)
       group by 1, 2, 3
     ), cumulated as (
       select *, sum(n) over (partition by location_id, queue order by key) as upto,
         sum(n) over (partition by location_id, queue) as total
       from merged
     ), shares as (select location_id, queue, ${read(0.9)} as p90, ${read(0.99)} as p99 from cumulated group by 1, 2)
     select location_id as "locationId", queue, sum(sum) / sum(count) as avg, max(p90) as p90, max(p99) as p99
     from recent join shares using (location_id, queue) group by 1, 2 order by 1, 2`,
    [accountId, since],
  );
}

export type CheckFigures = {
  id: string;
  name: string;
  checkType: string;
  muted: boolean;
  activated: boolean;
  groupName: string | null;
  /** Null = the check has not run yet. */
  hasFailures: boolean | null;
  hasErrors: boolean | null;
  isDegraded: boolean | null;
  lastStartedAt: Date | null;
  lastRunLocation: string | null;
  sslDaysRemaining: number | null;
  /** Milliseconds, of the last run without an error of the service; null = unknown. */
  responseTime: number | null;
};

/** Current figures of all checks of an account, up to `limit` checks. */
export async function checkFigures(
  db: Queryable,
  { accountId, limit }: { accountId: string; limit: number },
): Promise<CheckFigures[]> {
  return db.query<CheckFigures>(
    `select c.id, c.name, c.check_type as "checkType", c.muted or g.muted is true as muted,
       c.activated and g.activated is not false as activated, g.name as "groupName", s.has_failures as "hasFailures",
       s.has_errors as "hasErrors", s.is_degraded as "isDegraded", ${lastRun.startedAt} as "lastStartedAt",
       ${lastRun.location} as "lastRunLocation", s.ssl_days_remaining as "sslDaysRemaining", r.response_time as "responseTime"
     from checks c left join check_groups g on g.id = c.group_id left join check_statuses s on s.check_id = c.id
     ${joinLastRun}
     left join lateral (
       select response_time from check_results where id = ${lastRun.id} and started_at = ${lastRun.startedAt}
     ) as r on true
     where c.account_id = $1 order by c.created_at, c.id limit $2`,
    [accountId, limit],
  );
}
