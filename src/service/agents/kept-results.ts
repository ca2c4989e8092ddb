import type { Result } from '../../protocol/result.ts';
import { claimWindowSeconds, nextDue, scheduledJobId, scheduledRunId } from '../../protocol/schedule.ts';
import { laneOf, type JobType } from '../../protocol/check-types.ts';
import type { Queryable } from '../db/database.ts';
import { clockSkewMs } from '../engine/clock-skew.ts';
import { uuidPattern } from '../engine/ids.ts';
import type { HandedOut } from '../keeping/handed-out-schedule.ts';
import type { MissedReport } from '../keeping/missed-reports.ts';
import type { FinishedJob, LockedJob } from '../scheduling/jobs.ts';
import type { Readable } from './read-result.ts';

/**
 * Results of runs that agents made themselves, because they hold the checks. The service has no job of such a run until a
 * result arrives. The id of the job follows from check, location and moment, so a run that two agents have made has one id.
 */

/**
 * A result within less than this time after its moment is not late. Its run is recorded as missed only in an open record: the
 * next run, which would close it, is due at least 10 s after it, by a clock that may differ a little.
 */
export const promptMs = 9_000;
/** A check that an agent holds or has held. */
type Keeper = {
  checkId: string;
  agentId: string;
  accountId: string;
  locationId: string;
  runLocation: string;
  checkType: string;
  intervalSeconds: number;
  offsetSeconds: number;
  /** The schedule that was handed out to the agent last, and its first moment. */
  handedOut: HandedOut & { owedFrom: Date };
  /** When the check was taken from the agent; null = it holds the check. */
  droppedAt: Date | null;
  /** Where the open record of missed runs ends, milliseconds since the epoch; null = there is none. */
  recordedTo: number | null;
};
type HandedOutRow = { owedFrom: Date; handedInterval: number | null; handedOffset: number | null };

export const isOfKeeper = ({ result }: Readable): boolean =>
  result.dueAt !== undefined && uuidPattern.test(result.checkId) && !Number.isNaN(Date.parse(result.dueAt));

const momentOf = ({ dueAt = '' }: Result) => Date.parse(dueAt);
const isMissed = ({ result }: Readable) => result.status === 'missed';

/** The run of a result, if its agent holds or held the check. */
export type KeptRuns = {
  /** The holder's part in this result; undefined = it may not report it. */
  keeperOf(result: Result): Keeper | undefined;
  /** What the service knows of a run of which it has neither a job nor an end. */
  newJob(result: Result): LockedJob | undefined;
  /** Whether a result only says that runs did not take place. */
  isMissed(item: Readable): boolean;
  /** What a result says that only says that runs did not take place. */
  reportOf(result: Result): MissedReport;
  /** The runs of those of these results that a holder made. */
  momentsOf(items: readonly Readable[]): { jobId: string; checkId: string; dueAt: number }[];
};

/**
 * Reads who holds the checks of these results. Locks their rows, so that two transactions with results of the same run
 * take turns: call it before anything is read that says whether the run has ended.
 */
