import type { AssertionResult } from '../protocol/assertions.ts';
import type { JobType } from '../protocol/check-types.ts';
import type { JobOf } from '../protocol/job.ts';
import type { Reason } from '../protocol/reasons.ts';
import type { LogEntry, Timings } from '../protocol/result.ts';
import type { Network } from './network.ts';

/**
 * What one attempt saw. Grading (limits, shouldFail, assertions → status) happens outside.
 *
 * `base` is the verdict that shouldFail inverts: connection, HTTP status, rcode, packet loss.
 */
export type Outcome = {
  base: { ok: true; degraded?: Reason } | { ok: false; reason: Reason };
  /** Milliseconds; compared with the check's limits. */
  responseTime: number;
  timings: Timings | null;
  /** Every assertion in order; empty when there was no response to look at. */
  assertions: AssertionResult[];
  /** The type's own fields, JSON-serialisable and bounded. */
  details: Record<string, unknown>;
};

/** What an executor gets besides its job. */
export type ExecutionContext = {
  /**
   * Fires with a JobAborted as reason. `deadline`: return an outcome with reason TIMEOUT and the timings so far;
   * any other code: reject with `signal.reason`.
   */
  signal: AbortSignal;
  /** A line of the run's own log; it becomes part of the result. */
  log: (level: LogEntry['level'], msg: string) => void;
  network: Network;
  /** Milliseconds since the epoch. Durations are measured with performance.now(). */
  now: () => number;
};

/**
 * One attempt of one job. It does not retry, grade, report, upload, read the environment or know secrets. What the
 * target does wrong is an outcome; it rejects only for our own fault (AgentError) or because the signal fired.
 */
export type Executor<T extends JobType> = (job: JobOf<T>, context: ExecutionContext) => Promise<Outcome>;
