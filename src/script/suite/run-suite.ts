import { InvalidJobError } from '../../errors.ts';
import type { FetchBundle, SuiteOptions, SuiteRun } from './suite-run.ts';

export type SuiteRunnerOptions = {
  /** Where browsers, dependency caches and other things that outlive a run are kept. */
  dataFolder: string;
  extraCaFile?: string | null;
  /** What suites run on (`findEngines`); absent = that of the package. */
  enginesFolder?: string;
  /** Absent = this host has no way to a bundle. */
  fetchBundle?: FetchBundle;
  /**
   * Added to the environment of installers (packages and browsers) alone, beneath the check's own variables: proxies, with
   * their passwords, authorities, registries. Never part of what tests see.
   */
  installEnvironment?: { readonly [name: string]: string };
  /** Where dependencies of passing runs are kept for later ones; absent = local. */
  dependencyCache?: 'local' | 'off';
  /** Suites that may run at a time: they share the memory. Absent = one. */
  suiteSlots?: number;
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