export async function lockKeptRuns(
  tx: Queryable,
  { accountId, items, now }: { accountId: string; items: readonly Readable[]; now: number },
): Promise<KeptRuns> {
  const own = items.filter(isOfKeeper);
  const checkIds = [...new Set(own.map(({ result }) => result.checkId))];
  const rows =
    checkIds.length === 0
      ? []
      : await tx.query<Omit<Keeper, 'recordedTo' | 'handedOut'> & HandedOutRow>(
          `select k.check_id as "checkId", k.agent_id as "agentId", k.account_id as "accountId",
             k.location_id as "locationId", l.slug_name as "runLocation", c.check_type as "checkType",
             c.interval_seconds as "intervalSeconds", c.offset_seconds as "offsetSeconds",
             k.dropped_at as "droppedAt", k.owed_from as "owedFrom", k.interval_seconds as "handedInterval",
             k.offset_seconds as "handedOffset"
           from kept_checks k join checks c on c.id = k.check_id join locations l on l.id = k.location_id
           where k.account_id = $1 and k.check_id = any($2::uuid[])
           order by k.check_id, k.agent_id for no key update of k`,
          [accountId, checkIds],
        );
  // By a statement after the lock: another transaction may have written a record while this one waited.
  const records =
    rows.length === 0
      ? []
      : await tx.query<{ checkId: string; to: Date }>(
          `select check_id as "checkId", max(to_due_at) as "to" from missed_runs
           where check_id = any($1::uuid[]) group by check_id`,
          [checkIds],
        );
  const recordedTo = new Map(records.map(({ checkId, to }) => [checkId, to.getTime()]));
  // Those that these results say are missed are recorded before the runs among them are stored.
  for (const { result } of own.filter(isMissed)) {
    const to = Date.parse(String(result.details['to']));
    if (to > (recordedTo.get(result.checkId) ?? -Infinity)) recordedTo.set(result.checkId, to);
  }
  const keepers = new Map<string, Keeper>(
    rows.map(({ owedFrom, handedInterval, handedOffset, ...row }) => [
      `${row.checkId} ${row.agentId}`,
      {
        ...row,
        recordedTo: recordedTo.get(row.checkId) ?? null,
        handedOut: { owedFrom, intervalSeconds: handedInterval, offsetSeconds: handedOffset },
      },
    ]),
  );
  const findKeeper = (result: Result): Keeper | undefined => {
    const keeper = keepers.get(`${result.checkId} ${result.leaseToken}`);
    if (keeper === undefined || result.dueAt === undefined) return undefined;
    const at = momentOf(result);
    if (!Number.isInteger(at) || at < 0 || at > now + clockSkewMs) return undefined;
    return scheduledJobId(keeper.checkId, keeper.locationId, at) === result.jobId ? keeper : undefined;
  };
  /** The keeper of a result is needed several times, and to compare the id of its run takes a digest. */
  const known = new Map<Result, Keeper | undefined>();
  const keeperOf = (result: Result): Keeper | undefined => {
    if (!known.has(result)) known.set(result, findKeeper(result));
    return known.get(result);
  };
  return {
    keeperOf,
    isMissed: (item) => isOfKeeper(item) && isMissed(item),
    reportOf: (result) => ({
      keeper: keeperOf(result),
      from: momentOf(result),
      to: Date.parse(String(result.details['to'])),
      count: result.details['count'],
      code: result.reason?.code,
    }),
    momentsOf: (items) =>
      items.flatMap(({ result }) => {
        const { jobId, checkId } = result;
        return keeperOf(result) === undefined ? [] : [{ jobId, checkId, dueAt: momentOf(result) }];
      }),
    newJob: (result) => {
      const keeper = keeperOf(result);
      if (keeper === undefined || !uuidPattern.test(result.sequenceId)) return undefined;
      const { checkId, agentId, locationId, runLocation, checkType, recordedTo } = keeper;
      const dueAt = momentOf(result);
      return {
        id: result.jobId,
        accountId,
        checkId,
        sequenceId: result.sequenceId,
        runId: scheduledRunId(checkId, dueAt),
        locationId,
        runLocation,
        checkType,
        runtimeId: null,
        attempt: 1,
        dueAt: new Date(dueAt),
        firstAttemptAt: null,
        leaseToken: agentId,
        pastTokens: [],
        reported: [],
        sessionId: null,
        testSession: false,
        // It may have been recorded as missed when its agent seemed to be dead, or by an agent that held the check before.
        // The run after it may be one of another schedule, and have closed the record.
        isAbandoned:
          keeper.droppedAt !== null ||
          now - dueAt >= promptMs ||
          dueAt < keeper.handedOut.owedFrom.getTime() ||
          (recordedTo !== null && dueAt <= recordedTo),
      };
    },
  };
}

/**
 * Moves checks that are back with the scheduler on to the run after these ones, which former holders have made. Call it
 * before jobs are read: the scheduler has then queued such a run already, or does not, unless it is about to at this moment.
 */
