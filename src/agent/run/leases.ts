import { FatalError, JobAborted, ServiceError, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { AgentCondition, RequestOf } from '../../protocol/routes.ts';
import { backoffMs, pause } from '../link/backoff.ts';
import { createHolds, type Hold, type Holds, type LeasedJob } from './holds.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { createRenewals, type LeaseTerms } from './renewals.ts';
import type { ServiceClient } from '../link/client.ts';

export type ReleaseBody = Omit<RequestOf<'release'>, 'leaseToken'>;

/** What running a job needs: to hold the job, and to hand it back. */
export type LeaseSource = {
  hold: (job: LeasedJob) => Hold;
  /** Tells the service at once that a job runs; absent = there is no service. Never rejects. */
  announce?: (hold: Hold) => void;
  /** Hands a job back. Retries until the lease would have expired anyway; never rejects. */
  release: (job: LeasedJob, body: ReleaseBody) => Promise<void>;
};

/** The leases of all jobs that run or wait: renewed together, lost or cancelled individually. */
export type Leases = LeaseSource &
  Pick<Holds, 'held' | 'size'> & {
    /** Called with the answer of each hello. */
    begin: (terms: LeaseTerms) => void;
    /** Hands back every job that is not running at once, and each of the others as soon as it would have to wait. */
    drain: () => void;
    /** Aborts all jobs; returns their number. */
    cancel: () => number;
    /** Resolves when no job is held and no hand-back is in progress. */
    whenIdle: () => Promise<void>;
    stop: () => void;
  };

type LeaseOptions = {
  client: Pick<ServiceClient, 'call'>;
  log: Log;
  metrics: AgentMetrics;
  /** From 0 to 1. */
  random: () => number;
  /** What renewals report about the agent itself; absent = nothing. */
  condition?: () => AgentCondition;
};

export function createLeases(options: LeaseOptions): Leases {
  const stopped = new AbortController();
  let leaseSeconds = 30;
  let releasing = 0;
  let idle: (() => void)[] = [];

  const isIdle = () => holds.size() === 0 && releasing === 0;
  const settle = () => {
    if (!isIdle()) return;
    for (const resolve of idle) resolve();
    idle = [];
  };
  const holds = createHolds(settle, (jobId) => {
    options.log.warn({ jobId }, 'lease lost and the job received again; the older run is aborted');
  });
  const renewals = createRenewals({ ...options, holds, stopped: stopped.signal });

  return {
    hold: holds.hold,
    announce: renewals.announce,
    held: holds.held,
    size: holds.size,
    release: async (job, body) => {
      releasing += 1;
      const held = holds.find(job.jobId);
      if (held?.leaseToken === job.leaseToken) held.released = true;
      try {
        await handBack(job, body, { ...options, leaseSeconds, stopped: stopped.signal });
      } finally {
        releasing -= 1;
        settle();
      }
    },
    drain: holds.drain,
    cancel: () => holds.abortAll('shutdown'),
    begin: (terms) => {
      ({ leaseSeconds } = terms);
      renewals.begin(terms);
    },
    whenIdle: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
    stop: () => {
      renewals.stop();
      stopped.abort(new JobAborted('shutdown'));
    },
  };
}

/**
 * Sends the release until the service accepts it, refuses it permanently, or the lease would have expired. Never
 * rejects.
 */
async function handBack(
  { jobId, leaseToken }: LeasedJob,
  body: ReleaseBody,
  options: LeaseOptions & { leaseSeconds: number; stopped: AbortSignal },
): Promise<void> {
  const { client, log, metrics, random, leaseSeconds, stopped } = options;
  const giveUpAt = performance.now() + leaseSeconds * 1000;
  for (let failures = 1; ; failures += 1) {
    try {
      await client.call('release', { leaseToken, ...body }, { jobId, timeoutMs: 10_000, signal: stopped });
      metrics.jobsReleased += 1;
      return;
    } catch (error) {
      const again = error instanceof ServiceError && error.retryable && !stopped.aborted;
      const waitMs = backoffMs(failures, random);
      if (error instanceof FatalError) return;
      if (!again || performance.now() + waitMs > giveUpAt) {
        log.warn({ jobId, err: toError(error) }, 'job not handed back; its lease will expire');
        return;
      }
      await pause(waitMs, stopped);
    }
  }
}
