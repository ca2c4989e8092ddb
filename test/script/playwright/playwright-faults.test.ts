import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { JobAborted } from '../../../src/errors.ts';
import { childSlots } from '../../../src/script/process/child-slots.ts';
import { builtProgram } from '../../helpers/build.ts';
import { hasPlaywright, startRunner, type TestRunner } from '../../helpers/scripts/playwright.ts';

const importTest = `import { test, expect } from '@playwright/test';\n`;
const plainTest = `${importTest}test('one', async () => { BODY });\n`;
const body = (text: string) => plainTest.replace('BODY', () => text);

let tools: string;
let runner: TestRunner | undefined;

beforeAll(async () => {
  tools = mkdtempSync(join(tmpdir(), 'playwright-tools-'));
  if (hasPlaywright) await builtProgram();
}, 120_000);

afterAll(() => rmSync(tools, { recursive: true }));

/** Nothing of a runner is left: no process, no folder of a run. */
async function expectNothingLeft(used: TestRunner | undefined): Promise<void> {
  if (used === undefined) return;
  await used.close();
  await vi.waitFor(() => expect(used.processes()).toEqual([]), { timeout: 5000 });
}

function program(name: string, text: string): string {
  const path = join(tools, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

describe.runIf(hasPlaywright)('scripts that misbehave', { timeout: 60_000 }, () => {
  beforeAll(() => {
    runner = startRunner({ limits: { outputBytes: 300_000 } });
  });
  afterAll(() => expectNothingLeft(runner), 20_000);

  test.each([
    ['has no tests', `console.log('nothing here');`, 'SCRIPT_INVALID', /has no tests/],
    ['exits while it loads', `process.exit(0);`, 'SCRIPT_THREW', /exit code 0/],
    [
      'needs a package that is not there',
      `import 'no-such-package';`,
      'SCRIPT_INVALID',
      /Cannot find .*no-such-package/,
    ],
    // Those that throw, and those with a syntax error: capture-verdicts.test.ts.
  ])('a script that %s', async (name, content, code, message) => {
    const { run } = runner!.start(content);
    const { failure, files, details } = await run;
    expect(failure).toMatchObject({ code, owner: 'script' });
    expect(failure?.message).toMatch(message);
    if (name !== 'exits while it loads') expect(details.errors.length).toBeGreaterThan(0);
    expect(details.tests).toEqual([]);
    expect(files.filter(({ type }) => type === 'trace' || type === 'video')).toEqual([]);
  });

  test('tests that damage their own process or folder fail, and leave no file', async () => {
    const deep = `const fs = require('node:fs');
      for (let i = 0; i < 60; i++) { fs.mkdirSync('d'.repeat(200)); process.chdir('d'.repeat(200)); }
      fs.writeFileSync('last', ''); fs.mkdirSync('shut'); fs.chmodSync('shut', 0); process.chdir('/');`;
    const launch = `const { chromium } = require('playwright'); await chromium.launch({ timeout: 1 });`;
    const { run, workDir } = runner!.start(
      `${importTest}test('nests folders deeper than a path can name, and closes them', async () => { ${deep} });
      test('gives the browser no time to start', async () => { ${launch} });
      test('exits', async () => { process.exit(7); });`,
    );
    const { failure, details } = await run;
    expect(failure).toMatchObject({ code: 'TEST_FAILED' });
    expect(failure?.owner).not.toBe('ours');
    expect(details.tests.map(({ status }) => status)).toEqual(['passed', 'failed', 'failed']);
    expect(details.tests[1]?.errors[0]).toMatch(/timeout/i);
    expect(details.tests[2]?.errors[0]).toContain('exit');
    rmSync(workDir, { recursive: true });
  });

  test('a script that never finishes is killed at the limit and keeps no files', async () => {
    const test = runner!.start(body('for (;;);'), { timeoutMs: 1000 });
    const { failure, files } = await test.run;
    expect(failure).toEqual({
      code: 'SCRIPT_TIMEOUT',
      owner: 'script',
      message: 'Your check run has reached the maximum run time of 1000 ms.',
    });
    expect(files).toEqual([]);
  });

  test('a script that prints endlessly', async () => {
    const { failure } = await runner!.start(
      body(
        `for (let i = 0; i < 1e6; i++) { console.log('x'.repeat(1000)); if (i % 100 === 0) await new Promise(setImmediate); }`,
      ),
    ).run;
    expect(failure?.code).toBe('SCRIPT_KILLED');
    expect(failure?.message).toContain('output');
  });

  test('an aborted run rejects with the reason once everything is gone', async () => {
    const controller = new AbortController();
    const { run, log } = runner!.start(body(`console.log('begun'); await new Promise(() => {});`), {
      signal: controller.signal,
    });
    run.catch(() => undefined);
    await vi.waitFor(() => expect(log).toContain('begun'), { timeout: 20_000 });
    controller.abort(new JobAborted('cancelled'));
    await expect(run).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('a script that reaches the limit while a browser starts is killed', async () => {
    const hangs = program('hanging-later', 'exec sleep 600');
    const slow = startRunner({ browsers: { chromium: [hangs], installed: [] } });
    try {
      const uses = `${importTest}test('one', async ({ page }) => { await page.goto('about:blank'); });\n`;
      const { failure } = await slow.start(uses, { timeoutMs: 3000 }).run;
      expect(failure?.code).toBe('SCRIPT_TIMEOUT');
    } finally {
      await slow.close();
    }
  });

  test('a deadline that passes before a process is free is not the script’s fault', async () => {
    const release = await Promise.all(
      Array.from({ length: childSlots.total }, () =>
        childSlots.take('playwright', AbortSignal.timeout(10)).catch(() => () => undefined),
      ),
    );
    const controller = new AbortController();
    const { run } = runner!.start(body(''), { signal: controller.signal });
    controller.abort(new JobAborted('deadline'));
    await expect(run).rejects.toMatchObject({ name: 'AgentError', code: 'INTERNAL' });
    for (const free of release) free();
  });

  test('an aborted run that has not begun rejects too', async () => {
    const { run } = runner!.start(body(''), { signal: AbortSignal.abort(new JobAborted('shutdown')) });
    await expect(run).rejects.toMatchObject({ code: 'shutdown' });
  });
});

describe.runIf(hasPlaywright)(
  'browsers that misbehave are never charged to the script',
  { timeout: 60_000 },
  () => {
    afterEach(() => expectNothingLeft(runner), 20_000);

    const usesPage = `${importTest}test('one', async ({ page }) => { await page.goto('about:blank'); });\n`;

    test('one that is missing', async () => {
      runner = startRunner({ browsers: { chromium: ['/nowhere/chromium'], installed: [] } });
      await expect(runner.start(usesPage).run).rejects.toMatchObject({
        code: 'BROWSER_UNAVAILABLE',
        message: expect.stringContaining('install the package chromium'),
      });
    });

    test('one that crashes at its start', async () => {
      const chromium = [program('crashing', 'echo "no good" >&2; exit 3')];
      runner = startRunner({ browsers: { chromium, installed: [] } });
      await expect(runner.start(usesPage).run).rejects.toMatchObject({ code: 'BROWSER_UNAVAILABLE' });
    });

    test('one that hangs at its start', async () => {
      const chromium = [program('hanging', 'exec sleep 600')];
      runner = startRunner({ browsers: { chromium, installed: [] }, browserStartMs: 1500 });
      await expect(runner.start(usesPage).run).rejects.toMatchObject({
        code: 'BROWSER_UNAVAILABLE',
        message: expect.stringContaining('did not start in time'),
      });
    });

    test('one that dies while the test runs', async () => {
      const chromium = [
        program(
          'dying',
          '/usr/bin/chromium "$@" & child=$!; (sleep 2; kill -9 $child) >/dev/null 2>&1 & wait $child',
        ),
      ];
      runner = startRunner({ browsers: { chromium, installed: [] } });
      const waits = `${importTest}test('one', async ({ page }) => { await page.waitForTimeout(20000); });\n`;
      await expect(runner.start(waits).run).rejects.toMatchObject({ code: 'BROWSER_UNAVAILABLE' });
    });
  },
);

describe.runIf(hasPlaywright)('pages that misbehave', { timeout: 60_000 }, () => {
  afterEach(() => expectNothingLeft(runner), 20_000);

  test('an endless download fills no disk', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n');
        socket.write(
          'content-disposition: attachment; filename="big.bin"\r\ncontent-length: 10737418240\r\n\r\n',
        );
        const chunk = Buffer.alloc(1 << 20);
        const more = () => {
          while (!socket.destroyed && socket.write(chunk));
        };
        socket.on('drain', more);
        more();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo; // a TCP server's
    try {
      runner = startRunner({ limits: { diskBytes: 64 * 1024 ** 2 } });
      const { failure, files } = await runner.start(
        `${importTest}test('one', async ({ page }) => {
          const download = page.waitForEvent('download');
          await page.goto('http://127.0.0.1:${port}/').catch(() => {});
          await (await download).path();
        });`,
        { timeoutMs: 20_000 },
      ).run;
      expect(failure?.code).toBe('SCRIPT_KILLED');
      expect(failure?.message).toContain('disk');
      expect(files).toEqual([]);
    } finally {
      server.close();
    }
  });

  test('endless pop-ups and alerts give one result', async () => {
    runner = startRunner();
    const test = runner.start(
      `${importTest}test('one', async ({ page }) => {
        test.setTimeout(1500);
        await page.setContent('<h1>hi</h1>');
        await page.evaluate(() => { for (let i = 0; i < 25; i++) window.open('about:blank'); }).catch(() => {});
        await page.evaluate(() => { for (;;) alert('again'); });
      });`,
      { timeoutMs: 5000 },
    );
    const { failure } = await test.run;
    expect(failure?.owner).not.toBe('ours');
    expect(readdirSync(test.workDir).filter((name) => name !== 'playwright')).toEqual([]);
  });
});
