import type { Queryable } from '../db/database.ts';
import { checksWithGroups, effectiveSlugs } from '../checks/storage/effective-checks.ts';
import { lockedColumns, type LockedJob } from './jobs.ts';

/** Renews leases whose token is still current. Returns those, and whether each run is to be cancelled. */
export async function renewLeases(
  db: Queryable,
  renewal: {
    locationId: string;
    leases: readonly { jobId: string; leaseToken: string; stage: string | null }[];
    leaseExpiresAt: Date;
  },
): Promise<{ id: string; cancelRequested: boolean }[]> {
  const { leases } = renewal;
  return db.query(
    // Locked in the order of their ids, as everywhere, so that no two transactions deadlock.
    `with lease as (
       select * from unnest($1::uuid[], $2::uuid[], $3::text[]) as lease (id, token, stage)
     ), locked as (
       select jobs.id, lease.stage from jobs join lease on jobs.id = lease.id and jobs.lease_token = lease.token
       where jobs.location_id = $4 and jobs.state = 'leased' order by jobs.id for update of jobs
     )
     update jobs set lease_expires_at = $5, stage = coalesce(locked.stage, jobs.stage)
     from locked where jobs.id = locked.id
     returning jobs.id, jobs.cancel_requested as "cancelRequested"`,
    [
      leases.map(({ jobId }) => jobId),
      leases.map(({ leaseToken }) => leaseToken),
      leases.map(({ stage }) => stage),
      renewal.locationId,
      renewal.leaseExpiresAt,
    ],
  );
}

/** Those of a location's leases that were current when another lease's result finished their run. */
export async function findOvertakenLeases(
  db: Queryable,
  { locationId, leases }: { locationId: string; leases: readonly { jobId: string; leaseToken: string }[] },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select job_id as id from finished_jobs
     join unnest($1::uuid[], $2::uuid[]) as lease (id, token)
       on finished_jobs.job_id = lease.id and finished_jobs.lease_token = lease.token
     where finished_jobs.location_id = $3`,
    [leases.map(({ jobId }) => jobId), leases.map(({ leaseToken }) => leaseToken), locationId],
  );
  return rows.map(({ id }) => id);
}

export type ReleasableJob = LockedJob & {
  runParallel: boolean;
  cancelRequested: boolean;
  claimWindowSeconds: number;
  /** The check's slugs. */
  slugs: string[];
};

/** A leased job, locked, if the token is its current one. */
export async function lockLease(
  tx: Queryable,
  { jobId, leaseToken, locationId }: { jobId: string; leaseToken: string; locationId: string },
): Promise<ReleasableJob | undefined> {
  const rows = await tx.query<ReleasableJob>(
    `select ${lockedColumns}, run_parallel as "runParallel", cancel_requested as "cancelRequested",
       claim_window_seconds as "claimWindowSeconds",
       (select ${effectiveSlugs} from ${checksWithGroups} where c.id = jobs.check_id) as slugs
     from jobs where id = $1 and lease_token = $2 and location_id = $3 and state = 'leased' for update`,
    [jobId, leaseToken, locationId],
  );
  return rows[0];
}

/** Puts a leased job back into a queue: its location's or another one's. */
export async function requeueJob(
  tx: Queryable,
  job: {
    id: string;
    locationId: string;
    runLocation: string;
    attempt: number;
    firstAttemptAt: Date | null;
    notBefore: Date;
    expiresAt: Date;
  },
): Promise<void> {
  await tx.query(
    `update jobs set state = 'queued', past_tokens = past_tokens || lease_token, lease_token = null,
       lease_expires_at = null, agent_id = null, stage = null, deliveries = 0, location_id = $2, run_location = $3,
       attempt = $4, first_attempt_at = $5, not_before = $6, expires_at = $7
     where id = $1`,
    [job.id, job.locationId, job.runLocation, job.attempt, job.firstAttemptAt, job.notBefore, job.expiresAt],
  );
}

/** The check's other locations with an agent that runs the check and was heard of since `connectedSince`. */
export async function connectedLocations(
  tx: Queryable,
  { job, connectedSince }: { job: ReleasableJob; connectedSince: Date },
): Promise<{ id: string; slug: string }[]> {
  return tx.query(
    `select l.id, l.slug_name as slug from locations l
     where l.account_id = $1 and l.slug_name = any($2::text[]) and l.id <> $3
       and exists (select 1 from agents a where a.location_id = l.id and a.last_seen_at >= $4
         and $5 = any(a.check_types) and ($6::text is null or $6 = any(a.runtimes)))
     order by l.slug_name`,
    [job.accountId, job.slugs, job.locationId, connectedSince, job.checkType, job.runtimeId],
  );
}

/** How a job whose lease has expired is counted. `lost`: its agent was running it, as its last renewal said. */
const isRunning = `stage is not null and stage not in ('queued', 'waiting')`;
/** No agent may have it again: it was lost too often, was delivered too often, or is to be cancelled. */
const isSpent = `(cancel_requested or deliveries >= $3 or losses + (case when ${isRunning} then 1 else 0 end) >= $4)`;

/** How often a job is delivered again, and how often it may be lost by agents that were running it. */
export type DeliveryLimits = { deliveries: number; losses: number };

/**
 * Queues jobs again whose lease has expired, within the limits. Returns the ids of their locations. Only a job that its
 * agent was running is charged with the loss of the agent.
 */
export async function redeliverExpired(
  db: Queryable,
  { now, limit, max }: { now: Date; limit: number; max: DeliveryLimits },
): Promise<string[]> {
  const rows = await db.query<{ locationId: string }>(
    `with expired as (
       select id from jobs where state = 'leased' and lease_expires_at <= $1 and not ${isSpent}
       order by lease_expires_at limit $2 for update skip locked
     )
     update jobs set state = 'queued', past_tokens = past_tokens || lease_token, lease_token = null,
       losses = losses + (case when ${isRunning} then 1 else 0 end), lease_expires_at = null, agent_id = null,
       stage = null, not_before = $1, expires_at = $1 + make_interval(secs => claim_window_seconds)
     from expired where jobs.id = expired.id
     returning jobs.location_id as "locationId"`,
    [now, limit, max.deliveries, max.losses],
  );
  return [...new Set(rows.map(({ locationId }) => locationId))];
}

/** Jobs whose lease has expired and that no agent may have again; locked. `parked`: agents were lost while running it. */
export async function lockSpentLeases(
  tx: Queryable,
  { now, limit, max }: { now: Date; limit: number; max: DeliveryLimits },
): Promise<(LockedJob & { cancelRequested: boolean; isParked: boolean })[]> {
  return tx.query(
    `select ${lockedColumns}, cancel_requested as "cancelRequested",
       losses + (case when ${isRunning} then 1 else 0 end) >= $4 as "isParked" from jobs
     where state = 'leased' and lease_expires_at <= $1 and ${isSpent}
     order by lease_expires_at limit $2 for update skip locked`,
    [now, limit, max.deliveries, max.losses],
  );
}

/**
 * Requests the cancellation of runs; agents receive it with their next renewal. Returns the jobs that no agent has;
 * locked.
 */
export async function requestCancel(tx: Queryable, jobIds: readonly string[]): Promise<LockedJob[]> {
  await tx.query(
    `update jobs set cancel_requested = true where id in (
       select id from jobs where id = any($1::uuid[]) order by id for update)`,
    [jobIds],
  );
  return tx.query<LockedJob>(
    `select ${lockedColumns} from jobs where id = any($1::uuid[]) and state in ('queued', 'blocked')
     order by id for update`,
    [jobIds],
  );
}