export async function passScheduler(
  tx: Queryable,
  { items, runs }: { items: readonly Readable[]; runs: KeptRuns },
): Promise<void> {
  const moments = new Map<string, { keeper: Keeper; made: Set<number> }>();
  for (const { result } of items) {
    const keeper = runs.keeperOf(result);
    if (keeper === undefined || keeper.droppedAt === null || result.resultType !== 'FINAL') continue;
    if (result.status === 'missed') continue;
    const known = moments.get(keeper.checkId) ?? { keeper, made: new Set() };
    known.made.add(momentOf(result));
    moments.set(keeper.checkId, known);
  }
  const passed = [...moments.values()].flatMap(({ keeper, made }) =>
    [...made].map((at) => {
      let next = nextDue(keeper, at);
      while (made.has(next)) next = nextDue(keeper, next);
      return { id: keeper.checkId, at, next };
    }),
  );
  if (passed.length === 0) return;
  await tx.query(
    `update checks c set next_due_at = i.next
     from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) as i (id, due, next)
     where c.id = i.id and c.next_due_at = i.due`,
    [
      passed.map(({ id }) => id),
      passed.map(({ at }) => new Date(at)),
      passed.map(({ next }) => new Date(next)),
    ],
  );
}

/** A former or present holder may report a run that has a job of the queue too. */
export function admit<J extends LockedJob | FinishedJob>(job: J, result: Result, runs: KeptRuns): J {
  if (result.dueAt === undefined || runs.keeperOf(result) === undefined) return job;
  if (job.leaseToken === result.leaseToken || job.pastTokens.includes(result.leaseToken)) return job;
  return { ...job, pastTokens: [...job.pastTokens, result.leaseToken] };
}

/**
 * Writes what must be known of runs that have had an attempt and go on. They belong to the agent in whose name the attempt was made,
 * while it lives; then to the one that has reported it (`agentId`), which may have made it in the name of its predecessor.
 */
export async function insertKeptJobs(
  tx: Queryable,
  jobs: readonly LockedJob[],
  { agentId, now }: { agentId: string; now: Date },
): Promise<void> {
  if (jobs.length === 0) return;
  const intervals = await tx.query<{ id: string; seconds: number }>(
    'select id, interval_seconds as seconds from checks where id = any($1::uuid[])',
    [jobs.map(({ checkId }) => checkId)],
  );
  const windows = new Map(intervals.map(({ id, seconds }) => [id, claimWindowSeconds(seconds)]));
  await tx.query(
    `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, check_type, lane, state,
       due_at, not_before, expires_at, claim_window_seconds, attempt, first_attempt_at, lease_token, agent_id, reported)
     select j.id, j."accountId", j."checkId", j."runId", j."sequenceId", j."locationId", j."runLocation", j."checkType",
       j.lane, 'kept', j."dueAt", $3, j."dueAt", j."window", j.attempt, j."firstAttemptAt", j."leaseToken",
       coalesce(
         (select h.id from agents h where h.id = j."leaseToken" and h.keeps_until > $3 and not h.has_left),
         (select a.id from agents a where a.id = $2::uuid and a.location_id = j."locationId"),
         j."leaseToken"),
       j.reported
     from jsonb_to_recordset($1::jsonb) as j (id uuid, "accountId" uuid, "checkId" uuid, "runId" uuid,
       "sequenceId" uuid, "locationId" uuid, "runLocation" text, "checkType" text, lane text, "dueAt" timestamptz,
       "window" double precision, attempt integer, "firstAttemptAt" timestamptz, "leaseToken" uuid, reported text[])
     where j."window" is not null`,
    [
      JSON.stringify(
        jobs.map((job) => ({
          ...job,
          lane: laneOf[job.checkType as JobType], // agents hold only types that have jobs
          window: windows.get(job.checkId) ?? null,
        })),
      ),
      uuidPattern.test(agentId) ? agentId : null,
      now,
    ],
  );
}

/** Records the end of runs that never had a job. */
export async function insertFinishedRuns(
  tx: Queryable,
  jobs: readonly {
    id: string;
    locationId: string;
    leaseToken: string | null;
    finalResultId: string;
    reported: readonly string[];
  }[],
  now: Date,
): Promise<void> {
  if (jobs.length === 0) return;
  await tx.query(
    `insert into finished_jobs (job_id, finished_at, location_id, lease_token, past_tokens, reported, final_result_id)
     select j.id, $2, j."locationId", j."leaseToken", '{}', j.reported, j."finalResultId"
     from jsonb_to_recordset($1::jsonb) as j (id uuid, "locationId" uuid, "leaseToken" uuid, reported text[],
       "finalResultId" uuid)`,
    [JSON.stringify(jobs), now],
  );
}
