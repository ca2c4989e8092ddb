import type { CaptureSummary } from '../../executors/evidence/capture-summary.ts';
import type { TraceTarget, Unavailable } from '../../executors/evidence/traceroute.ts';
import type { Outcome } from '../../executors/interface/executor.ts';
import type { Artifact, LogEntry } from '../../protocol/result.ts';
import type { Grade } from './grade.ts';

/** One attempt that has ended: what was seen, or why there was nothing to see, and the verdict. */
export type Attempted = {
  outcome: Outcome;
  grade: Grade;
  artifacts: Artifact[];
  log: LogEntry[];
  startedAt: number;
  stoppedAt: number;
  /** Where the network failed; absent when it did not. */
  traceTo?: NetworkFailure['traceTo'];
};

/** What there is to tell of an attempt that the network failed. */
export type NetworkFailure = {
  /** Where the way broke off, as far as that can be traced. */
  traceTo: TraceTarget | Unavailable;
  /** Absent when no packets were captured because nobody knew that it would fail. */
  capture?: { pcap: Buffer; summary: CaptureSummary } | Unavailable;
};
