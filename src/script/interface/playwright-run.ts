import type { Reason } from '../../protocol/reasons.ts';
import type { ArtifactType } from '../../protocol/result.ts';
import type { CallRecord, StepReport } from '../child/capture/format.ts';

/** What one run of a browser or multi-step script came to. Everything here is bounded and JSON-serialisable. */
export type PlaywrightRun = {
  /** Null = every test passed (or was skipped). */
  failure: Reason | null;
  /** Set when a test was marked as degraded and none failed hard; the reason that the script gave, if any. */
  degraded: { message: string } | null;
  /** Milliseconds that the tests took: from the start of the first to the end of the last. */
  durationMs: number;
  details: PlaywrightDetails;
  /** Files below the workDir, complete and closed. */
  files: { path: string; name: string; type: ArtifactType; contentType: string }[];
};

/** `details` of the result: facts 2.8 and 2.9, in our own words where they leave it open. */
export type PlaywrightDetails = {
  runtimeVersion: string;
  playwrightVersion: string;
  /** Milliseconds since the epoch. */
  startTime: number;
  endTime: number;
  /** One text per error of a test, a hook or the script as a whole. */
  errors: string[];
  tests: TestRun[];
  /** BROWSER only. */
  pages?: PageVisit[];
  /** BROWSER only: how many of each. */
  traceSummary?: {
    consoleErrors: number;
    networkErrors: number;
    documentErrors: number;
    userScriptErrors: number;
  };
  /** Calls of the `request` fixture, in order; MULTI_STEP, and BROWSER where a script makes any. */
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
  /** Those that the page gave before it was left. CLS is a number, the others milliseconds. */
  webVitals: { [name in 'CLS' | 'FCP' | 'LCP' | 'TBT' | 'TTFB']?: WebVital };
  /** Milliseconds since the start of the navigation; null = did not come. */
  pageTimings: { onContentLoad: number | null; onLoad: number | null };
  /** Bytes. */
  responseSizes: { encoded: number; decoded: number };
  consoleErrors: string[];
  networkErrors: string[];
};

export type ApiCall = Omit<CallRecord, 'kind' | 'test'> & {
  /** Titles of the steps around it, outermost first. */
  steps: string[];
  /** `expect` calls after this call and before the next, in the same step. */
  assertions: { title: string; passed: boolean; error: string | null }[];
};
