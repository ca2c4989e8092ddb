/**
 * The records that the capture in a Playwright process writes, one JSON record per line, and the report that the
 * reporter writes. src/script/playwright/report.ts reads both files. A script can write the same files, so the reader
 * trusts none of them.
 */

/** Limits that both sides enforce. */
export const bounds = {
  /** Bytes of the records of one process. */
  recordBytes: 8 * 1024 * 1024,
  calls: 200,
  visits: 100,
  /** Console or network errors of one page visit. */
  pageErrors: 50,
  /** Characters. */
  bodyText: 32 * 1024,
  headerValue: 1024,
  headers: 50,
  url: 4096,
  shortText: 1024,
  title: 300,
  errorText: 8192,
  errors: 20,
  tests: 200,
  steps: 1500,
  stepDepth: 12,
  attachments: 200,
  /** Bytes of all attachments that a test passes as text or bytes, not as files. */
  attachedBytes: 16 * 1024 * 1024,
  /** Secrets that one process registers, and the characters of one. */
  secrets: 1000,
  secretLength: 128 * 1024,
} as const;

/** The test that was running, with the same ids as in the reporter. Null = none was. */
export type TestKey = { testId: string; retry: number } | null;

export type CallRecord = {
  kind: 'call';
  test: TestKey;
  /** Milliseconds since the epoch. */
  startTime: number;
  durationMs: number;
  request: { method: string; url: string; headers: { [name: string]: string }; body: string | null };
  /** Null = there was no response; `error` has the reason. */
  response: {
    status: number;
    statusText: string;
    headers: { [name: string]: string };
    /** Cut at a limit; null for binary bodies. */
    body: string | null;
    bodyBytes: number;
  } | null;
  error: string | null;
  /** Milliseconds; the phases that the library reports, as in facts 2.3 `timingPhases`. */
  timingPhases: { [phase: string]: number };
};

/** Written again at each change: the last record of an id counts. */
export type VisitRecord = {
  kind: 'visit';
  id: number;
  startTime: number;
  url: string;
  /** Raw values; the reader scores them. */
  vitals: { [name: string]: number };
  onContentLoad: number | null;
  onLoad: number | null;
  encoded: number;
  decoded: number;
  consoleErrors: string[];
  networkErrors: string[];
};

/** Totals of the process so far: the last record counts. */
export type CountsRecord = {
  kind: 'counts';
  consoleErrors: number;
  /** Requests without a response, and responses of 400 and above. */
  networkErrors: number;
  /** Uncaught exceptions in pages. */
  documentErrors: number;
};

export type CaptureRecord =
  | CallRecord
  | VisitRecord
  | CountsRecord
  /** A soft assertion failed. */
  | { kind: 'soft'; test: TestKey }
  | { kind: 'degraded'; test: TestKey; reason: string }
  | { kind: 'secret'; value: string }
  | LostSecret;

/** A secret beyond a limit: no text of the run may leave the agent. `records` = the file of the records is full. */
export type LostSecret = { kind: 'lost-secret'; limit: 'count' | 'length' | 'records' };

export type StepReport = {
  title: string;
  category: string;
  startTime: number;
  durationMs: number;
  error: string | null;
  steps: StepReport[];
};

export type TestReport = {
  id: string;
  retry: number;
  title: string;
  titlePath: string[];
  /** Playwright's status of the last try. */
  status: string;
  expectedStatus: string;
  /** The outcome was as expected, or the test was skipped. */
  ok: boolean;
  startTime: number;
  durationMs: number;
  /** At most `bounds.errors`. */
  errors: string[];
  /** The total count. */
  errorCount: number;
  steps: StepReport[];
  attachments: { name: string; path: string; contentType: string }[];
};

export type RunReport = {
  version: 1;
  /** False = written during the run. */
  complete: boolean;
  playwrightVersion: string;
  startTime: number;
  endTime: number;
  /** At least one test was found and started. */
  began: boolean;
  /** Errors outside of tests. */
  errors: string[];
  tests: TestReport[];
};
