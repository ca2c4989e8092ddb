import { InvalidJobError } from '../../errors.ts';
import type { FetchBundle, SuiteOptions, SuiteRun } from './suite-run.ts';

export type SuiteRunnerOptions = {
  /** Where browsers, dependency caches and other things that outlive a run are kept. */
  dataFolder: string;
  extraCaFile?: string | null;
  /** Absent = this host has no way to a bundle. */
  fetchBundle?: FetchBundle;
  warn: (line: string) => void;
};

export type SuiteRunner = {
  /** As `Scripts.runSuite`. */
  run: (options: SuiteOptions) => Promise<SuiteRun>;
  close: () => Promise<void>;
};

/** Runs Playwright suites. */
export function createSuiteRunner(_options: SuiteRunnerOptions): SuiteRunner {
  return {
    run: () => Promise.reject(new InvalidJobError('TYPE_UNAVAILABLE', 'this agent has no engine for suites')),
    close: () => Promise.resolve(),
  };
}
