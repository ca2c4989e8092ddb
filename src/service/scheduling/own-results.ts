import { reasonOf, type ReasonCode } from '../../protocol/reasons.ts';
import { endSessionRuns } from './session-runs.ts';
import type { Db } from '../db/database.ts';
import { queueFinishedRuns } from '../results/finished-run-statements.ts';
import { finishJobs, type LockedJob } from './jobs.ts';
import {
  closeMissed,
  findOpenMissed,
  growMissedResults,
  lockChecksOf,
  saveOpenMissed,
  type OpenMissed,
} from './missed.ts';
import type { Partitions } from '../db/partitions.ts';
import { insertResults, updateStatuses, type ResultToStore } from '../results/store-result.ts';
import { toJsonb } from '../db/jsonb.ts';
import { uuidv7 } from '../engine/ids.ts';

/**
 * Results that the service itself writes, for runs that no agent could claim or finish and for runs that did not take
 * place.
 */

/** Ends jobs (locked) with a result that the service writes. */
export async function endJobs(
  tx: Db,
  options: {
    jobs: readonly LockedJob[];
    status: 'errored' | 'cancelled' | 'missed';
    code: ReasonCode;
    message: string;
    now: number;
    partitions: Partitions;
  },
): Promise<void> {
  const { jobs, status, now } = options;
  if (jobs.length === 0) return;
  options.partitions.check([now]);
  const reason = toJsonb(reasonOf(options.code, options.message));
  const results = jobs.map((job): ResultToStore => ({
    id: uuidv7(now),
    startedAt: now,
    stoppedAt: now,
    accountId: job.accountId,
    checkId: job.checkId,
    jobId: job.id,
    sequenceId: job.sequenceId,
    isTest: job.testSession,
    checkType: job.checkType,
    runLocation: job.runLocation,
    resultType: 'FINAL',
    status,
    hasFailures: false,
    hasErrors: status === 'errored',
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: status === 'cancelled',
    responseTime: 0,
    attempts: job.attempt - 1,
    reason,
    body: bodyOf({}),
    sslDaysRemaining: null,
  }));
  await storeFinals(tx, results, jobs, now);
}

async function storeFinals(
  tx: Db,
  results: readonly ResultToStore[],
  jobs: readonly LockedJob[],
  now: number,
): Promise<void> {
  const at = new Date(now);
  await insertResults(tx, results, at);
  await finishJobs(
    tx,
    jobs.map((job, index) => ({
      id: job.id,
      finalResultId: results[index]?.id ?? '',
      reported: job.reported,
    })),
    at,
  );
  await updateStatuses(tx, results, at);
  const runIds = new Map(jobs.map(({ id, runId }) => [id, runId]));
  await queueFinishedRuns(tx, results, ({ jobId, id }) => runIds.get(jobId ?? '') ?? id);
  await closeMissed(
    tx,
    // A job that was cancelled before an agent had it did not take place either.
    results.filter(
      ({ status, isTest }, index) =>
        isTest !== true && status !== 'missed' && (status !== 'cancelled' || hasHadAgent(jobs[index])),
    ),
  );
  await endSessionRuns(
    tx,
    jobs.flatMap(({ id, sessionId }, index) => {
      const status = results[index]?.status;
      return sessionId === null || status === undefined ? [] : [{ jobId: id, status }];
    }),
    at,
  );
}

const hasHadAgent = (job: LockedJob | undefined) =>
  job !== undefined && (job.leaseToken !== null || job.pastTokens.length > 0);

export type Missed = {
  accountId: string;
  checkId: string;
  checkType: string;
  runLocation: string;
  /** Due moments, milliseconds since the epoch. */
  from: number;
  to: number;
  count: number;
  code: ReasonCode;
};

/** Why a run did not take place, as text. */
export const missedMessages: { readonly [code in ReasonCode]?: string } = {
  NOT_SCHEDULED: 'the service was not running when the run was due',
  NO_AGENT: 'no agent of the location was connected',
  STILL_RUNNING: 'the previous run was still in progress',
  NOT_CLAIMED: 'the agents of the location were busy: none claimed the run in time',
};

/** Records runs that did not take place. Consecutive ones with the same reason extend their record. */
export async function recordMissed(
  tx: Db,
  options: { missed: readonly Missed[]; now: number; partitions: Partitions },
): Promise<void> {
  if (options.missed.length === 0) return;
  const existing = await lockChecksOf(tx, [...new Set(options.missed.map(({ checkId }) => checkId))]);
  const missed = merged(options.missed.filter(({ checkId }) => existing.has(checkId)));
  if (missed.length === 0) return;
  const open = new Map((await findOpenMissed(tx, missed)).map((record) => [keyOf(record), record]));
  const growing = missed.flatMap((item) => {
    const record = open.get(keyOf(item));
    if (record?.reason !== item.code) return [];
    return [{ item, record: grown(record, item) }];
  });
  const kept = await growMissedResults(
    tx,
    growing.map(({ record }) => ({ ...record, details: detailsOf(record) })),
  );
  const stays = new Map(
    growing.filter(({ record }) => kept.has(record.resultId)).map(({ item, record }) => [item, record]),
  );
  const fresh = missed.filter((item) => !stays.has(item));
  options.partitions.check(fresh.map(({ from }) => from));
  const results = fresh.map(resultOf);
  await insertResults(tx, results, new Date(options.now));
  await saveOpenMissed(tx, [
    ...stays.values(),
    ...fresh.map((item, index) => openOf(item, results[index]?.id ?? '')),
  ]);
}

const keyOf = ({ checkId, runLocation }: { checkId: string; runLocation: string }) =>
  `${checkId} ${runLocation}`;

/** Merges several runs of one check at one location; of two reasons, the later one is kept. */
function merged(missed: readonly Missed[]): Missed[] {
  const byKey = new Map<string, Missed>();
  for (const item of [...missed].sort((a, b) => a.from - b.from)) {
    const known = byKey.get(keyOf(item));
    byKey.set(
      keyOf(item),
      known === undefined
        ? item
        : { ...item, from: known.from, to: Math.max(known.to, item.to), count: known.count + item.count },
    );
  }
  return [...byKey.values()];
}

function grown(record: OpenMissed, item: Missed): OpenMissed {
  return {
    ...record,
    count: record.count + item.count,
    from: new Date(Math.min(record.from.getTime(), item.from)),
    to: new Date(Math.max(record.to.getTime(), item.to)),
  };
}

function openOf(item: Missed, resultId: string): OpenMissed {
  return {
    checkId: item.checkId,
    runLocation: item.runLocation,
    resultId,
    resultStartedAt: new Date(item.from),
    count: item.count,
    from: new Date(item.from),
    to: new Date(item.to),
    reason: item.code,
  };
}

const detailsOf = ({ count, from, to, reason }: OpenMissed) => ({ count, from, to, reason });

function resultOf(item: Missed): ResultToStore {
  const id = uuidv7(item.from);
  return {
    id,
    startedAt: item.from,
    stoppedAt: item.to,
    accountId: item.accountId,
    checkId: item.checkId,
    jobId: null,
    sequenceId: uuidv7(item.from),
    checkType: item.checkType,
    runLocation: item.runLocation,
    resultType: 'FINAL',
    status: 'missed',
    hasFailures: false,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime: 0,
    attempts: 0,
    reason: toJsonb(reasonOf(item.code, missedMessages[item.code] ?? item.code)),
    body: bodyOf(detailsOf(openOf(item, id))),
    sslDaysRemaining: null,
  };
}

function bodyOf(details: object): string {
  return toJsonb({ assertions: [], timings: null, details, artifacts: [], log: [] });
}
