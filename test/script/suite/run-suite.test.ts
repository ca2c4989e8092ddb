import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { JobAborted } from '../../../src/errors.ts';
import { builtProgram } from '../../helpers/build.ts';
import { reachesRegistry } from '../../helpers/suites/suite-registry.ts';
import { hasSuites, makeProject, startSuites, type SuiteBench } from '../../helpers/suites/suites.ts';

const runs = hasSuites && (await reachesRegistry());

const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', SERVICE_RUN: '1' };
/** For projects without ES modules: Playwright's loader of such takes a second for each of its processes. */
const plain = { env: { ...env, PW_DISABLE_TS_ESM: '1' } };

const config = `
import { defineConfig, devices } from '@playwright/test';
export default defineConfig({
  testDir: './tests',
  workers: 2,
  retries: 0,
  projects: [{ name: 'desktop', use: { ...devices['Desktop Chrome'] } }],
});`;

/** Passes, then a test that waits until it is ended. */
const endless = {
  'tests/a.spec.ts': `
    import { test } from '@playwright/test';
    test('quick', async ({}, info) => {
      await info.attach('note', { body: 'kept', contentType: 'text/plain' });
    });
    test('endless', async () => {
      test.setTimeout(0);
      console.log('it has begun');
      await new Promise(() => setInterval(() => undefined, 1000));
    });
    test('never begun', () => {});`,
};

describe.runIf(runs)('suites', { timeout: 120_000 }, () => {
  let bench: SuiteBench;
  let last = 0;
  const project = (files: { [path: string]: string }) => {
    last += 1;
    return makeProject(join(bench.folder, `project-${last}`), { 'playwright.config.ts': config, ...files });
  };

  beforeAll(async () => {
    await builtProgram();
    bench = startSuites({ builds: true });
  }, 180_000);
  afterAll(() => bench.close());
  afterEach(() => {
    // Whatever came of a run: no process of it is left.
    expect(bench.processes()).toEqual([]);
  });

  test('a failed test fails the run; the packages of a failed run are not kept', async () => {
    const started = await bench.start(
      project({
        'tests/a.spec.ts': `import { test, expect } from '@playwright/test'; test('adds', () => expect(1 + 1).toBe(3));`,
      }),
      plain,
    );
    expect(await started.run).toMatchObject({
      failure: { code: 'TEST_FAILED', owner: 'target' },
      details: { dependencyCache: 'miss', runStatus: 'failed', exitCode: 1, totals: { tests: 1, failed: 1 } },
    });
  });

  test('a suite passes with its own packages, in a browser; they are kept for the next', async () => {
    const started = await bench.start(
      project({
        'tests/page.spec.ts': `
          import { test, expect } from '@playwright/test';
          import { writeFileSync } from 'node:fs';
          test('shows a page', async ({ page }) => {
            await page.setContent('<h1>hello</h1>');
            await expect(page.locator('h1')).toHaveText('hello');
            console.log('key', process.env.API_KEY, 'run', process.env.SERVICE_RUN, 'ci', process.env.CI);
            expect(() => writeFileSync('../../outside', '')).toThrow();
          });`,
      }),
    );
    const run = await started.run;
    expect(run).toMatchObject({
      failure: null,
      degraded: null,
      details: {
        playwrightVersion: '1.58.2',
        engine: { name: 'node' },
        packageManager: { name: 'npm' },
        // The run above has failed.
        dependencyCache: 'miss',
        runStatus: 'passed',
        exitCode: 0,
        totals: { tests: 1, passed: 1 },
        errors: [],
        testsLeftOut: 0,
      },
    });
    expect(run.details.stages.map(({ name }) => name)).toEqual([
      'bundle',
      'install',
      'browsers',
      'test',
      'report',
    ]);
    expect(started.stages).toEqual(run.details.stages.map(({ name }) => name));
    const test = run.details.stages.find(({ name }) => name === 'test');
    expect(run.durationMs).toBeGreaterThan(300);
    expect(test?.durationMs ?? 0).toBeGreaterThanOrEqual(run.durationMs);
    expect(run.files.map(({ type }) => type).toSorted()).toEqual(['log', 'report', 'report', 'trace']);
    const output = run.files.find(({ name }) => name === 'output.log');
    expect(output?.path).toContain(started.workDir);
    const text = readFileSync(output?.path ?? '', 'utf8');
    for (const each of ['stage install began', '1 passed', 'key undefined run 1 ci undefined'])
      expect(text).toContain(each);
    for (const each of ['stage test began', '  1 passed'])
      expect(started.log.some((line) => line.startsWith(each))).toBe(true);
    expect(readdirSync(join(bench.folder)).filter((name) => name === 'outside')).toEqual([]);
  });

  test('a cancelled suite stops as by Ctrl-C, and reports its progress', async () => {
    const started = await bench.start(
      project({
        ...endless,
        'playwright.config.ts': config.replace('workers: 2', 'workers: 1'),
      }),
    );
    await started.line('it has begun');
    started.abort.abort(new JobAborted('cancelled'));
    const run = await started.run;
    expect(run).toMatchObject({
      failure: { code: 'CANCELLED' },
      details: {
        dependencyCache: 'hit',
        runStatus: 'interrupted',
        totals: { tests: 3, passed: 1, interrupted: 2 },
      },
    });
    expect(
      started.log.some((line) =>
        /^the suite was stopped because it was cancelled after .*stage test had been/.test(line),
      ),
    ).toBe(true);
    const names = run.files.map(({ name }) => name);
    expect(names).toContain('output.log');
    // Its tests' files, and Playwright's own report of them.
    expect(run.details.tests.find(({ title }) => title === 'quick')?.attachments).toHaveLength(2);
    expect(run.files.map(({ type }) => type)).toEqual(expect.arrayContaining(['log', 'report', 'trace']));
  });

  test('a suite that ignores all signals is killed with all its processes', async () => {
    const deaf = `for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => console.log('deaf to ' + name));`;
    const started = await bench.start(
      project({
        ...endless,
        'playwright.config.ts': config.replace(
          'retries: 0',
          `retries: 0, webServer: { command: 'node server.mjs', port: 0, wait: { stdout: /listening/ }, stdout: 'pipe' }`.replace(
            `port: 0, wait: { stdout: /listening/ }`,
            `port: Number(process.env.SERVER_PORT)`,
          ),
        ),
        'server.mjs': `${deaf} import http from 'node:http'; http.createServer((_, r) => r.end('yes')).listen(Number(process.env.SERVER_PORT));
          import { spawn } from 'node:child_process';
          spawn('node', ['daemon.mjs'], { detached: true, stdio: 'ignore' }).unref();`,
        'daemon.mjs': `${deaf} setInterval(() => 0, 1000);`,
        'run.mjs': `${deaf} import { spawn } from 'node:child_process'; spawn('npx', ['playwright', 'test'], { stdio: 'inherit', detached: true }); setInterval(() => 0, 1000);`,
      }),
      {
        suite: { testCommand: 'node run.mjs' },
        env: { ...plain.env, SERVER_PORT: String(20_000 + (process.pid % 4_000)) },
      },
    );
    await started.line('it has begun');
    expect(bench.processes().some((line) => line.includes('daemon.mjs'))).toBe(true);
    started.abort.abort(new JobAborted('cancelled'));
    const run = await started.run;
    expect(run).toMatchObject({ failure: { code: 'CANCELLED' }, details: { totals: { passed: 1 } } });
  });

  test('a suite that takes longer than it may is a failed run that names the stage', async () => {
    const started = await bench.start(project({}), { suite: { testCommand: 'sleep 60', maxMinutes: 0.15 } });
    const run = await started.run;
    expect(run).toMatchObject({
      failure: {
        code: 'SCRIPT_TIMEOUT',
        owner: 'script',
        message: 'Your check run has reached the maximum run time of 9000 ms.',
      },
    });
    const told = /^the suite was stopped after 9 s, while stage test had been running for \d s$/;
    expect(run.details.errors.some((text) => told.test(text))).toBe(true);
    expect(started.log.some((text) => told.test(text))).toBe(true);
    expect(run.files.map(({ name }) => name)).toContain('output.log');
  });

  test('is killed at once, without a result, when the agent has lost its lease', async () => {
    const started = await bench.start(project({}), {
      suite: { testCommand: `printf 'it has %s\\n' begun; sleep 60` },
    });
    await started.line('it has begun');
    started.abort.abort(new JobAborted('lease-lost'));
    await expect(started.run).rejects.toMatchObject({ code: 'lease-lost' });
  });
});

