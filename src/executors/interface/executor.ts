import type { AssertionResult } from '../../protocol/assertions.ts';
import type { JobType } from '../../protocol/check-types.ts';
import type { JobOf } from '../../protocol/job.ts';
import type { Reason } from '../../protocol/reasons.ts';
import type { ArtifactType, LogEntry, Timings } from '../../protocol/result.ts';
import type { Scripts } from '../../script/interface/scripts.ts';
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
  /** Where customer code runs; null in an agent that carries none of it. */
  scripts: Scripts | null;
  /** A folder of this attempt's own (mode 0700), made at the first call and removed when the attempt is over. */
  workDir: () => Promise<string>;
  artifacts: ArtifactSink;
  /** Tells of the stage of a long run that begins now; the service shows it while the run goes on. */
  onStage?: (stage: string) => void;
  /** Tells of a secret that came up during the run: it is masked in all of the run that leaves the agent from now on. */
  addSecret: (name: string, value: string) => void;
  /** Milliseconds since the epoch. Durations are measured with performance.now(). */
  now: () => number;
};

/** Takes files of an attempt that are to reach the service; they are scrubbed on the way. */
export type ArtifactSink = {
  /**
   * Hands over the file at `path`, in the attempt's workDir; it must not change any more. `name` becomes one of
   * `[A-Za-z0-9._-]`, at most 200 long, and is made unique.
   */
  add: (file: { path: string; name: string; type: ArtifactType; contentType: string }) => void;
};

/**
 * One attempt of one job. It does not retry, grade, report, upload, read the environment or know secrets. What the
 * target does wrong is an outcome; it rejects only for our own fault (AgentError) or because the signal fired.
 */
export type Executor<T extends JobType> = (job: JobOf<T>, context: ExecutionContext) => Promise<Outcome>;
