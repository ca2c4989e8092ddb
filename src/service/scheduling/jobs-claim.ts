import type { Queryable } from '../db/database.ts';
import { effectiveSlugs } from '../checks/storage/effective-checks.ts';
import { isConnectionLost } from '../db/trouble.ts';
import type { CheckGroupRow } from '../checks/storage/group-statements.ts';

/** A job that has just been leased, with the fields of its check. */
export type ClaimedJob = {
  jobId: string;
  runId: string;
  sequenceId: string;
  accountId: string;
  checkId: string;
  locationId: string;
  runLocation: string;
  runSource: string;
  runParallel: boolean;
  checkType: string;
  lane: string;
  dueAt: Date;
  /** Since when it could have been claimed. */
  notBefore: Date;
  attempt: number;
  firstAttemptAt: Date | null;
  leaseToken: string;
  leaseExpiresAt: Date;
  checkName: string;
  locationCount: number;
  /** Null = the run needs none. */
  runtimeId: string | null;
  /** Null = too large for a claim; see definitionOfCheck. */
  definition: Record<string, unknown> | null;
  /** Whether there is a script or files next to one; see codeOfCheck. */
  hasCode: boolean;
  /** Whether its job was built when the run was requested; see draftOfCheck. */
  isDraft: boolean;
  group: ClaimedGroup | null;
  accountRuntimeId: string;
  /** The session that requested the run; null = a scheduled run. */
  sessionId: string | null;
  testSession: boolean;
  refreshCache: boolean;
};

/** The parts of the check's group that a run needs. Definition: null = too large for a claim, see definitionOfGroup. */
export type ClaimedGroup = Pick<CheckGroupRow, 'id' | 'runtimeId'> & {
  definition: Record<string, unknown> | null;
};

/**
 * Larger definitions (in stored, compressed bytes), for example with setup and teardown scripts, are read one at a
 * time. A statement that returned a hundred of them would block the embedded database.
 */
const claimedDefinitionBytes = 8 * 1024;

export type Claim = {
  /** Lease tokens for the jobs, as many as free slots. The caller knows them even if it does not get the answer. */
  tokens: readonly string[];
  locationId: string;
  agentId: string;
  /** Free slots of each lane. */
  free: readonly { lane: string; slots: number }[];
  checkTypes: readonly string[];
  runtimes: readonly string[];
  now: Date;
  leaseExpiresAt: Date;
};

/** Columns of ClaimedJob, from a row `j` of jobs. */
const claimedColumns = `j.id as "jobId", j.run_id as "runId", j.sequence_id as "sequenceId", j.account_id as "accountId",
       j.check_id as "checkId", j.location_id as "locationId", j.run_location as "runLocation",
       j.run_source as "runSource", j.run_parallel as "runParallel", j.check_type as "checkType", j.lane,
       j.due_at as "dueAt", j.not_before as "notBefore", j.attempt, j.first_attempt_at as "firstAttemptAt", j.lease_token as "leaseToken",
       j.lease_expires_at as "leaseExpiresAt", j.runtime_id as "runtimeId", j.session_id as "sessionId",
       j.test_session as "testSession", j.refresh_cache as "refreshCache", c.name as "checkName",
       cardinality(${effectiveSlugs}) as "locationCount", c.code is not null as "hasCode", c.draft_job is not null as "isDraft",
       case when pg_column_size(c.definition) <= ${claimedDefinitionBytes} then c.definition end as definition,
       case when g.id is not null then jsonb_build_object('id', g.id, 'runtimeId', g.runtime_id, 'definition',
         case when pg_column_size(g.definition) <= ${claimedDefinitionBytes} then g.definition end) end as "group", a.runtime_id as "accountRuntimeId"`;
const claimedJoins = `join checks c on c.id = j.check_id join accounts a on a.id = j.account_id
     left join check_groups g on g.id = c.group_id order by j.not_before`;

/**
 * Leases jobs of a location to an agent, longest due first. Agents that claim at the same time never get the same
 * job. If the connection breaks before the answer, the leases may have been made: then they are read by their tokens.
 */
export async function claimJobs(db: Queryable, claim: Claim): Promise<ClaimedJob[]> {
  try {
    return await leaseJobs(db, claim);
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    return leasedJobs(db, claim.tokens);
  }
}

