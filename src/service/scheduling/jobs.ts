import type { Queryable } from '../db/database.ts';

/** Statements on the job queue: creating runs, ending them, and agents' leases. */

/** Channel of wake-up hints. The payload is a location's id. */
export const jobsChannel = 'jobs';

export type NewJob = {
  id: string;
  accountId: string;
  checkId: string;
  runId: string;
  sequenceId: string;
  locationId: string;
  runLocation: string;
  runSource: string;
  runParallel: boolean;
  checkType: string;
  runtimeId: string | null;
  lane: string;
  dueAt: Date;
  expiresAt: Date;
  claimWindowSeconds: number;
  /** The session that requested the run; absent = a scheduled run. */
  session?: { id: string; isTest: boolean; refreshCache: boolean };
  /** Blocked until the run of its group releases it. */
  groupRun?: { id: string; position: number };
};

/**
 * Queues jobs, except those of a run that another replica has queued. Returns the ids of the locations that got some.
 */
export async function insertJobs(tx: Queryable, jobs: readonly NewJob[]): Promise<string[]> {
  const rows = await tx.query<{ locationId: string }>(
    `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, run_source,
       run_parallel, check_type, runtime_id, lane, due_at, not_before, expires_at, claim_window_seconds, session_id,
       test_session, refresh_cache, state, group_run_id, group_position)
     select j.id, j."accountId", j."checkId", j."runId", j."sequenceId", j."locationId", j."runLocation",
       j."runSource", j."runParallel", j."checkType", j."runtimeId", j.lane, j."dueAt", j."dueAt", j."expiresAt",
       j."claimWindowSeconds", (j.session->>'id')::uuid, coalesce((j.session->>'isTest')::boolean, false),
       coalesce((j.session->>'refreshCache')::boolean, false),
       case when j."groupRun" is null then 'queued' else 'blocked' end, (j."groupRun"->>'id')::uuid,
       (j."groupRun"->>'position')::integer
     from jsonb_to_recordset($1::jsonb) as j (id uuid, "accountId" uuid, "checkId" uuid, "runId" uuid,
       "sequenceId" uuid, "locationId" uuid, "runLocation" text, "runSource" text, "runParallel" boolean,
       "checkType" text, "runtimeId" text, lane text, "dueAt" timestamptz, "expiresAt" timestamptz,
       "claimWindowSeconds" double precision, session jsonb, "groupRun" jsonb)
     on conflict do nothing
     returning location_id as "locationId"`,
    [JSON.stringify(jobs)],
  );
  return [...new Set(rows.map(({ locationId }) => locationId))];
}

/**
 * Finds where scheduled runs of these checks are in progress: leased to an agent, or queued and still claimable. A
 * run that nobody claimed in time has ended, even if it has not been cleaned up.
 */
export async function findScheduledRuns(
  tx: Queryable,
  { checkIds, now }: { checkIds: readonly string[]; now: Date },
): Promise<{ checkId: string; locationId: string }[]> {
  return tx.query(
    `select distinct check_id as "checkId", location_id as "locationId" from jobs
     where check_id = any($1::uuid[]) and run_source = 'SCHEDULER'
       and (state = 'leased' or (state = 'queued' and expires_at > $2))`,
    [checkIds, now],
  );
}

/** The fields of a job that are needed to store its result or to end it. */
export type LockedJob = {
  id: string;
  accountId: string;
  checkId: string;
  sequenceId: string;
  runId: string;
  locationId: string;
  runLocation: string;
  checkType: string;
  runtimeId: string | null;
  attempt: number;
  dueAt: Date;
  firstAttemptAt: Date | null;
  leaseToken: string | null;
  pastTokens: string[];
  reported: string[];
  /** Null = a scheduled run. */
  sessionId: string | null;
  testSession: boolean;
  /** Recorded as missed, but an agent had it and may still report a result. */
  isAbandoned: boolean;
};

export const lockedColumns = `id, account_id as "accountId", check_id as "checkId", sequence_id as "sequenceId",
  run_id as "runId", location_id as "locationId", run_location as "runLocation", check_type as "checkType",
  runtime_id as "runtimeId", attempt, due_at as "dueAt", first_attempt_at as "firstAttemptAt",
  lease_token as "leaseToken", past_tokens as "pastTokens", reported, session_id as "sessionId",
  test_session as "testSession", state = 'abandoned' as "isAbandoned"`;

/** Locks these jobs in the order of their ids, so that no two transactions deadlock. */
export async function lockJobs(tx: Queryable, ids: readonly string[]): Promise<LockedJob[]> {
  return tx.query<LockedJob>(
    `select ${lockedColumns} from jobs where id = any($1::uuid[]) order by id for update`,
    [ids],
  );
}

export type FinishedJob = {
  id: string;
  leaseToken: string | null;
  pastTokens: string[];
  reported: string[];
};

/** Those of these jobs of an account that finished recently. */
export async function findFinishedJobs(
  db: Queryable,
  { ids, accountId }: { ids: readonly string[]; accountId: string },
): Promise<FinishedJob[]> {
  return db.query<FinishedJob>(
    `select f.job_id as id, f.lease_token as "leaseToken", f.past_tokens as "pastTokens", f.reported
     from finished_jobs f join locations l on l.id = f.location_id
     where f.job_id = any($1::uuid[]) and l.account_id = $2`,
    [ids, accountId],
  );
}

/** Finishes jobs. The fields by which late results are recognised are moved to finished_jobs. */
export async function finishJobs(
  tx: Queryable,
  jobs: readonly { id: string; finalResultId: string; reported: readonly string[] }[],
  now: Date,
): Promise<void> {
  await tx.query(
    `with item as (
       select * from jsonb_to_recordset($1::jsonb) as item (id uuid, "finalResultId" uuid, reported text[])
     ), gone as (
       delete from jobs using item where jobs.id = item.id
       returning jobs.id, jobs.location_id, jobs.lease_token, jobs.past_tokens, item.reported, item."finalResultId"
     )
     insert into finished_jobs (job_id, finished_at, location_id, lease_token, past_tokens, reported, final_result_id)
     select id, $2, location_id, lease_token, past_tokens, reported, "finalResultId" from gone`,
    [JSON.stringify(jobs), now],
  );
}

/** Records results of attempts that were not the last. */
export async function reportAttempts(
  tx: Queryable,
  jobs: readonly { id: string; reported: readonly string[]; attempt: number; firstAttemptAt: Date | null }[],
): Promise<void> {
  await tx.query(
    `update jobs set reported = item.reported, attempt = item.attempt, first_attempt_at = item."firstAttemptAt"
     from jsonb_to_recordset($1::jsonb) as item (id uuid, reported text[], attempt integer,
       "firstAttemptAt" timestamptz)
     where jobs.id = item.id`,
    [JSON.stringify(jobs)],
  );
}
