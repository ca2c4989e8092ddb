import { firstUuidv7 } from '../engine/ids.ts';
import { type SessionKind, type SessionRow, type SessionRunRow } from './statements.ts';
import { statusOfEnded } from '../scheduling/session-runs.ts';
import type { CheckSessionStatus } from './rules.ts';
import type { Queryable } from '../db/database.ts';
import { hourMs } from '../../durations.ts';

/** Statements on many sessions at once, and on what goes with one that is deleted. */

/** Runs of a session that are alike, as one: `endedAt` is when the last of them ended. */
export type RunsAlike = Pick<SessionRunRow, 'status' | 'state' | 'checkType' | 'runLocation' | 'endedAt'>;

/** Metadata that is longer is not shown in lists, in characters. */
const listedMetadata = 8192;
/** A session's id is made before the session is, in the same request. */
const idEarlierMs = hourMs;

export type SessionFilter = {
  accountId: string;
  kind: SessionKind;
  /** Null = of any. */
  checkId: string | null;
  runSource: string | null;
  /** What their runs have come to is one of these; null = any. */
  statuses: readonly CheckSessionStatus[] | null;
  from: Date | null;
  to: Date | null;
  /** Those that are older than the session of this id. */
  after: string | null;
  limit: number;
  offset: number;
};

/** `checkSessionStatus` of a session `s` that is open. A run whose job is gone counts as cancelled, as it will be called when it is read. */
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

/** A page of sessions, newest first. `isPartial`: their metadata is too long for a list. */
export async function listSessionRows(
  db: Queryable,
  filter: SessionFilter,
): Promise<(SessionRow & { isPartial: boolean })[]> {
  const { from, to, statuses } = filter;
  const wanted = `account_id = $1 and kind = $2
       and ($3::uuid is null or check_id = $3) and ($4::text is null or run_source = $4)
       and started_at >= coalesce($5::timestamptz, '-infinity') and started_at <= coalesce($6::timestamptz, 'infinity')
       and id >= $7 and id < $8 and ($9::uuid is null or id < $9)`;
  // As many of each status as the page could have, each along an index.
  const firstOf = (status: string) =>
    `(select * from check_sessions s where ${wanted} and ${status} order by id desc limit $10::bigint + $11::bigint)`;
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
     from ${sessions} where ${wanted} order by id desc limit $10 offset $11`,
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

/** The runs of these sessions, those that are alike as one. */
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

/** Ids of some of the files that runs of a session have left. */
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

/** Deletes the results of a session's runs, which began at `from` or later. */
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

/** Deletes a session. Its runs are none any more; the results of a check session stay with the check. */
export async function deleteSession(tx: Queryable, id: string): Promise<void> {
  await tx.query('delete from check_sessions where id = $1', [id]);
}
