import type { Result } from '../../protocol/result.ts';
import { certificateExpiryOf } from '../../protocol/certificate-expiry.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import type { Db, Queryable } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { queryResults } from '../db/query-results.ts';
import { clockSkewSql } from '../engine/clock-skew.ts';
import { uuidPattern } from '../engine/ids.ts';
import type { AgentLocation } from '../locations/agent-statements.ts';
import { insertBases, type Base, type ResultBases } from '../results/bases.ts';
import { leaveBehind, widenStatuses } from '../results/catch-up.ts';
import { noteRollupsDue, type HourDue, type HourMarks } from '../results/rollups-due.ts';
import { insertResults } from '../results/store-result.ts';
import { startsWithinMs } from '../scheduling/gaps.ts';
import { accept } from './accept-result.ts';
import { stateOf } from './judge-result.ts';
import { promptMs, type KeptRuns } from './kept-results.ts';
import type { Answer, Readable } from './read-result.ts';

/**
 * Uneventful runs of held checks: they pass, as the run before did, and nothing waits for them. Their result is all that
 * is stored, because the followers would do nothing with them. Any other result is stored in the usual way.
 */

/** Certificates with at most this many days left are examined, so their runs are followed. */
const sslDays = 30;

/** Whether a result can be uneventful, as far as it and the agent's part in it say. */
export function mayBeQuiet(item: Readable, runs: KeptRuns, now: number): boolean {
  const keeper = runs.keeperOf(item.result);
  return keeper?.droppedAt === null && hasNoRoute(keeper.checkType) && looksQuiet(item, now);
}

/** Whether it can be uneventful, as far as it says itself. */
export function looksQuiet({ result, startedAt }: Readable, now: number): boolean {
  if (result.dueAt === undefined || !uuidPattern.test(result.sequenceId)) return false;
  // A late run may be recorded as missed already. And where its result is must follow from its moment: see `endedQuietly`.
  const dueAt = Date.parse(result.dueAt);
  if (now - dueAt >= promptMs || startedAt - dueAt >= promptMs) return false;
  if (result.resultType !== 'FINAL' || result.attempt !== 1 || result.artifacts.length > 0) return false;
  return isPassed(result) && !expiresSoon(result);
}

const isPassed = (result: Result) =>
  result.status === 'passed' &&
  result.reason === null &&
  !result.hasFailures &&
  !result.hasErrors &&
  !result.isDegraded &&
  !result.overMaxResponseTime &&
  !result.isCancelled;

/** Routes are compared with that of the run before. */
const hasNoRoute = (checkType: string) => serviceCheckType(checkType)?.hasRoute === false;

const daysOf = ({ details }: Result) => certificateExpiryOf(details)?.daysRemaining ?? null;
const expiresSoon = (result: Result) => (daysOf(result) ?? Infinity) <= sslDays;

/** What is known of a check in which nothing happens, and of one of its runs. */
type Calm = {
  jobId: string;
  lastStartedAt: Date;
  longest: number;
  shortest: number;
  runLocation: string | null;
  sslDaysRemaining: number | null;
  isBehind: boolean;
};

/** `isBehind`: the status of the check is behind already. `isExtreme`: no run has been as long, or as short. */
type Quiet = ReadonlyMap<number, { isBehind: boolean; isExtreme: boolean }>;

/**
 * Those of these results whose runs are uneventful, by index. The checks must be locked (`lockKeptRuns`), and everything is read under that lock.
 */
