import { defaultRetention } from '../../config/retention.ts';
import type { Log } from '../../log.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import { recordReports } from '../keeping/missed-reports.ts';
import type { AgentLocation } from '../locations/agent-statements.ts';
import { endSessionRuns } from '../scheduling/session-runs.ts';
import { sqlState, type Db } from '../db/database.ts';
import { queueFinishedRuns } from '../results/finished-run-statements.ts';
import {
  findFinishedJobs,
  finishJobs,
  lockJobs,
  reportAttempts,
  type FinishedJob,
} from '../scheduling/jobs.ts';
import { correctMissed, type LateRun } from '../scheduling/correct-missed.ts';
import { closeMissed } from '../scheduling/missed.ts';
import type { Partitions } from '../db/partitions.ts';
import { insertResults, updateStatuses, type ResultToStore } from '../results/store-result.ts';
import { admit, insertFinishedRuns, insertKeptJobs, lockKeptRuns, passScheduler } from './kept-results.ts';
import { accept } from './accept-result.ts';
import { judgeEnded, judgeLive, stateOf, type JobState } from './judge-result.ts';
import {
  endedQuietly,
  findQuiet,
  looksQuiet,
  storeQuiet,
  type FreshlyStored,
  type KnownStored,
} from './quiet-results.ts';
import { readResult, type Answer, type Readable } from './read-result.ts';

/** Stores results of agents. Each is judged separately; transactions are limited in size. */

type Deps = {
  db: Db;
  partitions: Partitions;
  known: KnownStored;
  now: () => number;
  log: Log;
  /** Days that results are kept; absent = the default. */
  resultDays?: number | undefined;
};
type From = Pick<AgentLocation, 'locationId' | 'accountId' | 'slugName'> & { agentId: string };

