import { reasonOf, type ReasonCode } from '../../protocol/reasons.ts';
import { endSessionRuns } from './session-runs.ts';
import type { Db } from '../db/database.ts';
import { queueFinishedRuns } from '../results/finished-run-statements.ts';
import { finishJobs, type LockedJob } from './jobs.ts';
import { closeMissed } from './missed.ts';
import type { Partitions } from '../db/partitions.ts';
import { insertResults, updateStatuses, type ResultToStore } from '../results/store-result.ts';
import { toJsonb } from '../db/jsonb.ts';
import { uuidv7 } from '../engine/ids.ts';

/** Results that the service itself writes for runs that no agent could claim or finish. */

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

/** The stored fields of a result that no agent made. */
export function bodyOf(details: object): string {
  return toJsonb({ assertions: [], timings: null, details, artifacts: [], log: [] });
}