export async function findQuiet(
  tx: Queryable,
  { items, runs, now }: { items: readonly Readable[]; runs: KeptRuns; now: number },
): Promise<Quiet> {
  const quiet = new Map<number, { isBehind: boolean; isExtreme: boolean }>();
  // The order of a check's results is kept: one that is not quiet makes those around it wait for it.
  const loud = new Set(
    items.filter((item) => !mayBeQuiet(item, runs, now)).map(({ result }) => result.checkId),
  );
  const candidates = items.filter(({ result }) => !loud.has(result.checkId));
  if (candidates.length === 0) return quiet;
  const calm = new Map((await findCalm(tx, candidates, now)).map((row) => [row.jobId, row]));
  const jobIds = new Set<string>();
  for (const { result, startedAt } of candidates) {
    const known = calm.get(result.jobId);
    // A run never starts before it is due.
    const started = Math.max(startedAt, Date.parse(result.dueAt ?? ''));
    const isQuiet =
      known !== undefined &&
      !jobIds.has(result.jobId) &&
      started >= known.lastStartedAt.getTime() &&
      known.runLocation === runs.keeperOf(result)?.runLocation &&
      (daysOf(result) ?? known.sslDaysRemaining) === known.sslDaysRemaining;
    if (!isQuiet) loud.add(result.checkId);
    jobIds.add(result.jobId);
  }
  for (const { index, result } of candidates) {
    const known = calm.get(result.jobId);
    if (known === undefined || loud.has(result.checkId)) continue;
    const isExtreme = result.responseTime < known.shortest || known.longest < result.responseTime;
    quiet.set(index, { isBehind: known.isBehind, isExtreme });
  }
  return quiet;
}

/**
 * Checks that have passed, with no alert and no run that waits to be followed. In one statement, so that it sees the
 * queue of runs and the state of alerts at one moment.
 */
async function findCalm(tx: Queryable, items: readonly Readable[], now: number): Promise<Calm[]> {
  const dueAt = items.map(({ result }) => Date.parse(result.dueAt ?? ''));
  return tx.query<Calm>(
    `select i.job as "jobId", s.last_started_at as "lastStartedAt", s.longest_run as longest, s.shortest_run as shortest,
       s.last_run_location as "runLocation", s.ssl_days_remaining as "sslDaysRemaining", s.is_behind as "isBehind"
     from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as i (job, check_id, due)
     join check_statuses s on s.check_id = i.check_id
     join alert_states a on a.check_id = i.check_id
     where s.status = 'passed' and not s.has_failures and not s.has_errors and not s.is_degraded and s.reason is null
       and s.longest_run is not null and s.shortest_run is not null
       and coalesce(s.ssl_days_remaining > ${sslDays}, true)
       -- A run that passes after another that has passed raises no alert and ends none.
       and a.status = 'passing' and a.last_run_at is not null and a.last_run_at <= s.last_started_at
       -- Each is looked up by itself, however large its table is: hence the limits. In the order of an index: without, the planner
       -- expects to meet one soon, and reads the table.
       -- An earlier run is followed first.
       and (select 1 from finished_runs f where f.check_id = i.check_id order by f.run_id limit 1) is null
       -- The record of missed runs before this one is closed.
       and (select 1 from missed_runs m where m.check_id = i.check_id order by m.run_location limit 1) is null
       -- Measured runs end the trouble of a location's network.
       and (select 1 from kept_checks k join location_networks n on n.location_id = k.location_id
         where k.check_id = i.check_id and k.dropped_at is null and n.since is not null limit 1) is null
       and (select 1 from jobs j where j.id = i.job limit 1) is null
       and (select 1 from finished_jobs e where e.job_id = i.job order by e.finished_at limit 1) is null
       -- The run has its result already, or the clock was wrong and has been set back.
       and (select 1 from check_results r where r.check_id = i.check_id and r.started_at >= $4
         and (r.job_id = i.job or r.started_at > $5::timestamptz + ${clockSkewSql})
         order by r.started_at limit 1) is null`,
    [
      items.map(({ result }) => result.jobId),
      items.map(({ result }) => result.checkId),
      dueAt.map((at) => new Date(at)),
      new Date(Math.min(...dueAt)),
      new Date(now),
    ],
  );
}

/** What this replica knows to be stored, so that it need not be stored again. */
export type KnownStored = { bases: ResultBases; hours: HourMarks };
/** What a transaction stores of it; known to be stored once it has ended. */
export type FreshlyStored = { bases: Base[]; hours: HourDue[] };

