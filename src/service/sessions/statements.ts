import type { SessionRetries } from '../scheduling/session-runs.ts';
import type { ResultStatus } from '../../protocol/result.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on sessions: the runs that one trigger started. */

export type SessionKind = 'check' | 'test';

export type SessionRow = {
  id: string;
  /** The check of a check session. */
  checkId: string | null;
  name: string;
  runSource: string;
  refreshCache: boolean;
  metadata: Record<string, unknown> | null;
  startedAt: Date;
};

export type NewSession = Omit<SessionRow, 'startedAt'> & {
  accountId: string;
  kind: SessionKind;
  /** Secret values are encrypted. */
  environmentVariables: readonly object[] | null;
  /** Absent = as configured for each check. */
  retries?: SessionRetries;
};

/** One run of a session in one location. `status` is that of its final result; null until it has one. */
export type SessionRunRow = {
  sequenceId: string;
  jobId: string;
  checkId: string;
  checkType: string;
  checkName: string;
  runLocation: string;
  status: ResultStatus | null;
  endedAt: Date | null;
  /** State of its job; null = the job is gone. */
  state: 'queued' | 'leased' | 'abandoned' | 'blocked' | null;
  stage: string | null;
  leasedAt: Date | null;
  cancelRequested: boolean;
};

export type NewSessionRun = Pick<
  SessionRunRow,
  'sequenceId' | 'jobId' | 'checkId' | 'checkType' | 'checkName' | 'runLocation'
> & { sessionId: string };

export async function insertSessions(
  tx: Queryable,
  sessions: readonly NewSession[],
  now: Date,
): Promise<void> {
  await tx.query(
    `insert into check_sessions (id, account_id, kind, check_id, name, run_source, refresh_cache, metadata,
       environment_variables, retries, started_at)
     select s.id, s."accountId", s.kind, s."checkId", s.name, s."runSource", s."refreshCache", nullif(s.metadata, 'null'),
       nullif(s."environmentVariables", 'null'), s.retries, $2
     from jsonb_to_recordset($1::jsonb) as s (id uuid, "accountId" uuid, kind text, "checkId" uuid, name text,
       "runSource" text, "refreshCache" boolean, metadata jsonb, "environmentVariables" jsonb,
       retries jsonb)`,
    [JSON.stringify(sessions), now],
  );
}

export async function insertSessionRuns(tx: Queryable, runs: readonly NewSessionRun[]): Promise<void> {
  await tx.query(
    `insert into session_runs (session_id, sequence_id, job_id, check_id, check_type, check_name, run_location)
     select r."sessionId", r."sequenceId", r."jobId", r."checkId", r."checkType", r."checkName", r."runLocation"
     from jsonb_to_recordset($1::jsonb) as r ("sessionId" uuid, "sequenceId" uuid, "jobId" uuid, "checkId" uuid,
       "checkType" text, "checkName" text, "runLocation" text)`,
    [JSON.stringify(runs)],
  );
}

export async function findSession(
  db: Queryable,
  { accountId, id, kind }: { accountId: string; id: string; kind: SessionKind },
): Promise<SessionRow | undefined> {
  const rows = await db.query<SessionRow>(
    `select id, check_id as "checkId", name, run_source as "runSource", refresh_cache as "refreshCache", metadata,
       started_at as "startedAt"
     from check_sessions where id = $1 and account_id = $2 and kind = $3`,
    [id, accountId, kind],
  );
  return rows[0];
}

/** Reads the runs of a session, ordered by the names of their checks and locations. */
export async function runsOfSession(db: Queryable, sessionId: string): Promise<SessionRunRow[]> {
  return db.query<SessionRunRow>(
    `select r.sequence_id as "sequenceId", r.job_id as "jobId", r.check_id as "checkId", r.check_type as "checkType",
       r.check_name as "checkName", r.run_location as "runLocation", r.status, r.ended_at as "endedAt", j.state, j.stage,
       j.leased_at as "leasedAt", coalesce(j.cancel_requested, false) as "cancelRequested"
     from session_runs r left join session_jobs j on j.id = r.job_id where r.session_id = $1 order by r.check_name, r.run_location, r.sequence_id`,
    [sessionId],
  );
}

/** Whether a session has an unfinished run that still has a job. */
export async function hasGoingRun(db: Queryable, sessionId: string): Promise<boolean> {
  const rows = await db.query(
    `select 1 from session_runs r join session_jobs j on j.id = r.job_id
     where r.session_id = $1 and r.status is null limit 1`,
    [sessionId],
  );
  return rows.length > 0;
}

/** Counts the unfinished session runs of an account. */
export async function countSessionJobs(db: Queryable, accountId: string): Promise<number> {
  const rows = await db.query<{ count: number }>(
    `select count(*)::integer as count from session_jobs
     where account_id = $1 and session_id is not null and state <> 'abandoned'`,
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

export type SessionResultRow = {
  id: string;
  sequenceId: string;
  checkId: string;
  runLocation: string;
  resultType: string;
  status: ResultStatus;
  hasErrors: boolean;
  hasFailures: boolean;
  isDegraded: boolean;
  isCancelled: boolean;
  responseTime: number;
  reason: { code?: unknown } | null;
  startedAt: Date;
  stoppedAt: Date;
};

/** Reads results of a session's runs in the order of their start; `from` and `to` limit the time. */
export async function resultsOfRuns(
  db: Queryable,
  options: { accountId: string; runs: readonly SessionRunRow[]; from: Date; to: Date },
): Promise<SessionResultRow[]> {
  const { runs } = options;
  return db.query<SessionResultRow>(
    `select id, sequence_id as "sequenceId", check_id as "checkId", run_location as "runLocation",
       result_type as "resultType", status, has_errors as "hasErrors", has_failures as "hasFailures",
       is_degraded as "isDegraded", is_cancelled as "isCancelled", response_time as "responseTime", reason,
       started_at as "startedAt", stopped_at as "stoppedAt"
     from check_results
     where check_id = any($1::uuid[]) and account_id = $2 and started_at >= $3 and started_at <= $4
       and sequence_id = any($5::uuid[])
     order by started_at, id`,
    [
      [...new Set(runs.map(({ checkId }) => checkId))],
      options.accountId,
      options.from,
      options.to,
      runs.map(({ sequenceId }) => sequenceId),
    ],
  );
}

/** Deletes sessions that began before `before`. Returns how many were deleted. */
export async function deleteOldSessions(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const rows = await db.query(
    `delete from check_sessions where id in (
       select id from check_sessions where started_at < $1 order by started_at limit $2) returning id`,
    [before, limit],
  );
  return rows.length;
}
