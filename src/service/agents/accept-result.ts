import { certificateExpiryOf } from '../../protocol/certificate-expiry.ts';
import type { Reason } from '../../protocol/reasons.ts';
import { toJsonb } from '../db/jsonb.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { AgentLocation } from '../locations/agent-statements.ts';
import type { ResultToStore } from '../results/store-result.ts';
import { totalsOf } from '../results/suite-totals.ts';
import { keyOf, type JobState } from './judge-result.ts';
import type { Readable } from './read-result.ts';

/** The row of a result that counts. */

type From = Pick<AgentLocation, 'locationId' | 'slugName'>;

/**
 * Records the result in the job's state and returns the row to store. The job's own fields override those of the
 * agent.
 */
export function accept(
  state: JobState,
  { result, startedAt, stoppedAt, body, content }: Readable,
  from: From,
): ResultToStore {
  const { job } = state;
  // A run never starts before it is due.
  const started = Math.max(startedAt, job.dueAt.getTime());
  const id = uuidv7(started);
  const isOthers = result.leaseToken === job.leaseToken && from.locationId !== job.locationId;
  state.changed = true;
  state.reported.add(keyOf(result));
  if (result.resultType === 'FINAL') {
    state.finalResultId = id;
  } else if (result.leaseToken === job.leaseToken) {
    // If its agent dies now, the next agent continues with the next attempt.
    state.job = {
      ...job,
      attempt: Math.max(job.attempt, Math.min(100, result.attempt + 1)),
      firstAttemptAt: job.firstAttemptAt ?? new Date(started),
    };
  }
  return {
    id,
    startedAt: started,
    stoppedAt: started + (stoppedAt - startedAt),
    accountId: job.accountId,
    checkId: job.checkId,
    jobId: job.id,
    leaseToken: result.leaseToken,
    sequenceId: job.sequenceId,
    isTest: job.testSession,
    checkType: job.checkType,
    runLocation: isOthers ? job.runLocation : from.slugName,
    resultType: result.resultType,
    status: result.status,
    hasFailures: result.hasFailures,
    hasErrors: result.hasErrors,
    isDegraded: result.isDegraded,
    overMaxResponseTime: result.overMaxResponseTime,
    isCancelled: result.isCancelled,
    responseTime: result.responseTime,
    attempts: result.attempt - 1,
    reason: result.reason === null ? null : toJsonb(knownOf(result.reason)),
    body,
    content,
    sslDaysRemaining: certificateExpiryOf(result.details)?.daysRemaining ?? null,
    totals: totalsOf(job.checkType, result.details),
  };
}

/** Statuses store the reason too, so fields of newer agents must not make it large. */
const knownOf = ({ code, owner, message }: Reason): Reason => ({ code, owner, message });