function leaseJobs(db: Queryable, claim: Claim): Promise<ClaimedJob[]> {
  return db.query<ClaimedJob>(
    `with picked as (
       select candidate.id, row_number() over () as number from unnest($1::text[], $2::integer[]) as free (lane, slots)
       cross join lateral (
         select id from jobs
         where location_id = $3 and lane = free.lane and state = 'queued' and not_before <= $4 and expires_at > $4
           and check_type = any($5::text[]) and (runtime_id is null or runtime_id = any($6::text[]))
         order by not_before limit free.slots for update skip locked
       ) as candidate
     ), leased as (
       update jobs set state = 'leased', lease_token = ($9::uuid[])[picked.number], lease_expires_at = $7, agent_id = $8,
         leased_at = $4, deliveries = deliveries + 1
       from picked where jobs.id = picked.id
       returning jobs.*
     )
     select ${claimedColumns} from leased j ${claimedJoins}`,
    [
      claim.free.map(({ lane }) => lane),
      claim.free.map(({ slots }) => slots),
      claim.locationId,
      claim.now,
      claim.checkTypes,
      claim.runtimes,
      claim.leaseExpiresAt,
      claim.agentId,
      claim.tokens,
    ],
  );
}

/** Jobs that are leased by one of these tokens. */
function leasedJobs(db: Queryable, tokens: readonly string[]): Promise<ClaimedJob[]> {
  return db.query<ClaimedJob>(
    `select ${claimedColumns} from (select * from jobs where state = 'leased' and lease_token = any($1::uuid[])) j
     ${claimedJoins}`,
    [tokens],
  );
}

/** Script and dependencies of a check, up to megabytes. A separate statement, so that none takes long. */
export async function codeOfCheck(db: Queryable, checkId: string): Promise<Record<string, unknown> | null> {
  const rows = await db.query<{ code: Record<string, unknown> | null }>(
    'select code from checks where id = $1',
    [checkId],
  );
  return rows[0]?.code ?? null;
}

/** The definition that a claim omitted; null = the check is deleted. */
export async function definitionOfCheck(
  db: Queryable,
  checkId: string,
): Promise<Record<string, unknown> | null> {
  const rows = await db.query<{ definition: Record<string, unknown> }>(
    'select definition from checks where id = $1',
    [checkId],
  );
  return rows[0]?.definition ?? null;
}

/** The group definition that a claim omitted; null = the group is deleted. */
export async function definitionOfGroup(
  db: Queryable,
  groupId: number,
): Promise<Record<string, unknown> | null> {
  const rows = await db.query<{ definition: Record<string, unknown> }>(
    'select definition from check_groups where id = $1',
    [groupId],
  );
  return rows[0]?.definition ?? null;
}

/** The sealed job of a draft; null = its session is deleted. */
export async function draftOfCheck(db: Queryable, checkId: string): Promise<string | null> {
  const rows = await db.query<{ job: string | null }>('select draft_job as job from checks where id = $1', [
    checkId,
  ]);
  return rows[0]?.job ?? null;
}

/** When a location's next delayed job (a retry) becomes claimable; null = there is none. */
export async function nextClaimable(
  db: Queryable,
  { locationId, now }: { locationId: string; now: Date },
): Promise<Date | null> {
  const rows = await db.query<{ at: Date | null }>(
    `select min(not_before) as at from jobs where location_id = $1 and state = 'queued' and not_before > $2`,
    [locationId, now],
  );
  return rows[0]?.at ?? null;
}

/**
 * Takes back a lease before any agent has received it: the run requires a runtime that was not known when it was
 * queued.
 */
export async function unclaimForRuntime(
  db: Queryable,
  { jobId, leaseToken, runtimeId }: { jobId: string; leaseToken: string; runtimeId: string },
): Promise<void> {
  await db.query(
    `update jobs set state = 'queued', lease_token = null, lease_expires_at = null, agent_id = null,
       deliveries = deliveries - 1, runtime_id = $3
     where id = $1 and lease_token = $2`,
    [jobId, leaseToken, runtimeId],
  );
}

/** Takes back leases before any agent has received them, because the connection was closed before the answer. */
export async function unclaimJobs(
  db: Queryable,
  leases: readonly { jobId: string; leaseToken: string }[],
): Promise<void> {
  await db.query(
    `update jobs set state = 'queued', lease_token = null, lease_expires_at = null, agent_id = null,
       deliveries = deliveries - 1
     from unnest($1::uuid[], $2::uuid[]) as lease (id, token)
     where jobs.id = lease.id and jobs.lease_token = lease.token`,
    [leases.map(({ jobId }) => jobId), leases.map(({ leaseToken }) => leaseToken)],
  );
}
