import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isPlainScript, plainScriptFile } from '../../../../src/script/playwright/plain-script.ts';
import { hasPlaywright, startRunner, type TestRunner } from '../../../helpers/scripts/playwright.ts';

/** Scripts that use Playwright as a library, by the agent's own runner. */

test.each<[boolean, string]>([
  [
    true,
    `const { chromium } = require('playwright');\n(async () => { const b = await chromium.launch(); })();`,
  ],
  [true, `import { chromium } from "playwright-core";\nif (/x/.test(process.env.A)) console.log(1);`],
  [true, `const { chromium, expect } = require('@playwright/test');\nconst b = await chromium.launch();`],
  [true, `// test('no', () => {})\nconst pw = require('playwright');`],
  [false, `import { test } from '@playwright/test';\ntest('a', async ({ page }) => {});`],
  [
    false,
    `const { test, chromium } = require('@playwright/test');\ntest.describe('x', () => { chromium.launch(); });`,
  ],
  [
    false,
    `import { test } from './fixtures';\nimport { chromium } from 'playwright';\ntest ('a', () => {});`,
  ],
  [false, `console.log('nothing of the kind');`],
])('plain: %s %j', (plain, content) => {
  expect(isPlainScript(content)).toBe(plain);
});

test.each<[path: string, content: string, newPath: string, newContent: RegExp]>([
  [
    'a.js',
    `const x = require('y');\nawait x();`,
    'a.js',
    /^module\.exports = \(async \(\) => \{ const x = require\('y'\);\nawait x\(\);\n\}\)\(\);\n$/,
  ],
  ['a.ts', `import x from 'y';\nconst z = await x();`, 'a.mts', /^import x/],
  ['a.ts', `import x from 'y';\nvoid (async () => {\n  await x();\n})();`, 'a.ts', /^import x/],
  ['a.mjs', `import x from 'y';\nawait x();`, 'a.mjs', /^import x/],
])('%s with %j becomes %s', (path, content, newPath, newContent) => {
  const file = plainScriptFile(path, content);
  expect(file).toEqual({ path: newPath, content: expect.stringMatching(newContent) as unknown });
});

describe.skipIf(!hasPlaywright)('library scripts', () => {
  let runner: TestRunner;
  let server: Server;
  let url: string;

  beforeAll(async () => {
    runner = startRunner();
    server = createServer((request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<h1>Hello</h1><script>console.error('from ${request.url}')</script>`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens
  });
  afterAll(async () => {
    await runner?.close();
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
  });

  const asyncMain = () => `const { chromium } = require('playwright');
(async () => {
  require('@location-agent/helpers').secret('swordfish');
  const browser = await chromium.launch();
  const page = await browser.newPage();
  await page.goto('${url}/plain');
  await page.screenshot({ path: 'shot.png' });
  await browser.close();
  console.log('the end');
})();`;

  test('a script that is not awaited runs to its end, as one test', async () => {
    const { run, log, secrets } = runner.start(asyncMain(), { script: { path: 'login.js' } });
    const { failure, details, files } = await run;
    expect(failure).toBeNull();
    expect(details.tests).toEqual([expect.objectContaining({ title: 'login.js', status: 'passed' })]);
    expect(details.pages).toMatchObject([{ url: `${url}/plain`, consoleErrors: ['from /plain'] }]);
    expect(log).toContain('the end');
    expect(secrets).toContain('swordfish');
    const shot = files.find(({ name }) => name === 'shot.png');
    expect(shot?.type).toBe('screenshot');
    expect(
      readFileSync(shot?.path ?? '')
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  }, 120_000);

  test('a script that throws fails, with its own line', async () => {
    const { run } = runner.start(
      `const { request } = require('playwright');
(async () => {
  await request.newContext();
  throw new Error('not today');
})();`,
      { script: { path: 'login.ts' }, checkType: 'MULTI_STEP' },
    );
    const { failure, details } = await run;
    expect(failure).toMatchObject({
      code: 'TEST_FAILED',
      message: expect.stringContaining('not today') as unknown,
    });
    expect(details.errors[0]).toContain('login.ts:4');
  }, 120_000);

  test('top-level await and process.exit', async () => {
    const first = runner.start(
      `const { request } = require('playwright');\nconst api = await request.newContext();\n` +
        `const answer = await api.get('${url}/api');\nconsole.log(answer.status());\nprocess.exit(0);\nthrow 1;`,
      { script: { path: 'a.js' }, checkType: 'MULTI_STEP' },
    );
    expect(await first.run).toMatchObject({
      failure: null,
      details: { apiCalls: [{ request: { url: `${url}/api` }, response: { status: 200 } }] },
    });
    const second = runner.start(
      `import { request } from 'playwright';\nconst x: number = await Promise.resolve(3);\nprocess.exit(x);`,
      {
        script: { path: 'a.ts' },
        checkType: 'MULTI_STEP',
      },
    );
    expect((await second.run).failure?.message).toContain('exit code 3');
  }, 120_000);

  test('a browser that a test leaves open, or starts with options of its own, is no fault of the agent', async () => {
    const { run } = runner.start(
      `import { test, chromium } from '@playwright/test';
test('open', async () => {
  const page = await (await chromium.launch()).newPage();
  await page.goto('${url}/');
  throw new Error('left open');
});
const own = test.extend({ launchOptions: [{ executablePath: '/no/such' }, { scope: 'worker', option: true }] });
own('options', async ({ page }) => { await page.goto('${url}/'); });`,
      { script: { path: 'a.ts' } },
    );
    const { failure, details } = await run;
    expect(failure).toMatchObject({
      code: 'TEST_FAILED',
      message: '2 of 2 tests failed: open: Error: left open',
    });
    expect(details.tests[1]?.errors[0]).toContain('/no/such');
  }, 120_000);
});
