import type { Reason } from '../../protocol/reasons.ts';
import type { ArtifactType } from '../../protocol/result.ts';
import type { CallRecord, StepReport } from '../child/capture/format.ts';

/** The outcome of one browser or multi-step script run. Everything here is bounded and JSON-serialisable. */
export type PlaywrightRun = {
  /** Null = every test passed (or was skipped). */
  failure: Reason | null;
  /** Set if a test was marked as degraded and none failed hard; contains the script's reason, if any. */
  degraded: { message: string } | null;
  /** Duration of the tests in milliseconds: from the start of the first to the end of the last. */
  durationMs: number;
  details: PlaywrightDetails;
  /** Files below the workDir, complete and closed. */
  files: { path: string; name: string; type: ArtifactType; contentType: string }[];
};

/** `details` of the result: facts 2.8 and 2.9; our own format where they leave it open. */
export type PlaywrightDetails = {
  runtimeVersion: string;
  playwrightVersion: string;
  /** Milliseconds since the epoch. */
  startTime: number;
  endTime: number;
  /** One text per error of a test, a hook or the script itself. */
  errors: string[];
  tests: TestRun[];
  /** BROWSER only. */
  pages?: PageVisit[];
  /** BROWSER only: the count of each kind. */
  traceSummary?: {
    consoleErrors: number;
    networkErrors: number;
    documentErrors: number;
    userScriptErrors: number;
  };
  /** Calls of the `request` fixture, in order; MULTI_STEP, and BROWSER if a script makes any. */
  apiCalls?: ApiCall[];
};

export type TestRun = {
  title: string;
  /** File, describe blocks, title. */
  titlePath: string[];
  status: 'passed' | 'failed' | 'timedOut' | 'skipped' | 'interrupted';
  degraded: boolean;
  durationMs: number;
  errors: string[];
  steps: StepRun[];
};

/** `category`: `test.step`, `pw:api`, `expect`, `hook`, `fixture` … as Playwright names them. */
export type StepRun = StepReport;

export type WebVital = { score: 'GOOD' | 'NEEDS_IMPROVEMENT' | 'POOR'; value: number };

export type PageVisit = {
  url: string;
  /** The measurements that the page sent before it was left. CLS is a number, the others are milliseconds. */
  webVitals: { [name in 'CLS' | 'FCP' | 'LCP' | 'TBT' | 'TTFB']?: WebVital };
  /** Milliseconds since the start of the navigation; null = the event did not happen. */
  pageTimings: { onContentLoad: number | null; onLoad: number | null };
  /** Bytes. */
  responseSizes: { encoded: number; decoded: number };
  consoleErrors: string[];
  networkErrors: string[];
};

export type ApiCall = Omit<CallRecord, 'kind' | 'test'> & {
  /** Titles of the surrounding steps, outermost first. */
  steps: string[];
  /** `expect` calls after this call and before the next, in the same step. */
  assertions: { title: string; passed: boolean; error: string | null }[];
};
