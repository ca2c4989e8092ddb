import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtProgram } from '../helpers/build.ts';
import { noteNoDownloads } from '../helpers/suites/noted-downloads.ts';
import { openFiles, testLines } from '../helpers/suites/suite-results.ts';
import { reachesRegistry } from '../helpers/suites/suite-registry.ts';
import {
  hasSuites,
  makeProject,
  startSuites,
  suiteFixtures,
  type SuiteBench,
} from '../helpers/suites/suites.ts';

/**
 * One project with a web server, global setup, projects that depend on each other, a stored login, expected failures,
 * snapshots and tags, run in several ways; and what a run says of itself.
 */

const runs = hasSuites && (await reachesRegistry());
const path = '/usr/local/bin:/usr/bin:/bin';
const shop = join(suiteFixtures, 'npm-features');

describe.runIf(runs)('a project with all of it', { timeout: 180_000 }, () => {
  let bench: SuiteBench;
  // Below those that systems give to connections.
  let port = 28_000 + ((process.pid * 4) % 2_000);
  /** A separate port for each run, since two may run at the same time. */
  const env = (more: { [name: string]: string } = {}) => ({
    env: { PATH: path, SERVICE_RUN: '1', SHOP_PORT: String((port += 1)), ...more },
  });

  beforeAll(async () => {
    await builtProgram();
    bench = startSuites();
    await noteNoDownloads(join(bench.folder, 'data'));
  }, 180_000);
  afterAll(async () => {
    // With several runs at once, a process without a run's name cannot be attributed.
    const left = bench.processes();
    await bench.close();
    expect(left).toEqual([]);
  });

  const all = [
    'login | log in as Ada | passed',
    'signed in | account › deleting an account is not built yet | passed',
    'signed in | account › export of orders | skipped',
    'signed in | account › global setup ran before | passed',
    'signed in | account › orders are listed | passed',
    'visitor | a visitor has no account @catalogue | passed',
    'visitor | less than ever @slow | passed | degraded',
    'visitor | slow today @slow | passed | degraded',
    'visitor | the api lists items @api | passed',
    'visitor | what the shop sells @smoke @catalogue | passed',
  ];

  test('runs unchanged, and its result is complete', async () => {
    const started = await bench.start(shop, env());
    const run = await started.run;
    expect(run.failure, started.log.join('\n')).toBeNull();
    expect(testLines(run)).toEqual(all);
    expect(run).toMatchObject({
      degraded: { message: 'the list took 3 s; one is missing' },
      details: {
        playwrightVersion: '1.58.2',
        engine: { name: 'node' },
        packageManager: { name: 'npm' },
        dependencyCache: 'miss',
        runStatus: 'passed',
        exitCode: 0,
        errors: [],
        totals: {
          tests: 10,
          passed: 9,
          failed: 0,
          flaky: 0,
          skipped: 1,
          timedOut: 0,
          interrupted: 0,
          degraded: 2,
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
    expect(report.stats).toMatchObject({ expected: 9, unexpected: 0, flaky: 0, skipped: 1 });
    expect(report.errors).toEqual([]);
    // The test does not wait for a scheduled run.
    expect(started.log.join('\n')).toContain('CI=undefined RUN=1');
    expect(bench.processes()).toEqual([]);
  });

  // These share packages and browsers while they run at the same time.
  test.concurrent('tags: all of an entry', async ({ expect }) => {
    const started = await bench.start(shop, { ...env(), suite: { tags: ['@smoke @catalogue'] } });
    const run = await started.run;
    expect(run.failure, started.log.join('\n')).toBeNull();
    expect(testLines(run)).toEqual(['visitor | what the shop sells @smoke @catalogue | passed']);
    expect(run).toMatchObject({ degraded: null, details: { dependencyCache: 'hit' } });
  });

  test.concurrent(
    'tags: any of several entries; another engine has packages of its own',
    async ({ expect }) => {
      const engine = { name: 'node', version: '24' } as const;
      const tags = ['@api', '@catalogue !@smoke'];
      const started = await bench.start(shop, { ...env(), suite: { tags, projects: ['visitor'], engine } });
      const run = await started.run;
      expect(run.failure, started.log.join('\n')).toBeNull();
      expect(testLines(run)).toEqual([
        'visitor | a visitor has no account @catalogue | passed',
        'visitor | the api lists items @api | passed',
      ]);
      expect(run.details.engine?.version).toMatch(/^24\./);
      expect(run.details.dependencyCache).toBe('miss');
    },
  );

  test.concurrent(
    'a command that is killed in the middle: its tests are listed, the run fails',
    async ({ expect }) => {
      const started = await bench.start(
        makeProject(join(bench.folder, 'killed'), {
          'playwright.config.ts': `import { defineConfig } from '@playwright/test';
            export default defineConfig({ workers: 1, retries: 0, reporter: './told.ts' });`,
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
      expect(run.details.dependencyCache).toBe('hit');
      expect(bench.processes().filter((line) => line.includes(started.workDir))).toEqual([]);
    },
  );
});
