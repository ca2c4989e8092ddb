import { existsSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtProgram } from '../../helpers/build.ts';
import { hasPlaywright, startRunner, type TestRunner } from '../../helpers/scripts/playwright.ts';

describe.runIf(hasPlaywright)('scripts on Playwright Test', { timeout: 60_000 }, () => {
  let runner: TestRunner;
  let server: Server;
  let url: string;
  const agents: (string | undefined)[] = [];

  beforeAll(async () => {
    await builtProgram();
    runner = startRunner();
    server = createServer((request, response) => {
      agents.push(request.headers['user-agent']);
      response.setHeader('content-type', 'text/html');
      response.end('<title>home</title><h1>hello</h1>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`; // a TCP server's
  }, 120_000);

  afterAll(async () => {
    await runner.close();
    server.close();
  });

  test('a script with snippets, packages, variables and several tests passes; all is kept for a session', async () => {
    const { run, workDir, log, secrets } = runner.start(
      `import { test, expect } from '@playwright/test';
       import { readFileSync } from 'node:fs';
       import { join } from 'node:path';
       const { greeting } = require('./snippets/words.js');
       const _: typeof import('lodash') = require('lodash');
       test('first', async ({ page, baseURL }) => {
         process.env.SERVICE_SECRET_TOKEN = 'made-at-run-time';
         console.log('greeting', greeting, _.capitalize('x'), process.env.PLACE, process.env.API_KEY);
         console.error('to the other stream');
         await page.goto('/');
         await expect(page.locator('h1')).toHaveText('hello');
       });
       test('second', async () => {
         expect(readFileSync(join(__dirname, 'data', 'list.json'), 'utf8')).toBe('[1]');
       });`,
      {
        keepAll: true,
        env: { PATH: '/usr/bin:/bin', PLACE: 'office' },
        script: {
          path: 'tests/home.spec.ts',
          files: [
            { path: 'tests/snippets/words.js', content: `module.exports = { greeting: 'good day' };` },
            { path: 'tests/data/list.json', content: '[1]' },
          ],
          playwrightConfig: { timeout: 20_000, use: { baseURL: url, viewport: { width: 800, height: 600 } } },
        },
      },
    );
    const result = await run;
    expect(result.failure).toBeNull();
    expect(result.details.tests.map(({ title, status }) => [title, status])).toEqual([
      ['first', 'passed'],
      ['second', 'passed'],
    ]);
    expect(result.details).toMatchObject({ runtimeVersion: '2026.04', playwrightVersion: '1.58.2' });
    expect(result.durationMs).toBeGreaterThan(0);
    expect(log).toContain('greeting good day X office undefined');
    expect(log).toContain('to the other stream');
    expect(log).toContainEqual(expect.stringMatching(/^passed .+ \(\d+ ms\)$/));
    expect(secrets).toContain('made-at-run-time');
    expect(agents.at(0)).toMatch(/Mozilla.* \(location-agent\/[\d.]+\)$/);
    const types = result.files.map(({ type }) => type);
    expect(types.filter((type) => type === 'trace')).toHaveLength(2);
    expect(types.filter((type) => type === 'video')).toHaveLength(1);
    expect(types.filter((type) => type === 'report')).toHaveLength(1);
    for (const { path } of result.files) {
      expect(path.startsWith(workDir)).toBe(true);
      expect(existsSync(path)).toBe(true);
    }
  });

  test('a failing test fails the run, with screenshot, trace and video; a missing golden file too; the passing one keeps none', async () => {
    const { run } = runner.start(
      `const { test, expect } = require('@playwright/test');
       test('good', async ({ page }) => { await page.goto('${url}'); });
       test('bad', async ({ page }) => {
         await page.goto('${url}');
         await expect(page).toHaveTitle('other', { timeout: 100 });
       });
       test('golden', async () => { expect('x').toMatchSnapshot('x.txt'); });`,
      { script: { path: 'script.js' } },
    );
    const { failure, files, details } = await run;
    expect(failure).toMatchObject({ code: 'TEST_FAILED', owner: 'target' });
    expect(failure?.message).toContain('bad');
    expect(details.tests.map(({ status }) => status)).toEqual(['passed', 'failed', 'failed']);
    expect(details.tests[2]?.errors[0]).toContain("snapshot doesn't exist");
    const types = files.map(({ type }) => type).toSorted();
    // The files: what Playwright saw of the page when the test failed, in words, and what the golden file would be.
    expect(types).toEqual(['file', 'file', 'report', 'screenshot', 'trace', 'trace', 'video']);
  });

  test('a multi-step script makes calls with its user agent, and records no video', async () => {
    const { run } = runner.start(
      `import { test, expect } from '@playwright/test';
       test('calls', async ({ request }) => {
         await test.step('home', async () => {
           const response = await request.get('${url}');
           expect(response.status()).toBe(200);
         });
       });`,
      { checkType: 'MULTI_STEP', keepAll: true },
    );
    const { failure, details, files } = await run;
    expect(failure).toBeNull();
    expect(details.apiCalls).toHaveLength(1);
    expect(details.apiCalls?.[0]).toMatchObject({ steps: ['home'], response: { status: 200 } });
    expect(agents.at(-1)).toMatch(/^location-agent\/[\d.]+$/);
    expect(files.map(({ type }) => type).toSorted()).toEqual(['report', 'trace']);
  });

  test('an ES module script runs, and runs share no state', async () => {
    const { run, log } = runner.start(
      `import { test, expect } from '@playwright/test';
       import { value } from './other.mjs';
       test('modules', async () => {
         console.log(JSON.stringify([value, globalThis.left ?? null, process.env.PLACE ?? null]));
       });`,
      { script: { path: 'script.mjs', files: [{ path: 'other.mjs', content: 'export const value = 7;' }] } },
    );
    expect((await run).failure).toBeNull();
    expect(log).toContain('[7,null,null]');
  });

  test('one process waits for the next run, and no other is left', async () => {
    const own = startRunner();
    const { run } = own.start(`import { test } from '@playwright/test';\ntest('nothing', () => {});`);
    expect((await run).failure).toBeNull();
    expect(own.leftFolders().length).toBeLessThanOrEqual(1);
    expect(readdirSync(own.folder).filter((name) => name.startsWith('probe-'))).toEqual([]);
    await own.close();
    expect(own.processes()).toEqual([]);
  });
});
