import type { ResultStatus } from '../../protocol/result.ts';
import type { Db, Queryable } from '../db/database.ts';

/** Records how session runs ended, and wakes the requests that wait for their session. */
export async function endSessionRuns(
  tx: Pick<Db, 'query' | 'notify'>,
  ended: readonly { jobId: string; status: ResultStatus }[],
  now: Date,
): Promise<void> {
  if (ended.length === 0) return;
  const rows = await tx.query<{ sessionId: string }>(
    `update session_runs r set status = item.status, ended_at = $3
     from unnest($1::uuid[], $2::text[]) as item (job_id, status)
     where r.job_id = item.job_id returning r.session_id as "sessionId"`,
    [ended.map(({ jobId }) => jobId), ended.map(({ status }) => status), now],
  );
  const sessionIds = [...new Set(rows.map(({ sessionId }) => sessionId))];
  await settleSessions(tx, sessionIds);
  for (const id of sessionIds) await tx.notify(sessionsChannel, id);
}

/** Ends session runs whose jobs disappeared without a result, because their check or location was deleted. */
export async function endVanishedRuns(
  db: Queryable,
  { sessionIds, now }: { sessionIds: readonly string[]; now: Date },
): Promise<void> {
  await db.query(
    `update session_runs r set status = 'cancelled', ended_at = $2
     where r.session_id = any($1::uuid[]) and r.ended_at is null and not exists (select 1 from session_jobs j where j.id = r.job_id)`,
    [[...sessionIds], now],
  );
  await settleSessions(db, sessionIds);
}

/** The session settings that its jobs get. Variables are in stored form: secret values are sealed. */
export async function settingsOfSession(
  db: Queryable,
  id: string,
): Promise<{ variables: unknown[]; retries: SessionRetries | null }> {
  const rows = await db.query<{ variables: unknown[] | null; retries: SessionRetries | null }>(
    'select environment_variables as variables, retries from check_sessions where id = $1',
    [id],
  );
  return { variables: rows[0]?.variables ?? [], retries: rows[0]?.retries ?? null };
}

/** How failed attempts of a session's runs are retried; null = not at all. */
export type SessionRetries = { strategy: object | null };

/** Channel of hints that a session's run has ended. The payload is the session's id. */
export const sessionsChannel = 'sessions';

/** The status of a session whose runs `r` have all ended, as the branches of an SQL case. */
export const statusOfEnded = `when bool_or(r.status = 'cancelled') then 'CANCELLED'
  when bool_or(r.status in ('failed', 'errored')) then 'FAILED'
  when bool_or(r.status = 'missed') then 'TIMED_OUT'
  when bool_or(r.status = 'degraded') then 'DEGRADED'
  else 'PASSED'`;

/** Records the status of those of these sessions whose runs have all ended. Call it after changing the runs. */
async function settleSessions(tx: Queryable, sessionIds: readonly string[]): Promise<void> {
  if (sessionIds.length === 0) return;
  // Transactions take turns, so that the one that ends the last run sees that the others have ended.
  await tx.query('select 1 from check_sessions where id = any($1::uuid[]) order by id for no key update', [
    [...sessionIds],
  ]);
  // There may be many runs, and all but the last find one that is still open.
  await tx.query(
    `update check_sessions s set status = (select case ${statusOfEnded} end from session_runs r where r.session_id = s.id)
     where id = any($1::uuid[])
       and (select 1 from session_runs r where r.session_id = s.id and r.status is null limit 1) is null`,
    [[...sessionIds]],
  );
}
