import type { Result } from '../../protocol/result.ts';
import type { AgentLocation } from '../locations/agent-statements.ts';
import type { FinishedJob, LockedJob } from '../scheduling/jobs.ts';

/** Whether a result counts: pure functions of what is known of its run. */

/** State of a job within one transaction. */
export type JobState = {
  job: LockedJob;
  reported: Set<string>;
  finalResultId: string | null;
  changed: boolean;
  /** Of a check that an agent holds: the table of jobs has no row of this run. */
  isNew: boolean;
};

/** The state of a job before any result of the transaction. */
export const stateOf = (job: LockedJob, isNew = false): JobState => ({
  job,
  reported: new Set(job.reported),
  finalResultId: null,
  changed: false,
  isNew,
});

export type Verdict = 'stored' | 'duplicate' | 'superseded' | { reason: string };

export const keyOf = ({ attempt, leaseToken }: Result) => `${attempt}:${leaseToken}`;
const noSuchJob = { reason: 'no such job at this location' };
const noSuchLease = { reason: 'the lease token is not one of this job' };

/** For a run that already has its final result: results of other leases are too late. */
export function judgeEnded(job: FinishedJob | undefined, result: Result): Verdict {
  if (job === undefined) return noSuchJob;
  if (job.reported.includes(keyOf(result))) return 'duplicate';
  return hadLease(job, result) ? 'superseded' : noSuchJob;
}

/** Every lease of the job, current or replaced, may report; the first final result counts. */
export function judgeLive(
  state: JobState,
  result: Result,
  from: Pick<AgentLocation, 'locationId' | 'accountId'>,
): Verdict {
  const { job } = state;
  // The lease token identifies the run. The reporter may belong to another location, because the job may have moved,
  // and agents that share a data directory send the results of a dead one.
  if (job.accountId !== from.accountId) return noSuchJob;
  if (!hadLease(job, result)) return job.locationId === from.locationId ? noSuchLease : noSuchJob;
  if (state.reported.has(keyOf(result))) return 'duplicate';
  return state.finalResultId === null ? 'stored' : 'superseded';
}

const hadLease = (job: { leaseToken: string | null; pastTokens: string[] }, { leaseToken }: Result) =>
  job.leaseToken === leaseToken || job.pastTokens.includes(leaseToken);
