/**
 * The lines that the reporter of a Playwright suite writes, one JSON object each, as tests start and finish: a run that
 * is killed leaves its results so far. src/script/suite/report/lines.ts reads them. Customer code can write the same
 * files.
 */

/** Limits that both sides enforce. */
export const suiteBounds = {
  /** Bytes of one file of lines, and of one line. */
  fileBytes: 64 * 1024 * 1024,
  lineBytes: 512 * 1024,
  /** Of one run. */
  tests: 20_000,
  /** Characters. */
  title: 500,
  titles: 20,
  path: 4096,
  errorText: 16 * 1024,
  stepError: 1024,
  /** Of one try of a test. */
  errors: 10,
  attachments: 50,
  tags: 50,
  stepDepth: 8,
  steps: { failed: 400, passed: 60 },
  runErrors: 50,
  notes: 20,
  /** Number of files that are kept when a second run of the same command clears the output folder. */
  keptFiles: 5000,
  /** Bytes of all attachments that tests pass as text or bytes, not as files. */
  bodyBytes: 32 * 1024 * 1024,
} as const;

export type SuiteStepLine = {
  title: string;
  category: string;
  startTime: number;
  durationMs: number;
  error: string | null;
  steps: SuiteStepLine[];
};

export type SuiteAttachmentLine = {
  name: string;
  contentType: string;
  /** Absolute; null = it was a text for which there was no room. */
  path: string | null;
  /** A second name (hard link) of the same file, in the run's own folder. */
  kept: string | null;
};

export type SuiteLine =
  | {
      kind: 'run';
      version: 1;
      /** `merge` = a run of `playwright merge-reports`: its tests ran in earlier runs of the same command. */
      mode: 'test' | 'merge';
      playwrightVersion: string;
      /** Milliseconds, here and below; points in time since the epoch. */
      startTime: number;
      globalTimeout: number;
    }
  /** A test that is planned to run. */
  | {
      kind: 'plan';
      id: string;
      title: string;
      /** File, describe blocks, title. */
      titlePath: string[];
      /** Absolute. */
      file: string;
      line: number;
      project: string;
      tags: string[];
    }
  | { kind: 'begin'; id: string; retry: number; startTime: number }
  | {
      kind: 'end';
      id: string;
      retry: number;
      status: string;
      expectedStatus: string;
      startTime: number;
      durationMs: number;
      errors: string[];
      /** The total count. */
      errorCount: number;
      steps: SuiteStepLine[];
      attachments: SuiteAttachmentLine[];
    }
  /** An error outside of tests. */
  | { kind: 'error'; text: string }
  /** A project setting that was changed, for the run's log. */
  | { kind: 'note'; text: string }
  | { kind: 'done'; status: string; endTime: number };

/** Names of the files that one run writes to the report folder; `stamp` = start in ms and process id. */
export const runFiles = {
  lines: (stamp: string) => `run-${stamp}.jsonl`,
  html: (stamp: string) => `html-${stamp}`,
  json: (stamp: string) => `results-${stamp}.json`,
  kept: (stamp: string) => `kept-${stamp}`,
};

/** The content of `settings.json` next to the copied modules: their input. */
export type SuiteSettings = {
  /** Absolute, as all paths here. */
  reportFolder: string;
  /** This package's helpers, for projects whose package manager does not search parent folders. */
  helpers: string;
  reporter: string;
  workers: number;
  retries: number;
};
