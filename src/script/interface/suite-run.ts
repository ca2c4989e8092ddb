import type { Reason } from '../../protocol/reasons.ts';
import type { ArtifactType, LogEntry } from '../../protocol/result.ts';
import type { Suite } from '../../protocol/suite.ts';
import type { StepRun } from './playwright-run.ts';

/** What goes into the run of a Playwright suite, and what comes of it. */

/** The stages of a run, in order; each is named in the log with its time, and in the result. */
export const suiteStages = ['bundle', 'install', 'browsers', 'test', 'report'] as const;
export type SuiteStage = (typeof suiteStages)[number];

export type SuiteOptions = {
  suite: Suite;
  /** The attempt's own folder. */
  workDir: string;
  /** The environment of customer code but for what the host itself must add (`scriptEnvironment`). */
  env: { readonly [name: string]: string };
  signal: AbortSignal;
  log: (level: LogEntry['level'], msg: string) => void;
  /** The stage that begins now. */
  onStage: (stage: SuiteStage) => void;
  addSecret: (name: string, value: string) => void;
};

/**
 * Brings a suite's code bundle: writes the archive to `path`. The caller checks size and digest. Rejects with AgentError
 * BUNDLE_UNAVAILABLE or DISK_FULL, or the signal's reason.
 */
export type FetchBundle = (
  bundle: Suite['bundle'],
  to: { path: string; signal: AbortSignal },
) => Promise<void>;

/** What one run came to. Everything here is bounded and JSON-serialisable. */
export type SuiteRun = {
  /** Null = every test passed, was skipped, or flaky (passed at last). */
  failure: Reason | null;
  degraded: { message: string } | null;
  /** Milliseconds that the test command took; 0 when it did not start. */
  durationMs: number;
  details: SuiteDetails;
  /** Files below the workDir, complete and closed. */
  files: { path: string; name: string; type: ArtifactType; contentType: string }[];
};

export type SuiteTotals = {
  tests: number;
  passed: number;
  failed: number;
  flaky: number;
  skipped: number;
  timedOut: number;
  /** Cut off while they ran, or not begun when the run ended before its time. */
  interrupted: number;
  degraded: number;
};

export type SuiteDetails = {
  /** Of the customer's own Playwright; null when the run ended before it was known. */
  playwrightVersion: string | null;
  engine: { name: string; version: string } | null;
  packageManager: { name: string; version: string | null } | null;
  /** Where node_modules came from. */
  dependencyCache: 'hit' | 'miss' | 'refreshed' | 'off' | null;
  /** Milliseconds since the epoch. */
  startTime: number;
  endTime: number;
  /** Those that began, in order. */
  stages: { name: SuiteStage; startTime: number; durationMs: number }[];
  /** As Playwright's own reporter tells it; null = the test command never came so far. */
  runStatus: 'passed' | 'failed' | 'timedout' | 'interrupted' | null;
  exitCode: number | null;
  totals: SuiteTotals;
  /** Errors of the run as a whole, of the config, of global setup. */
  errors: string[];
  /** Failed ones first kept when there is no room for all; `testsLeftOut` says how many are not here. */
  tests: SuiteTest[];
  testsLeftOut: number;
};

export type SuiteTest = {
  title: string;
  /** File, describe blocks, title. */
  titlePath: string[];
  /** Relative to the working folder. */
  file: string;
  line: number;
  project: string;
  tags: string[];
  /** What came of it in the end; `flaky` = passed after a retry. */
  status: 'passed' | 'failed' | 'flaky' | 'timedOut' | 'skipped' | 'interrupted';
  degraded: boolean;
  /** Of the last try. */
  durationMs: number;
  retries: number;
  errors: string[];
  /** Of the last try; only where there is room (failed tests first). */
  steps: StepRun[];
  attachments: { name: string; contentType: string; artifact: string | null }[];
};
