import { expect, test } from 'vitest';
import { AgentError, JobAborted } from '../../src/errors.ts';
import type { ExecutionContext } from '../../src/executors/interface/executor.ts';
import { executePlaywright } from '../../src/executors/playwright.ts';
import { createNetwork } from '../../src/executors/system-network.ts';
import { withoutScripts } from '../../src/executors/without-scripts.ts';
import type { JobOf } from '../../src/protocol/job.ts';
import { reasonOf } from '../../src/protocol/reasons.ts';
import type { Scripts } from '../../src/script/interface/scripts.ts';
import type { SuiteOptions, SuiteRun } from '../../src/script/interface/suite-run.ts';
import { jobFields } from '../helpers/job-fields.ts';

/** What the executor makes of a suite's run. What a run itself is, is tested in test/script/suite. */

const network = createNetwork({ useOsDnsResolver: false });

function job(more: Partial<JobOf<'PLAYWRIGHT'>> = {}): JobOf<'PLAYWRIGHT'> {
  return {
    ...jobFields,
    checkType: 'PLAYWRIGHT',
    lane: 'suite',
    suite: {
      bundle: { key: 'k', digest: '0'.repeat(64), size: 1 },
      workingDir: '',
      installCommand: null,
      testCommand: null,
      configPath: null,
      projects: [],
      tags: [],
      engine: null,
      browsers: [],
      maxMinutes: 30,
      refreshCache: false,
    },
    ...more,
  };
}

const ran: SuiteRun = {
  failure: null,
  degraded: null,
  durationMs: 1234,
  files: [],
  details: {
    playwrightVersion: '1.58.2',
    engine: { name: 'node', version: '22.23.3' },
    packageManager: { name: 'npm', version: null },
    dependencyCache: 'miss',
    startTime: 1,
    endTime: 2,
    stages: [],
    runStatus: 'passed',
    exitCode: 0,
    totals: {
      tests: 1,
      passed: 1,
      failed: 0,
      flaky: 0,
      skipped: 0,
      timedOut: 0,
      interrupted: 0,
      degraded: 0,
    },
    errors: [],
    tests: [],
    testsLeftOut: 0,
  },
};

function bench(runSuite: (options: SuiteOptions) => Promise<SuiteRun>) {
  const log: string[] = [];
  const artifacts: string[] = [];
  const stages: string[] = [];
  const unused = () => Promise.reject(new Error('no part of this test'));
  const scripts: Scripts = {
    runtimes: [],
    openApiScripts: unused,
    runPlaywright: unused,
    runSuite,
    close: () => Promise.resolve(),
  };
  const context: ExecutionContext = {
    ...withoutScripts,
    signal: new AbortController().signal,
    log: (level, msg) => void log.push(`${level} ${msg}`),
    network,
    scripts,
    workDir: () => Promise.resolve('/nowhere'),
    artifacts: { add: ({ name, type }) => void artifacts.push(`${type} ${name}`) },
    onStage: (stage) => void stages.push(stage),
    now: Date.now,
  };
  return { context, log, artifacts, stages };
}

test('a run that passes: its time, its details, its files in their order, its stages', async () => {
  const { context, artifacts, stages } = bench(({ onStage }) => {
    onStage('install');
    onStage('test');
    const file = { path: '/nowhere/x', contentType: 'text/plain' };
    return Promise.resolve({
      ...ran,
      files: [
        { ...file, name: 'report.zip', type: 'report' },
        { ...file, name: 'trace.zip', type: 'trace' },
      ],
    });
  });
  expect(await executePlaywright(job(), context)).toEqual({
    base: { ok: true },
    responseTime: 1234,
    timings: null,
    assertions: [],
    details: ran.details,
  });
  expect(artifacts).toEqual(['report report.zip', 'trace trace.zip']);
  expect(stages).toEqual(['install', 'test']);
});

test.each([
  [
    'failed',
    { failure: reasonOf('TEST_FAILED', '1 test failed') },
    { ok: false, reason: { code: 'TEST_FAILED' } },
  ],
  [
    'marked as degraded',
    { degraded: { message: 'slow today' } },
    { ok: true, degraded: { code: 'MARKED_DEGRADED', message: 'slow today' } },
  ],
  [
    'failed and marked as degraded',
    { failure: reasonOf('INSTALL_FAILED', 'npm ci: 1'), degraded: { message: 'slow' } },
    { ok: false, reason: { code: 'INSTALL_FAILED', owner: 'script' } },
  ],
  [
    'cut off, with the output so far',
    { failure: reasonOf('SCRIPT_TIMEOUT', 'too long') },
    { ok: false, reason: { code: 'SCRIPT_TIMEOUT' } },
  ],
])('a run that %s', async (_name, more, base) => {
  const { context } = bench(() => Promise.resolve({ ...ran, ...more }));
  expect(await executePlaywright(job(), context)).toMatchObject({ base, details: { runStatus: 'passed' } });
});

test('internal errors and shutdowns of the agent are thrown', async () => {
  for (const error of [
    new AgentError('BUNDLE_UNAVAILABLE', 'the service does not hand it out'),
    new JobAborted('shutdown'),
  ]) {
    const { context } = bench(() => Promise.reject(error));
    await expect(executePlaywright(job(), context)).rejects.toBe(error);
  }
  const { context } = bench(() => Promise.resolve(ran));
  await expect(executePlaywright(job(), { ...context, scripts: null })).rejects.toMatchObject({
    code: 'INTERNAL',
  });
});

test('a suite gets the variables of the check, CI only in test sessions, and none that affect the loader', async () => {
  const variable = (key: string, value: string) => ({ key, value, locked: false, secret: false });
  const environmentVariables = [variable('TENANT', 'one'), variable('LD_PRELOAD', '/x.so')];
  const seen: SuiteOptions[] = [];
  const { context, log } = bench((options) => {
    seen.push(options);
    return Promise.resolve(ran);
  });
  await executePlaywright(job({ environmentVariables }), context);
  await executePlaywright(job({ environmentVariables, testSession: true }), context);
  expect(seen.map(({ env }) => [env['TENANT'], env['CI'], env['LD_PRELOAD']])).toEqual([
    ['one', undefined, undefined],
    ['one', '1', undefined],
  ]);
  expect(seen[0]?.env).toMatchObject({ SERVICE_RUN: '1', SERVICE_CHECK_ID: jobFields.checkId });
  expect(log[0]).toBe('warn these variables are not passed to suites: LD_PRELOAD');
});
