import type { Reason } from '../../protocol/reasons.ts';
import type { ArtifactType, LogEntry } from '../../protocol/result.ts';
import type { Suite } from '../../protocol/suite.ts';
import type { StepRun } from './playwright-run.ts';

/** Input and outcome of a Playwright suite run. */

/** The stages of a run, in order; the log and the result have each with its duration. */
export const suiteStages = ['bundle', 'install', 'browsers', 'test', 'report'] as const;
export type SuiteStage = (typeof suiteStages)[number];

export type SuiteOptions = {
  suite: Suite;
  /** The attempt's own folder. */
  workDir: string;
  /** The environment of customer code, except what the host must add (`scriptEnvironment`). */
  env: { readonly [name: string]: string };
  signal: AbortSignal;
  log: (level: LogEntry['level'], msg: string) => void;
  /** Called with the stage that begins. */
  onStage: (stage: SuiteStage) => void;
  addSecret: (name: string, value: string) => void;
  /** Called if a secret of the suite cannot be masked: then no text or file of the run may leave the agent. */
  withhold: (why: string) => void;
};

/**
 * Fetches a suite's code bundle: writes the archive to `path`. The caller checks size and digest. Rejects with
 * AgentError BUNDLE_UNAVAILABLE or DISK_FULL, or the signal's reason.
 */
export type FetchBundle = (
  bundle: Suite['bundle'],
  to: { path: string; signal: AbortSignal },
) => Promise<void>;

/** The outcome of one run. Everything here is bounded and JSON-serialisable. */
export type SuiteRun = {
  /** Null = every test passed, was skipped, or was flaky (passed in the end). */
  failure: Reason | null;
  degraded: { message: string } | null;
  /** Duration of the test command in milliseconds; 0 if it did not start. */
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
  /** Cut off while running, or not started when the run was stopped early. */
  interrupted: number;
  degraded: number;
};

export type SuiteDetails = {
  /** The version of the customer's own Playwright; null if the run ended before it was known. */
  playwrightVersion: string | null;
  engine: { name: string; version: string } | null;
  packageManager: { name: string; version: string | null } | null;
  /** Where node_modules came from. */
  dependencyCache: 'hit' | 'miss' | 'refreshed' | 'off' | null;
  /** Milliseconds since the epoch. */
  startTime: number;
  endTime: number;
  /** The stages that began, in order. */
  stages: { name: SuiteStage; startTime: number; durationMs: number }[];
  /** As Playwright's own reporter gives it; null = the test command never got that far. */
  runStatus: 'passed' | 'failed' | 'timedout' | 'interrupted' | null;
  exitCode: number | null;
  totals: SuiteTotals;
  /** Errors of the run itself, of the config, of global setup. */
  errors: string[];
  /** Failed tests are kept first if there is no room for all; `testsLeftOut` counts the others. */
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
  /** The final outcome; `flaky` = passed after a retry. */
  status: 'passed' | 'failed' | 'flaky' | 'timedOut' | 'skipped' | 'interrupted';
  degraded: boolean;
  /** Duration of the last try. */
  durationMs: number;
  retries: number;
  errors: string[];
  /** Steps of the last try; only if there is room (failed tests first). */
  steps: StepRun[];
  attachments: { name: string; contentType: string; artifact: string | null }[];
};
