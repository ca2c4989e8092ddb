import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AgentError } from '../../src/errors.ts';
import type { Suite } from '../../src/protocol/suite.ts';
import { builtProgram } from '../helpers/build.ts';
import { openFiles, testLines } from '../helpers/suites/suite-results.ts';
import { reachesRegistry } from '../helpers/suites/suite-registry.ts';
import { hasSuites, startSuites, suiteFixtures, type SuiteBench } from '../helpers/suites/suites.ts';

/** Whole projects as their owners have them, for every package manager and several releases of Playwright. */

const runs = hasSuites && (await reachesRegistry());

type Expected = {
  env?: { [name: string]: string };
  suite?: Partial<Suite>;
  playwrightVersion: string;
  packageManager: { name: string; version: string | null };
  engine?: string;
  tests: string[];
};

const node22 = '22.';
const projects: { [folder: string]: Expected } = {
  'npm-148': {
    playwrightVersion: '1.48.2',
    packageManager: { name: 'npm', version: null },
    tests: ['desktop | a page is shown | passed', 'desktop | it works at the second try | flaky | retries 1'],
  },
  'pnpm-workspace/e2e': {
    playwrightVersion: '1.52.0',
    packageManager: { name: 'pnpm', version: '10.34.9' },
    tests: ['words of the workspace are shown | passed'],
  },
  'yarn-classic': {
    playwrightVersion: '1.58.2',
    packageManager: { name: 'yarn', version: null },
    tests: ['without a config | passed'],
  },
  'yarn-modules': {
    // As its makers have it run elsewhere: one process of tests.
    env: { CI: '1' },
    suite: { projects: ['chromium'], engine: { name: 'node', version: '24' } },
    playwrightVersion: '1.65.1',
    packageManager: { name: 'yarn', version: '4.18.1' },
    engine: '24.',
    tests: ['chromium | has title | passed', 'chromium | more link | passed'],
  },
  'yarn-pnp': {
    playwrightVersion: '1.65.1',
    packageManager: { name: 'yarn', version: '4.18.1' },
    tests: ['the window has the size of the config | passed'],
  },
  bun: {
    suite: { tags: ['!@page'] },
    playwrightVersion: '1.58.2',
    packageManager: { name: 'bun', version: null },
    tests: ['it adds | passed'],
  },
  'bun ': {
    suite: { engine: { name: 'bun', version: '1.3' } },
    playwrightVersion: '1.58.2',
    packageManager: { name: 'bun', version: null },
    engine: '1.3.',
    tests: ['a page adds @page | passed', 'it adds | passed'],
  },
  'template-pages': {
    suite: { testCommand: 'npm test', engine: { name: 'node', version: '26' } },
    playwrightVersion: '1.65.1',
    packageManager: { name: 'npm', version: null },
    engine: '26.',
    tests: [
      'Desktop Chrome | signing in › greets by name | passed',
      'Desktop Chrome | signing in, at the edges › greets ada | passed',
      'Desktop Chrome | signing in, at the edges › greets joan | passed',
    ],
  },
};

describe.runIf(runs)('projects run as they are', { timeout: 120_000 }, () => {
  let bench: SuiteBench;
  beforeAll(async () => {
    await builtProgram();
    bench = startSuites();
  }, 180_000);
  afterAll(() => bench.close());

  test.each(Object.entries(projects))('%s', async (name, expected) => {
    const started = await bench.start(join(suiteFixtures, name.trim()), {
      suite: expected.suite ?? {},
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', ...expected.env },
    });
    const run = await started.run;
    const log = started.log.join('\n');
    const { details } = run;
    expect(run.failure, log).toBeNull();
    expect(testLines(run)).toEqual(expected.tests);
    expect(details).toMatchObject({
      playwrightVersion: expected.playwrightVersion,
      packageManager: expected.packageManager,
      dependencyCache: 'miss',
      runStatus: 'passed',
      exitCode: 0,
      errors: [],
      testsLeftOut: 0,
    });
    expect(details.engine?.version.startsWith(expected.engine ?? node22)).toBe(true);
    const flaky = expected.tests.filter((line) => line.includes('| flaky')).length;
    const { length } = expected.tests;
    expect(details.totals).toMatchObject({ tests: length, passed: length - flaky, flaky, failed: 0 });
    const report = await openFiles(run);
    expect(report.stats).toMatchObject({ unexpected: 0, flaky });
    // A trace of each try, whatever the project says of traces.
    expect(run.files.filter(({ type }) => type === 'trace')).toHaveLength(length + flaky);
    expect(bench.processes()).toEqual([]);
  });

  test('a browser that cannot be installed is our fault and is named', async () => {
    const started = await bench.start(join(suiteFixtures, 'yarn-modules'), {
      suite: {
        projects: ['webkit'],
        testCommand: 'yarn playwright test --grep title',
        engine: { name: 'node', version: '24' },
      },
    });
    const end = await started.run.catch((error: unknown) => error);
    // Where the machine has Playwright's own build, it runs.
    if (!(end instanceof Error)) return expect(end).toMatchObject({ failure: null });
    expect(end).toBeInstanceOf(AgentError);
    expect(end).toMatchObject({ code: 'BROWSER_UNAVAILABLE', message: expect.stringContaining('webkit') });
  });
});
