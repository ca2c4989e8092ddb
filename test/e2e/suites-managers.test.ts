import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AgentError } from '../../src/errors.ts';
import type { Suite } from '../../src/protocol/suite.ts';
import { builtProgram } from '../helpers/build.ts';
import { openFiles, testLines, zipNames } from '../helpers/suite-results.ts';
import { noDownloads, reachesRegistry, registryVariables } from '../helpers/suite-registry.ts';
import { hasSuites, startSuites, suiteFixtures, type SuiteBench } from '../helpers/suites.ts';
import { killAll, startProgram } from './program.ts';

/** Whole projects as their owners have them, for every package manager and several releases of Playwright. */

const runs = hasSuites && (await reachesRegistry());

type Expected = {
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
    playwrightVersion: '1.65.1',
    packageManager: { name: 'yarn', version: '4.18.1' },
    tests: ['the window has the size of the config | passed'],
  },
  'yarn-pnp': {
    playwrightVersion: '1.65.1',
    packageManager: { name: 'yarn', version: '4.18.1' },
    tests: ['the window has the size of the config | passed'],
  },
  bun: {
    playwrightVersion: '1.58.2',
    packageManager: { name: 'bun', version: null },
    tests: ['a page adds | passed'],
  },
  'bun ': {
    suite: { engine: { name: 'bun', version: '1.3' } },
    playwrightVersion: '1.58.2',
    packageManager: { name: 'bun', version: null },
    engine: '1.3.',
    tests: ['a page adds | passed'],
  },
  shards: {
    suite: { testCommand: 'npm run e2e', engine: { name: 'node', version: '26' } },
    playwrightVersion: '1.65.1',
    packageManager: { name: 'npm', version: null },
    engine: '26.',
    tests: ['part four | passed', 'part one | passed', 'part three | passed', 'part two | passed'],
  },
  'template-pages': {
    playwrightVersion: '1.65.1',
    packageManager: { name: 'npm', version: null },
    tests: [
      'Desktop Chrome | signing in › greets by name | passed',
      'Desktop Chrome | signing in, at the edges › greets ada | passed',
      'Desktop Chrome | signing in, at the edges › greets joan | passed',
    ],
  },
  'template-start': {
    suite: { projects: ['chromium'], engine: { name: 'node', version: '24' } },
    playwrightVersion: '1.65.1',
    packageManager: { name: 'npm', version: null },
    engine: '24.',
    tests: ['chromium | has title | passed', 'chromium | more link | passed'],
  },
};

describe.runIf(runs)('projects run as they are', { timeout: 120_000 }, () => {
  let bench: SuiteBench;
  let main: string;
  beforeAll(async () => {
    main = await builtProgram();
    bench = startSuites();
  }, 180_000);
  afterAll(async () => {
    killAll();
    await bench.close();
  });

  test.each(Object.entries(projects))('%s', async (name, expected) => {
    const started = await bench.start(join(suiteFixtures, name.trim()), { suite: expected.suite ?? {} });
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

  test('a browser that can not be had is our fault, and says which', async () => {
    const started = await bench.start(join(suiteFixtures, 'template-start'), {
      suite: { projects: ['webkit'], engine: { name: 'node', version: '24' } },
    });
    const end = await started.run.catch((error: unknown) => error);
    // Where the machine has Playwright's own build, it runs.
    if (!(end instanceof Error)) return expect(end).toMatchObject({ failure: null });
    expect(end).toBeInstanceOf(AgentError);
    expect(end).toMatchObject({ code: 'BROWSER_UNAVAILABLE', message: expect.stringContaining('webkit') });
  });

  test('location-agent run takes a project as it stands, with what earlier runs have installed', async () => {
    const program = startProgram(
      main,
      ['run', join(suiteFixtures, 'template-pages'), '--json', '--output', join(bench.folder, 'artifacts')],
      { AGENT_DATA_DIR: join(bench.folder, 'data'), ...registryVariables(), ...noDownloads },
    );
    expect(await program.exited, program.stderr()).toBe(0);
    expect(JSON.parse(program.stdout())).toMatchObject({
      status: 'passed',
      checkType: 'PLAYWRIGHT',
      details: { playwrightVersion: '1.65.1', dependencyCache: 'hit', totals: { tests: 3, passed: 3 } },
    });
    expect(await zipNames(join(bench.folder, 'artifacts', 'report.zip'))).toContain('index.html');
  });
});