/** Stores the results of uneventful runs. Nothing else of the runs has to be written. */
export async function storeQuiet(
  tx: Db,
  {
    quiet,
    runs,
    from,
    partitions,
    known: { bases, hours },
    fresh,
    now,
  }: {
    quiet: Quiet;
    runs: KeptRuns;
    from: Pick<AgentLocation, 'locationId' | 'slugName'>;
    partitions: Partitions;
    known: KnownStored;
    /** Gets what is stored with them. */
    fresh: FreshlyStored;
    now: number;
  },
  items: readonly Readable[],
): Promise<(readonly [number, Answer])[]> {
  const stored = items.flatMap((item) => {
    const known = quiet.get(item.index);
    const job = known === undefined ? undefined : runs.newJob(item.result);
    if (known === undefined || job === undefined) return [];
    return [{ ...known, index: item.index, row: accept(stateOf(job, true), item, from) }];
  });
  if (stored.length === 0) return [];
  partitions.check([...stored.map(({ row }) => row.startedAt), now]);
  const rows = stored.map(({ row }) => row);
  const short = bases.shorten(rows, now);
  fresh.bases.push(...short.fresh);
  partitions.check(short.fresh.map(({ startedAt }) => startedAt));
  await insertBases(tx, short.fresh);
  await insertResults(tx, short.results, new Date(now));
  const due = hours.missing(
    rows.map(({ checkId, startedAt }) => ({ checkId, startedAt: new Date(startedAt) })),
  );
  fresh.hours.push(...due);
  await noteRollupsDue(tx, due);
  await leaveBehind(
    tx,
    stored.flatMap(({ isBehind, row }) => (isBehind ? [] : [row.checkId])),
  );
  await widenStatuses(
    tx,
    stored.flatMap(({ isExtreme, row }) => (isExtreme ? [row] : [])),
  );
  return stored.map(({ index, row }) => {
    const { jobId, attempts } = row;
    return [index, { jobId: jobId ?? '', attempt: attempts + 1, outcome: 'stored' }] as const;
  });
}

/** The end of a run of which only the result is known. */
export type QuietEnd = { id: string; leaseToken: string; pastTokens: string[]; reported: string[] };

/** Those of these runs that ended uneventfully: they have no other record than their result. */
export async function endedQuietly(
  tx: Queryable,
  runs: readonly { jobId: string; checkId: string; dueAt: number }[],
): Promise<QuietEnd[]> {
  if (runs.length === 0) return [];
  const moments = runs.map(({ dueAt }) => dueAt);
  const rows = await queryResults<{ id: string; leaseToken: string | null; attempts: number }>(
    tx,
    {
      checkIds: [...new Set(runs.map(({ checkId }) => checkId))],
      spans: moments.map((at) => ({ from: new Date(at), to: new Date(at + startsWithinMs) })),
      columns: ['check_id', 'job_id', 'lease_token', 'result_type', 'started_at', 'attempts'],
      only: { result_type: 'FINAL' },
      // A result that comes again after a day must not wait for a file that nobody can read any more.
      leaveOut: 'damaged',
    },
    `select r.job_id as id, r.lease_token as "leaseToken", r.attempts
     from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as i (job, check_id, due)
     join check_results r on r.check_id = i.check_id and r.job_id = i.job and r.result_type = 'FINAL'
       and r.started_at >= i.due and r.started_at <= i.due + interval '${startsWithinMs} milliseconds'
       and r.started_at >= $4 and r.started_at <= $5`,
    [
      runs.map(({ jobId }) => jobId),
      runs.map(({ checkId }) => checkId),
      moments.map((at) => new Date(at)),
      new Date(Math.min(...moments)),
      new Date(Math.max(...moments) + startsWithinMs),
    ],
  );
  return rows.flatMap(({ id, leaseToken, attempts }) =>
    leaseToken === null
      ? []
      : [{ id, leaseToken, pastTokens: [], reported: [`${attempts + 1}:${leaseToken}`] }],
  );
}