/** Limits of work and bytes per transaction, so that it does not block the embedded database. */
const chunkWork = 200;
const chunkBytes = 1024 * 1024;
/** Stores a batch and returns one answer per item, in order. Rejects only when the database fails. */
export async function storeResults(deps: Deps, from: From, items: readonly unknown[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  const readable: Readable[] = [];
  for (const [index, item] of items.entries()) {
    const read = readResult(item, index, deps);
    if ('body' in read) readable.push(read);
    else answers[index] = read;
  }
  for (const chunk of chunksOf(readable, deps.now())) {
    for (const [index, answer] of await storeChunk(deps, from, chunk)) answers[index] = answer;
  }
  return answers;
}

function* chunksOf(readable: readonly Readable[], now: number): Generator<Readable[]> {
  let chunk: Readable[] = [];
  let [work, bytes] = [0, 0];
  for (const item of readable) {
    if (chunk.length > 0 && (work >= chunkWork || bytes + item.body.length > chunkBytes)) {
      yield chunk;
      chunk = [];
      [work, bytes] = [0, 0];
    }
    chunk.push(item);
    work += workOf(item, now);
    bytes += item.body.length;
  }
  if (chunk.length > 0) yield chunk;
}

/**
 * Uneventful results take a fraction of the work of others. Each moment that is reported as missed is compared with the results
 * of the check.
 */
const workOf = (item: Readable, now: number): number =>
  looksQuiet(item, now) ? 1 : 2 + missedCount(item) / momentsOfWork;
const momentsOfWork = 20;

function missedCount({ result }: Readable): number {
  const count = result.status === 'missed' ? Number(result.details['count']) : 0;
  return count > 0 ? Math.min(count, protocolLimits.missedMoments) : 0;
}

/** Stores results in one transaction. If the database rejects a value, each result is stored in its own transaction. */
async function storeChunk(
  deps: Deps,
  from: From,
  chunk: readonly Readable[],
): Promise<(readonly [number, Answer])[]> {
  try {
    // A transaction may be repeated: the last one counts.
    let fresh: FreshlyStored = { bases: [], hours: [] };
    const answers = await deps.partitions.withDays(() =>
      deps.db.tx((tx) => {
        fresh = { bases: [], hours: [] };
        return storeInTransaction(tx, deps, from, { all: chunk, fresh });
      }),
    );
    deps.known.bases.areStored(fresh.bases, deps.now());
    deps.known.hours.areStored(fresh.hours);
    return answers;
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    const [first] = chunk;
    if (chunk.length === 1 && first !== undefined) {
      deps.log.warn({ jobId: first.result.jobId, code: sqlState(error) }, 'result refused by the database');
      const { jobId, attempt } = first.result;
      return [
        [first.index, { jobId, attempt, outcome: 'rejected', reason: 'the database rejects a value in it' }],
      ];
    }
    const answers = [];
    for (const item of chunk) answers.push(...(await storeChunk(deps, from, [item])));
    return answers;
  }
}

/** SQLSTATE classes 21 and 22 (data), 23 (constraints) and 54 (limits): the value is at fault, not the database. */
function isRefusedValue(error: unknown): boolean {
  return ['21', '22', '23', '54'].includes(sqlState(error)?.slice(0, 2) ?? '');
}

async function storeInTransaction(
  tx: Db,
  { partitions, known, now, resultDays = defaultRetention.resultDays }: Omit<Deps, 'db' | 'log'>,
  from: From,
  {
    all,
    fresh,
  }: { all: readonly Readable[]; /** Gets what is known to be stored afterwards. */ fresh: FreshlyStored },
): Promise<(readonly [number, Answer])[]> {
  const at = now();
  const runs = await lockKeptRuns(tx, { accountId: from.accountId, items: all, now: at });
  const quiet = await findQuiet(tx, { items: all, runs, now: at });
  const answers = await storeQuiet(tx, { quiet, runs, from, partitions, known, fresh, now: at }, all);
  const chunk = all.filter(({ index }) => !quiet.has(index));
  if (chunk.length === 0) return answers;
  await passScheduler(tx, { items: chunk, runs });
  const missed = chunk.filter(runs.isMissed);
  const ids = [...new Set(chunk.map(({ result }) => result.jobId))];
  const live = new Map<string, JobState>();
  for (const job of await lockJobs(tx, ids)) live.set(job.id, stateOf(job));
  const ended = ids.filter((id) => !live.has(id));
  const finished = new Map<string, FinishedJob>();
  if (ended.length > 0) {
    for (const job of await findFinishedJobs(tx, { ids: ended, accountId: from.accountId }))
      finished.set(job.id, job);
    const unknown = chunk.filter(({ result }) => !live.has(result.jobId) && !finished.has(result.jobId));
    for (const job of await endedQuietly(tx, runs.momentsOf(unknown))) finished.set(job.id, job);
  }
  for (const { result } of chunk.filter((item) => !missed.includes(item))) {
    const state = live.get(result.jobId);
    const end = finished.get(result.jobId);
    if (state !== undefined) state.job = admit(state.job, result, runs);
    else if (end !== undefined) finished.set(result.jobId, admit(end, result, runs));
    else {
      const job = runs.newJob(result);
      if (job !== undefined) live.set(job.id, stateOf(job, true));
    }
  }
  const reports = missed.map(({ result }) => runs.reportOf(result));
  const verdicts = await recordReports(tx, { reports, now: at, partitions, resultDays });
  const unmade = new Map(verdicts.map((verdict, index) => [missed[index]?.index, verdict]));

  const stored: ResultToStore[] = [];
  const others = chunk.map((item) => {
    const { jobId, attempt } = item.result;
    const state = live.get(jobId);
    const verdict =
      unmade.get(item.index) ??
      (state === undefined
        ? judgeEnded(finished.get(jobId), item.result)
        : judgeLive(state, item.result, from));
    if (verdict === 'stored' && state !== undefined && !unmade.has(item.index))
      stored.push(accept(state, item, from));
    const answer: Answer =
      verdict === 'stored' || verdict === 'duplicate' || verdict === 'superseded'
        ? { jobId, attempt, outcome: verdict }
        : { jobId, attempt, outcome: 'rejected', reason: verdict.reason };
    return [item.index, answer] as const;
  });

  partitions.check([...stored.map(({ startedAt }) => startedAt), now()]);
  const states = [...live.values()];
  await correctMissed(tx, { late: lateRunsOf(states), now: now(), partitions });
  await write(tx, { stored, states, agentId: from.agentId, now: new Date(now()) });
  return [...answers, ...others];
}

/** Runs that were recorded as missed, and now have their final result or the first one of a run that its holder makes. */
const lateRunsOf = (states: readonly JobState[]): LateRun[] =>
  states.flatMap(({ job, finalResultId, isNew, changed }) =>
    (finalResultId !== null || (isNew && changed)) && job.isAbandoned && !job.testSession ? [job] : [],
  );

async function write(
  tx: Db,
  {
    stored,
    states,
    agentId,
    now,
  }: { stored: ResultToStore[]; states: JobState[]; agentId: string; now: Date },
): Promise<void> {
  if (stored.length === 0) return;
  // An agent that was cut off may send runs in any order; what follows them expects the oldest first.
  stored.sort((a, b) => a.startedAt - b.startedAt);
  await insertResults(tx, stored, now);
  const changed = states.filter((state) => state.changed);
  const ended = changed.flatMap(({ job, reported, finalResultId, isNew }) =>
    finalResultId === null ? [] : [{ ...job, finalResultId, reported: [...reported], isNew }],
  );
  const going = changed
    .filter(({ finalResultId }) => finalResultId === null)
    .map(({ job, reported, isNew }) => ({ ...job, reported: [...reported], isNew }));
  const endedJobs = ended.filter(({ isNew }) => !isNew);
  const goingJobs = going.filter(({ isNew }) => !isNew);
  if (endedJobs.length > 0) await finishJobs(tx, endedJobs, now);
  if (goingJobs.length > 0) await reportAttempts(tx, goingJobs);
  await insertFinishedRuns(
    tx,
    ended.filter(({ isNew }) => isNew),
    now,
  );
  await insertKeptJobs(
    tx,
    going.filter(({ isNew }) => isNew),
    { agentId, now },
  );
  await updateStatuses(tx, stored, now);
  const runIds = new Map(changed.map(({ job }) => [job.id, job.runId]));
  await queueFinishedRuns(tx, stored, ({ jobId, id }) => runIds.get(jobId ?? '') ?? id);
  const abandoned = new Set(states.flatMap(({ job }) => (job.isAbandoned ? [job.id] : [])));
  await closeMissed(
    tx,
    stored.filter(({ isTest, jobId }) => isTest !== true && !abandoned.has(jobId ?? '')),
  );
  const asked = new Set(ended.filter(({ sessionId }) => sessionId !== null).map(({ id }) => id));
  await endSessionRuns(
    tx,
    stored.flatMap(({ jobId, resultType, status }) =>
      jobId !== null && resultType === 'FINAL' && asked.has(jobId) ? [{ jobId, status }] : [],
    ),
    now,
  );
}
