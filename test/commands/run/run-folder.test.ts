import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isFolder, readFolder } from '../../../src/commands/run/folder.ts';
import { run } from '../../../src/commands/run/run.ts';
import { exitCodes, FatalError } from '../../../src/errors.ts';
import type { Result } from '../../../src/protocol/result.ts';
import { builtProgram } from '../../helpers/build.ts';
import { hasSuites, layBuilds, makeProject } from '../../helpers/suites/suites.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'run-folder-'));
  mkdirSync(join(folder, '.git'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const config = `
import { defineConfig } from '@playwright/test';
export default defineConfig({
  testDir: './tests',
  retries: 0,
  workers: 1,
  projects: [{ name: 'one' }, { name: 'two' }],
});`;
const tests = `
import { test, expect } from '@playwright/test';
test('passes @smoke', () => expect(process.env.GREETING).toBe('hello'));
test('sees that somebody waits @smoke', () => expect(process.env.CI).toBe('1'));
test('sees a page @page', async ({ page }) => {
  await page.setContent('<title>here</title>');
  await expect(page).toHaveTitle('here');
});
test('fails @broken', () => expect(1 + 1, 'sums are right').toBe(3));
`;

/** The second: nothing here is an ES module, whose loader takes a second in each of Playwright's processes. */
const variables = ['--env', 'GREETING=hello', '--env', 'PW_DISABLE_TS_ESM=1'];

async function command(args: string[]) {
  let out = '';
  let err = '';
  const code = await run([...args, '--output', join(folder, 'artifacts')], {
    // What this machine needs to reach its registry is the installer's.
    env: {
      ...process.env,
      AGENT_DATA_DIR: join(folder, 'data'),
      API_KEY: '',
      // The machine's Chromium, as if it were installed there: nothing is downloaded.
      PLAYWRIGHT_BROWSERS_PATH: join(folder, 'builds'),
    },
    stdout: (text) => (out += text),
    stderr: (text) => (err += text),
  });
  return { code, out, err };
}

async function failureOf(args: string[]): Promise<{ exitCode: number; message: string }> {
  const error = await run(args, { env: {}, stdout: () => undefined, stderr: () => undefined }).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof FatalError)) throw error;
  return { exitCode: error.exitCode, message: error.message };
}

test('wrong arguments', async () => {
  const bare = join(folder, 'bare');
  mkdirSync(bare);
  writeFileSync(join(bare, 'package.json'), '{}');
  writeFileSync(join(bare, 'check.json'), '{}');
  writeFileSync(join(bare, 'script.ts'), '');
  const { usage, couldNotRun } = exitCodes;
  expect(await failureOf([bare, '--type', 'BROWSER'])).toEqual({
    exitCode: usage,
    message: '--type is not for a suite folder: see location-agent run --help',
  });
  expect((await failureOf([join(bare, 'script.ts'), '--project', 'x'])).message).toMatch(
    /--project is not for scripts/,
  );
  expect((await failureOf([join(bare, 'check.json'), '--env', 'A=1'])).message).toMatch(
    /--env is not for a JSON file/,
  );
  expect(await failureOf([bare, '--engine', 'deno'])).toMatchObject({ exitCode: usage });
  expect((await failureOf([bare, '--engine', 'node@18'])).message).toMatch(/version 22, 24, 26/);
  expect((await failureOf([bare, '--env', 'A'])).message).toMatch(/NAME=VALUE/);
  expect(await failureOf([bare])).toMatchObject({
    exitCode: couldNotRun,
    message: expect.stringMatching(/has no lock file.*npm install --package-lock-only/) as string,
  });
});

test('options become the fields of the job', async () => {
  const project = makeProject(join(folder, 'fields'), { 'e2e/playwright.config.ts': '' });
  const { job } = await readFolder(
    join(project, 'e2e'),
    {
      variables: [{ key: 'A', value: '1', locked: false, secret: false }],
      projects: ['one'],
      tags: ['@a @b', '@c'],
      configPath: 'playwright.config.ts',
      installCommand: null,
      testCommand: 'npx playwright test --max-failures 1',
      engine: 'node@24',
      include: [],
      refreshCache: true,
    },
    { temporary: folder, now: 1_000_000, stderr: () => undefined },
  );
  expect(isFolder(project)).toBe(true);
  expect(job).toMatchObject({
    checkType: 'PLAYWRIGHT',
    checkName: 'e2e',
    lane: 'suite',
    testSession: true,
    retryStrategy: null,
    environmentVariables: [{ key: 'A', value: '1' }],
    suite: {
      workingDir: 'e2e',
      projects: ['one'],
      tags: ['@a @b', '@c'],
      configPath: 'playwright.config.ts',
      installCommand: null,
      testCommand: 'npx playwright test --max-failures 1',
      engine: { name: 'node', version: '24' },
      maxMinutes: 30,
      refreshCache: true,
    },
  });
});

describe.runIf(hasSuites)('suites from a folder', { timeout: 240_000 }, () => {
  test('run as on an agent, and are reported', async ({ skip }) => {
    await builtProgram();
    await layBuilds(join(folder, 'builds'));
    const project = makeProject(join(folder, 'project'), {
      'e2e/playwright.config.ts': config,
      'e2e/tests/a.spec.ts': tests,
      '.npmrc': '//registry.example.com/:_authToken=written-out-here\n',
    });
    const e2e = join(project, 'e2e');
    const tags = ['--tag', '@smoke', '--tag', '@page'];
    const report = await command([e2e, ...variables, '--project', 'one', ...tags]);
    if (report.out.includes('NETWORK_UNAVAILABLE')) {
      process.stderr.write('skipped here: a suite from a folder, whose packages no registry gives\n');
      skip();
    }
    expect(report.code, report.err).toBe(exitCodes.done);
    expect(report.out).toMatch(/^PASSED  PLAYWRIGHT  e2e\n/);
    expect(report.out).toContain('3 tests: 3 passed, 0 degraded, 0 failed, 0 flaky\n');
    expect(report.out).toMatch(/, dependencies installed\n/);
    expect(report.out).toMatch(/\nok {6}\[one\] .*passes @smoke/);
    expect(report.out).toMatch(/\nok {6}\[one\] .*sees a page @page/);
    expect(report.out).toMatch(/\nbundle +\d+\.\d s\ninstall +\d+\.\d s\n/);

    const failed = await command([e2e, '--json', ...variables, '--tag', '!@page']);
    const result = JSON.parse(failed.out) as Result & { details: Record<string, unknown> };
    expect(failed.code, failed.err).toBe(exitCodes.failed);
    expect(failed.err).toContain('warning: .npmrc contains a literal token');
    expect(failed.err).toMatch(/packed 5 files of .*project \(0\.0 MB\), workingDir "e2e"/);
    expect(result).toMatchObject({
      status: 'failed',
      checkType: 'PLAYWRIGHT',
      reason: { code: 'TEST_FAILED', owner: 'target' },
      details: { dependencyCache: 'hit', totals: { tests: 6, passed: 4, failed: 2, flaky: 0 } },
    });
    expect(readdirSync(join(folder, 'artifacts'))).toContain('report.zip');
  });
});
