/**
 * What the reporter of a Playwright suite writes, one JSON object a line, as tests begin and end: a run that is killed has
 * told what it did until then. The reader is src/script/suite/suite-lines.ts; a customer's code can write the same files.
 */

/** Bounds that both sides keep. */
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
  /** Files that are kept from being cleared away by a second run of the same command. */
  keptFiles: 5000,
  /** Of all attachments that tests hand over as text or bytes, not as files. */
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
  /** Absolute; null = it was a text that found no room. */
  path: string | null;
  /** A second name of the same file, in the run's own folder. */
  kept: string | null;
};

export type SuiteLine =
  | {
      kind: 'run';
      version: 1;
      /** `merge` = of `playwright merge-reports`: its tests ran in earlier runs of the same command. */
      mode: 'test' | 'merge';
      playwrightVersion: string;
      /** Milliseconds, here and below; points in time since the epoch. */
      startTime: number;
      globalTimeout: number;
    }
  /** A test that is to run. */
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
      /** All of them. */
      errorCount: number;
      steps: SuiteStepLine[];
      attachments: SuiteAttachmentLine[];
    }
  /** An error outside of tests. */
  | { kind: 'error'; text: string }
  /** A setting of the project that was changed, for the run's log. */
  | { kind: 'note'; text: string }
  | { kind: 'done'; status: string; endTime: number };

/** Names of what one run leaves in the report folder; `stamp` = start in ms and process id. */
export const runFiles = {
  lines: (stamp: string) => `run-${stamp}.jsonl`,
  html: (stamp: string) => `html-${stamp}`,
  json: (stamp: string) => `results-${stamp}.json`,
  kept: (stamp: string) => `kept-${stamp}`,
};

/** `settings.json` beside the copied modules: what they know of the run. */
export type SuiteSettings = {
  /** Absolute, as all paths here. */
  reportFolder: string;
  /** This package's helpers, for projects whose package manager does not look into folders above. */
  helpers: string;
  reporter: string;
  workers: number;
  retries: number;
};
