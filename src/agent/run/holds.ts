import { JobAborted } from '../../errors.ts';
import type { LiveLog } from './live-log.ts';

/** A job and the lease with which this agent holds it. */
export type LeasedJob = { readonly jobId: string; readonly leaseToken: string };

/** One job that this agent holds, from its claim until its final result is safe or it is handed back. */
export type Hold = LeasedJob & {
  phase: 'queued' | 'running' | 'waiting';
  /** When its last attempt began, in milliseconds of a monotonic clock. */
  runningSince: number;
  /** The agent drains: the current attempt may finish, but the job does not wait for or start another attempt. */
  leaving: boolean;
  /** Stage of a running suite; null = only `phase` applies. */
  stage: string | null;
  /** Log lines of a running suite that were not sent yet; null = no lines are sent. */
  lines: LiveLog | null;
  /** The agent is handing the job back and must not renew it, or the service would report a lost lease. */
  released: boolean;
  /** Why the job has to end; null while it may continue. */
  aborted: JobAborted | null;
  /** Set by the code that waits for the job or runs it; `abort` calls it once. */
  onAbort: (() => void) | null;
  /**
   * Takes effect once. A cancelled suite still reports its results, so a second abort with another code can stop it.
   */
  abort: (code: JobAborted['code']) => void;
  /** The job is no longer held, and its lease is no longer renewed. */
  end: () => void;
};

/** All jobs that run or wait in this process, by id. */
export type Holds = {
  hold: (job: LeasedJob) => Hold;
  held: () => readonly Hold[];
  size: () => number;
  /** The current hold of a job, if there is one. */
  find: (jobId: string) => Hold | undefined;
  /**
   * Aborts every job that is not running. Running jobs finish their attempt and then end instead of waiting for
   * another.
   */
  drain: () => void;
  /** Aborts every job with this code; returns the number of jobs. */
  abortAll: (code: JobAborted['code']) => number;
};

/** Creates an empty set of holds. `onEnd` is called after each hold ends, `onVoid` when the service hands out a held job again. */
export function createHolds(
  onEnd: () => void = () => undefined,
  onVoid: (jobId: string) => void = () => undefined,
): Holds {
  const holds = new Map<string, Hold>();
  let leaving = false;

  const hold = ({ jobId, leaseToken }: LeasedJob): Hold => {
    const entry: Hold = {
      jobId,
      leaseToken,
      phase: 'queued',
      runningSince: 0,
      stage: null,
      lines: null,
      leaving,
      released: false,
      aborted: null,
      onAbort: null,
      abort: (code) => {
        if (entry.aborted !== null && (entry.aborted.code !== 'cancelled' || code === 'cancelled')) return;
        entry.aborted = new JobAborted(code);
        const wake = entry.onAbort;
        entry.onAbort = null;
        wake?.();
      },
      end: () => {
        if (holds.get(jobId) === entry) holds.delete(jobId);
        onEnd();
      },
    };
    // The service handed out the same job again: the older lease is void, even if the older run continues.
    const older = holds.get(jobId);
    holds.set(jobId, entry);
    if (older !== undefined) {
      onVoid(jobId);
      older.abort('lease-lost');
    }
    return entry;
  };

  return {
    hold,
    held: () => [...holds.values()],
    size: () => holds.size,
    find: (jobId) => holds.get(jobId),
    drain: () => {
      leaving = true;
      for (const entry of holds.values()) {
        entry.leaving = true;
        if (entry.phase !== 'running') entry.abort('shutdown');
      }
    },
    abortAll: (code) => {
      const count = holds.size;
      for (const entry of holds.values()) entry.abort(code);
      return count;
    },
  };
}
