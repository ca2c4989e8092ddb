import type { SuiteDetails, SuiteRun } from '../../src/script/interface/suite-run.ts';

/** Results of suites, for tests of what an agent does with them. */

/** Of one test that passed. */
export const totals = {
  tests: 1,
  passed: 1,
  failed: 0,
  flaky: 0,
  skipped: 0,
  timedOut: 0,
  interrupted: 0,
  degraded: 0,
};
/** The outcome of a suite with one passed test. */
export const details = (more: Partial<SuiteDetails> = {}): SuiteDetails => ({
  playwrightVersion: '1.58.0',
  engine: { name: 'node', version: '22.23.3' },
  packageManager: { name: 'npm', version: null },
  dependencyCache: 'hit',
  startTime: 1,
  endTime: 2,
  stages: [
    { name: 'install', startTime: 1, durationMs: 400 },
    { name: 'test', startTime: 2, durationMs: 40_000 },
  ],
  runStatus: 'passed',
  exitCode: 0,
  totals,
  errors: [],
  tests: [],
  testsLeftOut: 0,
  ...more,
});
/** A run that passed in 40 s. */
export const passed = (more: Partial<SuiteRun> = {}): SuiteRun => ({
  failure: null,
  degraded: null,
  durationMs: 40_000,
  details: details(),
  files: [],
  ...more,
});
