import { firstUuidv7 } from '../engine/ids.ts';
import { type SessionKind, type SessionRow, type SessionRunRow } from './statements.ts';
import { statusOfEnded } from '../scheduling/session-runs.ts';
import type { CheckSessionStatus } from './rules.ts';
import type { Queryable } from '../db/database.ts';
import { hourMs } from '../../durations.ts';

/** Statements on lists of sessions, and on the deletion of sessions. */

/** Equal runs of a session, combined into one: `endedAt` is when the last of them finished. */
export type RunsAlike = Pick<SessionRunRow, 'status' | 'state' | 'checkType' | 'runLocation' | 'endedAt'>;

/** Metadata with more characters than this is omitted from lists. */
const listedMetadata = 8192;
/** A session's id is made before its row, in the same request. */
const idEarlierMs = hourMs;

export type SessionFilter = {
  accountId: string;
  kind: SessionKind;
  /** Null = of any check. */
  checkId: string | null;
  runSource: string | null;
  /** One of these statuses; null = any. */
  statuses: readonly CheckSessionStatus[] | null;
  from: Date | null;
  to: Date | null;
  /** Only sessions older than the session with this id. */
  after: string | null;
  limit: number;
  offset: number;
};

/**
 * Computes `checkSessionStatus` of an open session `s`. A run whose job is gone counts as cancelled, as when it is
 * read by id.
 */
const statusOfSession = `(
  select case
    when bool_and(r.status is not null) is not false then case
      ${statusOfEnded} end
    when bool_or(r.status in ('failed', 'errored')) then 'PROGRESS_FAILED'
    when bool_or(r.status = 'degraded') then 'PROGRESS_DEGRADED'
    when bool_or(r.status is not null or r.state = 'leased') then 'PROGRESS'
    else 'STARTED' end
  from (
    select coalesce(r.status, case when j.id is null then 'cancelled' end) as status, j.state
    from session_runs r left join session_jobs j on j.id = r.job_id where r.session_id = s.id
  ) as r
)`;

/** Reads a page of sessions, newest first. `isPartial`: their metadata is too long for a list. */
export async function listSessionRows(
  db: Queryable,
  filter: SessionFilter,
): Promise<(SessionRow & { isPartial: boolean })[]> {
  const { from, to, statuses } = filter;
  const condition = `account_id = $1 and kind = $2
       and ($3::uuid is null or check_id = $3) and ($4::text is null or run_source = $4)
       and started_at >= coalesce($5::timestamptz, '-infinity') and started_at <= coalesce($6::timestamptz, 'infinity')
       and id >= $7 and id < $8 and ($9::uuid is null or id < $9)`;
  // For each status as many rows as the page may need, each read along an index.
  const firstOf = (status: string) =>
    `(select * from check_sessions s where ${condition} and ${status} order by id desc limit $10::bigint + $11::bigint)`;
  const sessions =
    statuses === null
      ? 'check_sessions'
      : `(${[
          ...[...new Set(statuses)].map((_status, index) => firstOf(`s.status = $${13 + index}`)),
          firstOf(`s.status = 'OPEN' and ${statusOfSession} = any($12::text[])`),
        ].join(' union all ')}) as found`;
  return db.query<SessionRow & { isPartial: boolean }>(
    `select id, check_id as "checkId", name, run_source as "runSource", refresh_cache as "refreshCache",
       case when octet_length(metadata::text) <= ${listedMetadata} then metadata end as metadata,
       coalesce(octet_length(metadata::text) > ${listedMetadata}, false) as "isPartial", started_at as "startedAt"
     from ${sessions} where ${condition} order by id desc limit $10 offset $11`,
    [
      filter.accountId,
      filter.kind,
      filter.checkId,
      filter.runSource,
      from,
      to,
      firstUuidv7((from?.getTime() ?? 0) - idEarlierMs),
      firstUuidv7(to === null ? Number.MAX_SAFE_INTEGER : to.getTime() + 1),
      filter.after,
      filter.limit,
      filter.offset,
      ...(statuses === null ? [] : [[...statuses], ...new Set(statuses)]),
    ],
  );
}

/** Reads the runs of these sessions, with equal runs combined. */
export async function runsOfSessions(
  db: Queryable,
  sessionIds: readonly string[],
): Promise<(RunsAlike & { sessionId: string })[]> {
  return db.query<RunsAlike & { sessionId: string }>(
    `select r.session_id as "sessionId", r.check_type as "checkType", r.run_location as "runLocation", r.status, j.state,
       max(r.ended_at) as "endedAt"
     from session_runs r left join session_jobs j on j.id = r.job_id
     where r.session_id = any($1::uuid[])
     group by r.session_id, r.check_type, r.run_location, r.status, j.state order by r.session_id, r.run_location`,
    [[...sessionIds]],
  );
}

/** Returns ids of some of the files that a session's runs have stored. */
export async function artifactsOfSession(
  db: Queryable,
  { sessionId, limit }: { sessionId: string; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select a.id from artifacts a join session_runs r on r.job_id = a.job_id where r.session_id = $1 limit $2`,
    [sessionId, limit],
  );
  return rows.map(({ id }) => id);
}

/** Deletes the results of a session's runs that began at or after `from`. */
export async function deleteResultsOfSession(
  tx: Queryable,
  { sessionId, from }: { sessionId: string; from: Date },
): Promise<void> {
  await tx.query(
    `delete from check_results c using session_runs r
     where r.session_id = $1 and c.check_id = r.check_id and c.started_at >= $2 and c.sequence_id = r.sequence_id`,
    [sessionId, from],
  );
}

/** Deletes a session. Results of a check session stay with the check. */
export async function deleteSession(tx: Queryable, id: string): Promise<void> {
  await tx.query('delete from check_sessions where id = $1', [id]);
}
