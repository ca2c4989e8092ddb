import type { CaptureSummary } from '../../executors/evidence/capture-summary.ts';
import type { TraceTarget, Unavailable } from '../../executors/evidence/traceroute.ts';
import type { Outcome } from '../../executors/interface/executor.ts';
import type { Reason } from '../../protocol/reasons.ts';
import type { Artifact, LogEntry } from '../../protocol/result.ts';
import type { Grade } from './grade.ts';

/** One finished attempt: the outcome, or why there is none, and the grade. */
export type Attempted = {
  outcome: Outcome;
  grade: Grade;
  artifacts: Artifact[];
  log: LogEntry[];
  startedAt: number;
  stoppedAt: number;
  /** Set if the result is not believed, because the agent's own delay explains it: the reason before that verdict. */
  disbelieved?: Reason;
  /** Where the network failed; absent if it did not. */
  traceTo?: NetworkFailure['traceTo'];
};

/** Evidence of an attempt that failed because of the network. */
export type NetworkFailure = {
  /** Where to trace to, if a trace is possible. */
  traceTo: TraceTarget | Unavailable;
  /** Absent if no packets were captured, because no failure was expected. */
  capture?: { pcap: Buffer; summary: CaptureSummary } | Unavailable;
};
