import { protocolLimits } from '../../protocol/agent-calls.ts';
import { clockSkewSql } from '../engine/clock-skew.ts';
import type { Queryable } from '../db/database.ts';
import { lockedColumns, type LockedJob } from './jobs.ts';
import { hourMs } from '../../durations.ts';

/** Statements on jobs that no agent claims. */

/** The longest wait before an attempt: the longest backoff of a retryStrategy. */
export const longestBackoffMs = hourMs;

/** A job with its claim window. */
export type ExpiredJob = LockedJob & { notBefore: Date; expiresAt: Date };

/** Queued jobs whose claim window has passed; locked. */
export async function lockExpiredJobs(
  tx: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<ExpiredJob[]> {
  return tx.query<ExpiredJob>(
    `select ${lockedColumns}, not_before as "notBefore", expires_at as "expiresAt" from jobs where state = 'queued' and expires_at <= $1
     order by expires_at limit $2 for update skip locked`,
    [now, limit],
  );
}

/** The types and runtimes that the connected agents of each location support, all its agents taken together. */
export async function connectedAbilities(
  db: Queryable,
  connectedSince: Date,
): Promise<{ locationId: string; checkTypes: string[]; runtimes: string[] }[]> {
  return db.query(
    `select location_id as "locationId",
       array(select distinct unnest(b.check_types) from agents b
         where b.location_id = a.location_id and b.last_seen_at >= $1 order by 1) as "checkTypes",
       array(select distinct unnest(b.runtimes) from agents b
         where b.location_id = a.location_id and b.last_seen_at >= $1 order by 1) as runtimes
     from agents a where last_seen_at >= $1 group by location_id`,
    [connectedSince],
  );
}

/** Jobs queued since `before` or longer at a location whose agents do not support their type or runtime; locked. */
export async function lockUnrunnableJobs(
  tx: Queryable,
  wanted: {
    locationId: string;
    checkTypes: readonly string[];
    runtimes: readonly string[];
    before: Date;
    limit: number;
  },
): Promise<LockedJob[]> {
  return tx.query<LockedJob>(
    `select ${lockedColumns} from jobs
     where location_id = $1 and state = 'queued' and not_before <= $2
       and (check_type <> all($3::text[]) or (runtime_id is not null and runtime_id <> all($4::text[])))
     order by not_before limit $5 for update skip locked`,
    [wanted.locationId, wanted.before, wanted.checkTypes, wanted.runtimes, wanted.limit],
  );
}

/** Ends missed jobs. They are deleted, or kept as abandoned if an agent had them and may still report a result. */
export async function endMissedJobs(tx: Queryable, ids: readonly string[]): Promise<void> {
  await tx.query(
    `with kept as (
       update jobs set state = 'abandoned' where id = any($1::uuid[]) and past_tokens <> '{}' returning id
     )
     delete from jobs where id = any($1::uuid[]) and past_tokens = '{}'`,
    [ids],
  );
}

/** Deletes abandoned jobs whose claim window ended before `before`. */
export async function deleteAbandonedJobs(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<void> {
  await db.query(
    `delete from jobs where id in (
       select id from jobs where state = 'abandoned' and expires_at < $1 order by expires_at limit $2)`,
    [before, limit],
  );
}

/**
 * Brings forward jobs that a wrong clock has placed in the future. Scheduled runs that have not begun are dropped,
 * because the scheduler creates them again when due; other jobs may be claimed now. Leases too far in the future are
 * shortened. Returns the ids of locations with jobs that may be claimed now.
 */
export async function bringJobsForward(db: Queryable, now: Date): Promise<string[]> {
  const isFuture = `state = 'queued' and not_before > $1::timestamptz + ${clockSkewSql}
    + make_interval(secs => case when attempt > 1 or first_attempt_at is not null then ${longestBackoffMs / 1000} else 0 end)`;
  await db.query(
    `delete from jobs where id in (
       select id from jobs where ${isFuture} and run_source = 'SCHEDULER' and attempt = 1 and first_attempt_at is null
         and past_tokens = '{}' order by id for update)`,
    [now],
  );
  const lease = `$1::timestamptz + make_interval(secs => ${protocolLimits.leaseSeconds})`;
  await db.query(
    `update jobs set lease_expires_at = ${lease} where id in (
       select id from jobs where state = 'leased' and lease_expires_at > ${lease} + ${clockSkewSql} order by id for update)`,
    [now],
  );
  const rows = await db.query<{ locationId: string }>(
    `update jobs set not_before = $1, due_at = least(due_at, $1), expires_at = $1::timestamptz + make_interval(secs => claim_window_seconds)
     where id in (select id from jobs where ${isFuture} order by id for update) returning location_id as "locationId"`,
    [now],
  );
  return [...new Set(rows.map(({ locationId }) => locationId))];
}