describe.runIf(hasSuites)('suites that cannot run', { timeout: 60_000 }, () => {
  let bench: SuiteBench | undefined;
  afterEach(() => bench?.close());
  const start = async (
    ...[files, suite, options]: [
      files: { [path: string]: string },
      suite?: Parameters<SuiteBench['start']>[1],
      options?: Parameters<typeof startSuites>[0],
    ]
  ) => {
    bench = startSuites(options);
    return bench.start(makeProject(join(bench.folder, 'project'), files), suite);
  };

  test('a folder that is not in the bundle', async () => {
    const { run } = await start({}, { suite: { workingDir: 'packages/e2e' } });
    expect((await run).failure).toMatchObject({
      code: 'BUNDLE_INVALID',
      message: 'workingDir "packages/e2e" is not a folder of the bundle',
    });
  });

  test('a folder outside of the bundle', async () => {
    const { run } = await start({}, { suite: { workingDir: '../..' } });
    expect((await run).failure).toMatchObject({ code: 'BUNDLE_INVALID' });
  });

  test('no lock file', async () => {
    bench = startSuites();
    const folder = makeProject(join(bench.folder, 'project'), {});
    rmSync(join(folder, 'package-lock.json'));
    const { run } = await bench.start(folder);
    expect((await run).failure).toMatchObject({ code: 'BUNDLE_INVALID', owner: 'script' });
  });

  test('an archive that does not match the check', async () => {
    const digest = '0'.repeat(64);
    bench = startSuites();
    const { run } = await bench.start(makeProject(join(bench.folder, 'project'), {}), {
      suite: { bundle: { key: 'bundle-1', digest, size: 1 } },
    });
    await expect(run).rejects.toMatchObject({ code: 'BUNDLE_UNAVAILABLE' });
  });

  test('an engine that is not here', async () => {
    const { run } = await start({}, { suite: { engine: { name: 'node', version: '4' } } });
    await expect(run).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
  });

  test('a bundle that does not arrive: the stage is logged while it waits, and named at the timeout', async () => {
    const { run, log, workDir } = await start(
      {},
      { suite: { maxMinutes: 0.01 } },
      {
        fetchBundle: (_, { signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error)),
          ),
        stageWordMs: 100,
      },
    );
    const { failure, details, files } = await run;
    expect(failure).toMatchObject({ code: 'SCRIPT_TIMEOUT' });
    expect(details.errors[1]).toMatch(
      /^the suite was stopped after 1 s, while stage bundle had been running for 1 s$/,
    );
    expect(details.stages.map(({ name }) => name)).toEqual(['bundle']);
    expect(log).toContain('still in stage bundle, 0 s');
    expect(files.map(({ name }) => name)).toEqual(['output.log']);
    expect(existsSync(join(workDir, 'output.log'))).toBe(true);
  });
});
