import type { AssertionResult } from '../../protocol/assertions.ts';
import type { JobType } from '../../protocol/check-types.ts';
import type { JobOf } from '../../protocol/job.ts';
import type { Reason } from '../../protocol/reasons.ts';
import type { ArtifactType, LogEntry, Timings } from '../../protocol/result.ts';
import type { Scripts } from '../../script/interface/scripts.ts';
import type { Network } from './network.ts';

/**
 * The outcome of one attempt. The agent grades it afterwards (limits, shouldFail, assertions → status).
 *
 * `base` is the part that shouldFail inverts: connection, HTTP status, rcode, packet loss.
 */
export type Outcome = {
  base: { ok: true; degraded?: Reason } | { ok: false; reason: Reason };
  /** Milliseconds; compared with the check's limits. */
  responseTime: number;
  timings: Timings | null;
  /** All assertions in order; empty if there was no response to evaluate. */
  assertions: AssertionResult[];
  /** The type's own fields, JSON-serialisable and bounded. */
  details: Record<string, unknown>;
};

/** The arguments of an executor besides its job. */
export type ExecutionContext = {
  /**
   * Fires with a JobAborted as its reason. For `deadline`, return an outcome with reason TIMEOUT and the timings so
   * far. For any other code, reject with `signal.reason`.
   */
  signal: AbortSignal;
  /** Adds a line to the run's own log, which becomes part of the result. */
  log: (level: LogEntry['level'], msg: string) => void;
  network: Network;
  /** Runs customer code; null in an agent without script code. */
  scripts: Scripts | null;
  /** A folder for this attempt only (mode 0700), created at the first call and removed after the attempt. */
  workDir: () => Promise<string>;
  artifacts: ArtifactSink;
  /** Reports the stage of a long run that starts now; the service shows it while the run continues. */
  onStage?: (stage: string) => void;
  /**
   * Adds a secret that appeared during the run: from now on it is masked in everything of the run that leaves the
   * agent.
   */
  addSecret: (name: string, value: string) => void;
  /** From now on, nothing of the run leaves the agent but its status and times: a secret of it cannot be masked. */
  withhold: (why: string) => void;
  /** Milliseconds since the epoch. Durations are measured with performance.now(). */
  now: () => number;
};

/** Takes files of an attempt for the service; they are scrubbed first. */
export type ArtifactSink = {
  /**
   * Hands over the file at `path`, in the attempt's workDir; it must not change afterwards. `name` is converted to
   * `[A-Za-z0-9._-]`, at most 200 characters, and made unique.
   */
  add: (file: { path: string; name: string; type: ArtifactType; contentType: string }) => void;
};

/**
 * One attempt of one job. It does not retry, grade, report, upload, read the environment or know secrets. Failures of
 * the target are outcomes; it rejects only for our own fault (AgentError) or because the signal fired.
 */
export type Executor<T extends JobType> = (job: JobOf<T>, context: ExecutionContext) => Promise<Outcome>;
