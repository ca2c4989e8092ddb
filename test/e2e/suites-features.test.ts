import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtProgram } from '../helpers/build.ts';
import { openFiles, testLines } from '../helpers/suite-results.ts';
import { reachesRegistry } from '../helpers/suite-registry.ts';
import { hasSuites, makeProject, startSuites, suiteFixtures, type SuiteBench } from '../helpers/suites.ts';

/**
 * One project with a web server, global setup, projects that depend on each other, a stored login, expected failures,
 * snapshots and tags, run in several ways; and what a run says of itself.
 */

const runs = hasSuites && (await reachesRegistry());
const path = '/usr/local/bin:/usr/bin:/bin';
const shop = join(suiteFixtures, 'npm-features');

describe.runIf(runs)('a project with all of it', { timeout: 180_000 }, () => {
  let bench: SuiteBench;
  let port = 21_000 + (process.pid % 20_000);
  /** A port of each run's own, since two may go on at once. */
  const env = (more: { [name: string]: string } = {}) => ({
    env: { PATH: path, SERVICE_RUN: '1', SHOP_PORT: String((port += 1)), ...more },
  });
  const lines = async (started: Awaited<ReturnType<SuiteBench['start']>>) => {
    const run = await started.run;
    expect(run.failure, started.log.join('\n')).toBeNull();
    return { run, tests: testLines(run) };
  };

  beforeAll(async () => {
    await builtProgram();
    bench = startSuites();
  }, 180_000);
  afterAll(() => bench.close());

  const all = [
    'login | log in as Ada | passed',
    'signed in | account › deleting an account is not built yet | passed',
    'signed in | account › export of orders | skipped',
    'signed in | account › global setup ran before | passed',
    'signed in | account › orders are listed | passed',
    'visitor | a visitor has no account @catalogue | passed',
    'visitor | the api lists items @api | passed',
    'visitor | what the shop sells @smoke @catalogue | passed',
  ];

  test('runs as it is, and its result tells all of it', async () => {
    const started = await bench.start(shop, env());
    const { run, tests } = await lines(started);
    expect(tests).toEqual(all);
    expect(run).toMatchObject({
      degraded: null,
      details: {
        playwrightVersion: '1.58.2',
        engine: { name: 'node' },
        packageManager: { name: 'npm' },
        dependencyCache: 'miss',
        runStatus: 'passed',
        exitCode: 0,
        errors: [],
        totals: {
          tests: 8,
          passed: 7,
          failed: 0,
          flaky: 0,
          skipped: 1,
          timedOut: 0,
          interrupted: 0,
          degraded: 0,
        },
      },
    });
    const names = ['bundle', 'install', 'browsers', 'test', 'report'];
    expect(started.stages).toEqual(names);
    expect(run.details.stages.map(({ name }) => name)).toEqual(names);
    const orders = run.details.tests.find(({ title }) => title === 'orders are listed');
    expect(orders).toMatchObject({
      file: 'tests/account.spec.ts',
      line: 6,
      tags: ['@smoke', '@account'],
      retries: 0,
      errors: [],
    });
    expect(orders?.steps.map(({ title }) => title)).toContain('open the account');
    expect(orders?.attachments.map(({ name }) => name)).toEqual(['trace']);
    const report = await openFiles(run);
    expect(report.config.version).toBe('1.58.2');
    expect(report.stats).toMatchObject({ expected: 7, unexpected: 0, flaky: 0, skipped: 1 });
    expect(report.errors).toEqual([]);
    expect(bench.processes()).toEqual([]);
  });

  test('tags: all of an entry; two runs at once share packages and browsers', async () => {
    const both = bench.start(shop, { ...env(), suite: { tags: ['@smoke @account'] } });
    const any = bench.start(shop, {
      ...env(),
      suite: { tags: ['@api', '@catalogue !@smoke'], projects: ['visitor'] },
    });
    const [first, second] = await Promise.all([both.then(lines), any.then(lines)]);
    expect(first.tests).toEqual([
      'login | log in as Ada | passed',
      'signed in | account › orders are listed | passed',
    ]);
    expect(second.tests).toEqual([
      'visitor | a visitor has no account @catalogue | passed',
      'visitor | the api lists items @api | passed',
    ]);
    for (const { run } of [first, second]) expect(run.details.dependencyCache).toBe('hit');
  });

  test('refreshCache installs again; so does another engine', async () => {
    const options = { tags: ['!@catalogue'], projects: ['visitor'] };
    const api = ['visitor | the api lists items @api | passed'];
    const again = await lines(
      await bench.start(shop, { ...env(), suite: { ...options, refreshCache: true } }),
    );
    expect([again.tests, again.run.details.dependencyCache]).toEqual([api, 'refreshed']);
    const other = await lines(
      await bench.start(shop, { ...env(), suite: { ...options, engine: { name: 'node', version: '24' } } }),
    );
    expect(other.run.details.engine?.version).toMatch(/^24\./);
    expect([other.tests, other.run.details.dependencyCache]).toEqual([api, 'miss']);
  });

  describe('what a run says of itself', () => {
    const config = (settings: string) =>
      `import { defineConfig } from '@playwright/test';\nexport default defineConfig({ workers: 1, retries: 0, ${settings} });`;
    let last = 0;
    const project = (files: { [file: string]: string }) =>
      makeProject(join(bench.folder, `project-${(last += 1)}`), files);

    test('a global timeout applies, fails the run and lists the tests that it cut off', async () => {
      const started = await bench.start(
        project({
          'playwright.config.ts': config('globalTimeout: 4000'),
          'a.spec.ts': `
            import { test } from '@playwright/test';
            test('quick', () => {});
            test('slow', () => new Promise(() => {}));
            test('never begun', () => {});`,
        }),
      );
      const run = await started.run;
      expect(run.failure).toMatchObject({
        code: 'SCRIPT_TIMEOUT',
        message: 'Timed out waiting 4000ms from config.globalTimeout.',
      });
      expect(run.details).toMatchObject({ runStatus: 'timedout', totals: { tests: 3, failed: 0 } });
      // On a busy machine the time is over before the first test.
      const [neverBegun, quick, slow] = testLines(run);
      expect(quick).toMatch(/^quick \| (passed|interrupted)$/);
      expect([neverBegun, slow]).toEqual(['never begun | interrupted', 'slow | interrupted']);
    });

    test('degraded: marked by the helper, also with soft assertions; a scheduled run has no CI', async () => {
      const files = {
        'playwright.config.ts': config(''),
        'a.spec.ts': `
          import { test, expect } from '@playwright/test';
          import { markCheckAsDegraded } from '@location-agent/helpers';
          test('slow today', () => markCheckAsDegraded('the list took 3 s'));
          test('soft', () => {
            expect.soft(1, 'count').toBe(2);
            markCheckAsDegraded('one is missing');
          });
          test('says where it runs', () => console.log('CI=' + process.env.CI, 'RUN=' + process.env.SERVICE_RUN));`,
      };
      const scheduled = await bench.start(project(files), env());
      const { run, tests } = await lines(scheduled);
      expect(run.degraded?.message).toBe('the list took 3 s; one is missing');
      expect(tests).toEqual([
        'says where it runs | passed',
        'slow today | passed | degraded',
        'soft | passed | degraded',
      ]);
      expect(run.details.totals).toMatchObject({ passed: 3, failed: 0, degraded: 2 });
      expect(scheduled.log.join('\n')).toContain('CI=undefined RUN=1');
    });

    test('a command that is killed in the middle: its tests are listed, the run fails', async () => {
      const started = await bench.start(
        project({
          'playwright.config.ts': config(`reporter: './told.ts'`),
          // The runner has heard of the first test's end, and so have all reporters.
          'told.ts': `
            import { writeFileSync } from 'node:fs';
            export default class { onTestEnd() { setImmediate(() => writeFileSync('told', '')); } }`,
          'a.spec.ts': `
            import { test } from '@playwright/test';
            import { existsSync } from 'node:fs';
            test('quick', () => {});
            test('kills the runner', async () => {
              while (!existsSync('told')) await new Promise((resolve) => setTimeout(resolve, 20));
              process.kill(process.ppid, 'SIGKILL');
              await new Promise(() => {});
            });
            test('never begun', () => {});`,
        }),
      );
      const run = await started.run;
      expect(run.failure).not.toBeNull();
      expect(testLines(run)).toEqual([
        'kills the runner | interrupted',
        'never begun | interrupted',
        'quick | passed',
      ]);
      expect(run.details.runStatus).toBe('interrupted');
      expect(bench.processes()).toEqual([]);
    });
  });
});
