import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { Artifact, ResultStatus } from '../../protocol/result.ts';
import { endAgenticRuns, type AgenticRun } from './run-statements.ts';
import { endSessionRuns } from '../scheduling/session-runs.ts';
import type { Db } from '../db/database.ts';
import { queueFinishedRuns } from '../results/finished-run-statements.ts';
import { closeMissed } from '../scheduling/missed.ts';
import type { Partitions } from '../db/partitions.ts';
import { insertResults, updateStatuses, type ResultToStore } from '../results/store-result.ts';
import { toJsonb } from '../db/jsonb.ts';
import { serviceLocation } from '../heartbeats/outcomes.ts';
import { uuidv7 } from '../engine/ids.ts';

/** Stores the results of agentic runs and queues the work that follows. */

export type AgenticEnd = {
  run: AgenticRun;
  status: ResultStatus;
  reason: Reason | null;
  details: object;
  /** Milliseconds since the epoch. */
  begun: number;
  ended: number;
  /** Files of the run, and the token that identifies them. */
  artifacts: Artifact[];
  filesToken: string | null;
};

/**
 * Finishes runs and stores their results, each once. Omits runs that are gone or belong to another token.
 * Returns the ids of the finished runs.
 */
export async function endRuns(
  tx: Db,
  { token, partitions, now }: { token: string | null; partitions: Partitions; now: number },
  ends: readonly AgenticEnd[],
): Promise<Set<string>> {
  partitions.check(ends.map(({ begun }) => begun));
  const taken = await endAgenticRuns(tx, { ids: ends.map(({ run }) => run.id), token });
  const ids = new Set(taken.map(({ id }) => id));
  const kept = ends.filter(({ run }) => ids.has(run.id));
  const results = kept.map(resultOf);
  const at = new Date(now);
  await insertResults(tx, results, at);
  await updateStatuses(tx, results, at);
  const runIds = new Map(kept.map(({ run }) => [run.id, run.runId]));
  await queueFinishedRuns(tx, results, ({ jobId, id }) => runIds.get(jobId ?? '') ?? id);
  await closeMissed(
    tx,
    results.filter(({ isTest, status }) => isTest !== true && status !== 'missed' && status !== 'cancelled'),
  );
  await endSessionRuns(
    tx,
    kept.flatMap(({ run, status }) => (run.sessionId === null ? [] : [{ jobId: run.id, status }])),
    at,
  );
  return ids;
}

/** The result of a run that was not performed. */
export function unperformed(
  run: AgenticRun,
  end: {
    status: 'errored' | 'cancelled' | 'missed';
    code: Parameters<typeof reasonOf>[0];
    message: string;
    now: number;
  },
): AgenticEnd {
  const { status, code, message, now } = end;
  return {
    run,
    status,
    reason: reasonOf(code, message),
    details: {},
    begun: now,
    ended: now,
    artifacts: [],
    filesToken: null,
  };
}

function resultOf(end: AgenticEnd): ResultToStore {
  const { run, status, reason, details, begun, ended, artifacts, filesToken } = end;
  return {
    id: uuidv7(begun),
    startedAt: begun,
    stoppedAt: ended,
    accountId: run.accountId,
    checkId: run.checkId,
    jobId: run.id,
    ...(filesToken === null ? {} : { leaseToken: filesToken }),
    sequenceId: run.sequenceId,
    isTest: run.testSession,
    checkType: 'AGENTIC',
    runLocation: serviceLocation,
    resultType: 'FINAL',
    status,
    hasFailures: status === 'failed',
    hasErrors: status === 'errored',
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: status === 'cancelled',
    responseTime: Math.max(0, ended - begun),
    attempts: 0,
    reason: reason === null ? null : toJsonb(reason),
    // Agentic assertions differ from those of other types, so they are in the details.
    body: toJsonb({ assertions: [], timings: null, details, artifacts, log: [] }),
    sslDaysRemaining: null,
  };
}
