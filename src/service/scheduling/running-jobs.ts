import type { Queryable } from '../db/database.ts';

/** A run in progress, as the list of active runs shows it. */
export type RunningJob = {
  jobId: string;
  sequenceId: string;
  /** The session that requested it; null = a scheduled run. */
  sessionId: string | null;
  testSession: boolean;
  checkType: string;
  runLocation: string;
  state: string;
  stage: string | null;
  dueAt: Date;
  leasedAt: Date | null;
  cancelRequested: boolean;
};

/** Runs of a check that an agent has, and on-demand runs that no agent has yet; the longest due first. */
export async function runningJobs(
  db: Queryable,
  { accountId, checkId, limit }: { accountId: string; checkId: string; limit: number },
): Promise<RunningJob[]> {
  return db.query<RunningJob>(
    `select id as "jobId", sequence_id as "sequenceId", session_id as "sessionId", test_session as "testSession",
       check_type as "checkType", run_location as "runLocation", state, stage, due_at as "dueAt",
       leased_at as "leasedAt", cancel_requested as "cancelRequested"
     from jobs
     where check_id = $1 and account_id = $2 and (state = 'leased' or (state in ('queued', 'blocked') and session_id is not null))
     order by due_at, id limit $3`,
    [checkId, accountId, limit],
  );
}
