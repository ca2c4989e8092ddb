import type { Queryable } from '../db/database.ts';

/** Statements on waiting and active runs of agentic checks. */

export type AgenticRun = {
  id: string;
  runId: string;
  sequenceId: string;
  accountId: string;
  checkId: string;
  /** Null = a scheduled run. */
  sessionId: string | null;
  testSession: boolean;
  dueAt: Date;
  /** Null while it waits. */
  begunAt: Date | null;
};

export type NewAgenticRun = Omit<AgenticRun, 'begunAt'> & {
  expiresAt: Date;
  /** Blocked until its group run releases it. */
  groupRun?: { id: string; position: number };
};

const columns = (run: string) => `${run}.id, ${run}.run_id as "runId", ${run}.sequence_id as "sequenceId",
  ${run}.account_id as "accountId", ${run}.check_id as "checkId", ${run}.session_id as "sessionId",
  ${run}.test_session as "testSession", ${run}.due_at as "dueAt", ${run}.begun_at as "begunAt"`;

/** Inserts runs and returns the ids of the inserted ones. A check has at most one scheduled run at a time. */
export async function insertAgenticRuns(tx: Queryable, runs: readonly NewAgenticRun[]): Promise<Set<string>> {
  if (runs.length === 0) return new Set();
  const rows = await tx.query<{ id: string }>(
    `insert into agentic_runs (id, run_id, sequence_id, account_id, check_id, session_id, test_session, due_at, expires_at,
       state, group_run_id, group_position)
     select r.id, r."runId", r."sequenceId", r."accountId", r."checkId", r."sessionId", r."testSession", r."dueAt", r."expiresAt",
       case when r."groupRun" is null then 'queued' else 'blocked' end, (r."groupRun"->>'id')::uuid,
       (r."groupRun"->>'position')::integer
     from jsonb_to_recordset($1::jsonb) as r (id uuid, "runId" uuid, "sequenceId" uuid, "accountId" uuid, "checkId" uuid,
       "sessionId" uuid, "testSession" boolean, "dueAt" timestamptz, "expiresAt" timestamptz, "groupRun" jsonb)
     on conflict (check_id) where session_id is null do nothing returning id`,
    [JSON.stringify(runs)],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Claims the runs that have waited longest, at most `limit`. */
export async function claimAgenticRuns(
  db: Queryable,
  claim: { limit: number; token: string; now: Date; leaseUntil: Date },
): Promise<AgenticRun[]> {
  return db.query<AgenticRun>(
    `update agentic_runs r set state = 'running', lease_token = $2, begun_at = $3, lease_until = $4, tries = r.tries + 1
     where r.id in (select id from agentic_runs where state = 'queued' and expires_at > $3
       order by due_at, id limit $1 for update skip locked)
     returning ${columns('r')}`,
    [claim.limit, claim.token, claim.now, claim.leaseUntil],
  );
}

/**
 * Renews the leases of this replica's runs. Returns for each run that it still has whether a cancellation was
 * requested.
 */
export async function renewAgenticRuns(
  db: Queryable,
  renewal: { ids: readonly string[]; token: string; leaseUntil: Date },
): Promise<Map<string, boolean>> {
  const rows = await db.query<{ id: string; cancelRequested: boolean }>(
    `update agentic_runs set lease_until = $3 where id = any($1::uuid[]) and lease_token = $2
     returning id, cancel_requested as "cancelRequested"`,
    [[...renewal.ids], renewal.token, renewal.leaseUntil],
  );
  return new Map(rows.map(({ id, cancelRequested }) => [id, cancelRequested]));
}

/** Returns unfinished runs to the queue, as if they had not been started. */
export async function releaseAgenticRuns(
  db: Queryable,
  { ids, token }: { ids: readonly string[]; token: string },
): Promise<void> {
  await db.query(
    `update agentic_runs set state = 'queued', lease_token = null, lease_until = null, begun_at = null, tries = tries - 1
     where id = any($1::uuid[]) and lease_token = $2`,
    [[...ids], token],
  );
}

/**
 * Deletes runs and returns the ids of the deleted ones. Omits runs that are gone or that another replica has.
 * Token null = of any replica.
 */
export async function endAgenticRuns(
  tx: Queryable,
  { ids, token }: { ids: readonly string[]; token: string | null },
): Promise<AgenticRun[]> {
  return tx.query<AgenticRun>(
    `delete from agentic_runs r where r.id = any($1::uuid[]) and ($2::uuid is null or r.lease_token = $2)
     returning ${columns('r')}`,
    [[...ids], token],
  );
}

/** Requests cancellation of active runs. Runs that have not started are returned, locked. */
export async function cancelAgenticRuns(tx: Queryable, ids: readonly string[]): Promise<AgenticRun[]> {
  const rows = await tx.query<AgenticRun & { state: string }>(
    `update agentic_runs r set cancel_requested = true where r.id in (
       select id from agentic_runs where id = any($1::uuid[]) order by id for update)
     returning ${columns('r')}, r.state`,
    [[...ids]],
  );
  return rows.filter(({ state }) => state !== 'running');
}

export type StaleRun = AgenticRun & { state: 'queued' | 'running'; tries: number; cancelRequested: boolean };

/** Locks and reads runs that have waited too long and runs whose lease has expired. */
export async function lockStaleAgenticRuns(
  tx: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<StaleRun[]> {
  return tx.query<StaleRun>(
    `select ${columns('r')}, r.state, r.tries, r.cancel_requested as "cancelRequested" from agentic_runs r
     where ${isStale}
     order by r.due_at, r.id limit $2 for update skip locked`,
    [now, limit],
  );
}

/** SQL: the run `r` was not started in time, or its replica has died, at `$1`. */
const isStale = `(r.state = 'queued' and r.expires_at <= $1) or (r.state = 'running' and r.lease_until <= $1)`;

/** Whether there are such runs, also if another replica has locked them. */
export async function isAnyRunStale(db: Queryable, now: Date): Promise<boolean> {
  const rows = await db.query(`select 1 from agentic_runs r where ${isStale} limit 1`, [now]);
  return rows.length > 0;
}

/** Returns runs to the queue for another replica. */
export async function requeueAgenticRuns(
  tx: Queryable,
  { ids, expiresAt }: { ids: readonly string[]; expiresAt: Date },
): Promise<void> {
  await tx.query(
    `update agentic_runs set state = 'queued', lease_token = null, lease_until = null, begun_at = null,
       expires_at = greatest(expires_at, $2)
     where id = any($1::uuid[])`,
    [[...ids], expiresAt],
  );
}
