import type { Queryable } from '../db/database.ts';

/** Statements on the runs of agentic checks that wait or go on. */

export type AgenticRun = {
  id: string;
  runId: string;
  sequenceId: string;
  accountId: string;
  checkId: string;
  /** Null = it was scheduled. */
  sessionId: string | null;
  testSession: boolean;
  dueAt: Date;
  /** Null while it waits. */
  begunAt: Date | null;
};

export type NewAgenticRun = Omit<AgenticRun, 'begunAt'> & {
  expiresAt: Date;
  /** It is blocked until the run of its group lets it go. */
  groupRun?: { id: string; position: number };
};

const columns = (run: string) => `${run}.id, ${run}.run_id as "runId", ${run}.sequence_id as "sequenceId",
  ${run}.account_id as "accountId", ${run}.check_id as "checkId", ${run}.session_id as "sessionId",
  ${run}.test_session as "testSession", ${run}.due_at as "dueAt", ${run}.begun_at as "begunAt"`;

/** Ids of those that were added: of scheduled runs a check has one. */
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

/** Begins the runs that have waited longest, at most `limit`. */
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

/** Of the runs that this replica still has, whether somebody wants them cancelled. */
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

/** Gives runs back that have not ended, as if they had not been begun. */
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

/** Takes runs out; those that are gone, or another replica's, are not among the answer. Null for the token: whosever. */
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

/** Those that go on are told; the others, which have not begun, are returned, locked. */
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

/** Runs that have waited too long, and those whose replica was not heard of again; locked. */
export async function lockStaleAgenticRuns(
  tx: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<StaleRun[]> {
  return tx.query<StaleRun>(
    `select ${columns('r')}, r.state, r.tries, r.cancel_requested as "cancelRequested" from agentic_runs r
     where (r.state = 'queued' and r.expires_at <= $1) or (r.state = 'running' and r.lease_until <= $1)
     order by r.due_at, r.id limit $2 for update skip locked`,
    [now, limit],
  );
}

/** Lets another replica begin runs again. */
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
