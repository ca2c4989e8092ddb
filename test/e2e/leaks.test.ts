import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executeBrowser } from '../../src/executors/browser.ts';
import type { Executor } from '../../src/executors/interface/executor.ts';
import type { JobType } from '../../src/protocol/check-types.ts';
import type { Job } from '../../src/protocol/job.ts';
import type { Result } from '../../src/protocol/result.ts';
import { systemChromium } from '../../src/script/playwright/browsers.ts';
import { builtProgram } from '../helpers/build.ts';
import { hasPlaywright, runtime } from '../helpers/scripts/playwright.ts';
import { scriptJob, startScripts, type ScriptBench } from '../helpers/scripts/script-jobs.ts';
import { leaksIn } from '../secrets/open-everything.ts';
import { runAsAgent } from './run-as-agent.ts';

/**
 * The oracle: secrets in every place that a page, a script, a header, a body, a console line, an attachment, a source file
 * and a file's name can hold one; real checks; and a search of all that left, decoded.
 */

const variable = 'walnut/tree+"s3cret"<é>';
const inSource = 'literal-in-the-source-8271';
const fromPage = 'said-by-the-page-only-5517';
const madeAtRunTime = 'made-at-run-time-90125';
const header = 'bearer-that-nobody-named-3361';
const cookie = 'cookie-that-nobody-named-4410';
const own = 'pl_the-key-of-the-agent-7781';
const everything = [variable, inSource, fromPage, madeAtRunTime, header, cookie, own];

const html = `<html><head><title>${fromPage}</title></head><body><input id="p" value="${fromPage}">
<script>console.error('page says ${fromPage}'); document.cookie = 'seen=1';
localStorage.setItem('k', '${fromPage}');</script></body></html>`;

const browserScript = (url: string): string => `import { test, expect } from '@playwright/test';
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
test('shop', async ({ page, context, request }, info) => {
  const token = process.env.TOKEN;
  process.env.SERVICE_SECRET_MADE = '${madeAtRunTime}';
  const literal = '${inSource}';
  console.log('stdout', token, Buffer.from(token).toString('base64'), literal, '${madeAtRunTime}');
  console.error('stderr', JSON.stringify({ token }), encodeURIComponent(token));
  await context.setExtraHTTPHeaders({ authorization: 'Bearer ' + process.env.BEARER, 'x-custom': encodeURIComponent(token) });
  // Outside of steps: the viewer shows those closed.
  await page.goto('${url}/?token=' + encodeURIComponent(token));
  await page.fill('#p', token);
  await test.step('step ' + token, async () => {
    await page.evaluate((value) => { console.log('page', value, { sha1: value }); document.title = value; }, token);
    await page.evaluate((value) => fetch('/post', { method: 'POST', body: JSON.stringify({ value }) }).then((r) => r.text()), token);
  });
  await request.post('${url}/api', { headers: { Authorization: 'Bearer ' + process.env.BEARER, 'X-Api-Key': process.env.BEARER }, data: { token } });
  await info.attach('text ' + literal, { body: 'attached ' + token + literal, contentType: 'text/plain' });
  await info.attach('packed', { body: gzipSync('packed ' + token), contentType: 'application/gzip' });
  await info.attach('wide', { body: Buffer.from(token, 'utf16le'), contentType: 'text/plain' });
  const path = info.outputPath('file-' + literal + '.txt');
  writeFileSync(path, 'in a file ' + token);
  await info.attach('file ' + literal, { path, contentType: 'text/plain' });
  await page.screenshot({ path: info.outputPath('shot.png') });
  expect.soft('something else ' + token).toBe(token + ' and more');
  throw new Error('failed with ' + token + ' at ${madeAtRunTime}');
});`;

describe.runIf(hasPlaywright)('data that leaves an agent', { timeout: 120_000 }, () => {
  let bench: ScriptBench;
  let server: Server;
  let url: string;
  let folder: string;

  beforeAll(async () => {
    await builtProgram();
    bench = startScripts();
    folder = mkdtempSync(join(tmpdir(), 'leaks-'));
    server = createServer((request, response) => {
      const body: Buffer[] = [];
      request.on('data', (part: Buffer) => body.push(part));
      request.on('end', () => {
        response.setHeader('set-cookie', `sid=${cookie}; Path=/`);
        if (request.method !== 'POST') response.setHeader('content-type', 'text/html');
        response.end(
          request.method === 'POST' ? `a word ${Buffer.concat(body).toString()}${variable}` : html,
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server's
  }, 120_000);

  afterAll(async () => {
    await bench.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  type Ran = { results: string[]; out: string; raw: string };

  /** Runs a job as the agent does; `raw` gets what the attempt made, before the scrubbing. */
  async function run(job: Job, execute: Executor<JobType>): Promise<Ran> {
    const out = join(folder, `${job.checkType}-out`);
    const raw = join(folder, `${job.checkType}-raw`);
    mkdirSync(raw);
    const results = await runAsAgent(job, {
      execute,
      scripts: bench.scripts,
      folder,
      out,
      ownSecrets: [{ name: 'API_KEY', value: own }],
      onFiles: (files) => {
        for (const [i, file] of files.entries()) copyFileSync(file.path, join(raw, `${i}-${file.name}`));
      },
    });
    return { results, out, raw };
  }

  const jobParts = (): Parameters<typeof scriptJob>[2] => ({
    deadline: new Date(Date.now() + 100_000).toISOString(),
    testSession: true,
    environmentVariables: [
      { key: 'TOKEN', value: variable, locked: false, secret: true },
      { key: 'LITERAL', value: inSource, locked: false, secret: true },
      { key: 'PAGE', value: fromPage, locked: false, secret: true },
      // Not a secret: its value is masked as a header's, and appears nowhere else.
      { key: 'BEARER', value: header, locked: false, secret: false },
    ],
  });

  function expectNothing({ results, out, raw }: Ran, found: readonly string[]): void {
    const leaks = (path: string): string[] =>
      readdirSync(path).flatMap((name) => leaksIn(name, readFileSync(join(path, name)), everything));
    // The control: in what was made, the same search finds what was planted.
    const planted = leaks(raw);
    for (const secret of found) expect(planted.join('\n')).toContain(secret);
    expect(leaks(out)).toEqual([]);
    expect(results.flatMap((json) => leaksIn('result', Buffer.from(json), everything))).toEqual([]);
  }

  test('a browser check: results, traces and attachments hold no secret, and the trace opens', async () => {
    const job = scriptJob('BROWSER', browserScript(url), jobParts());
    const ran = await run(job, executeBrowser as Executor<JobType>); // the executor of this job's type
    const result = JSON.parse(ran.results[0] ?? '') as Result; // what runJob has just serialised
    expect(result.status).toBe('failed');
    expectNothing(ran, [variable, inSource, fromPage, madeAtRunTime, header, cookie]);
    const trace = readdirSync(ran.out).find((name) => name.endsWith('.zip')) ?? 'no trace';
    const shown = await shownByViewer(join(ran.out, trace));
    expect(shown.actions.join('\n')).toMatch(/Navigate[^]*Fill "\*{9}"/);
    expect(shown.snapshot).toContain('input');
  });
});

/** As much of the runtime's Playwright as this test uses. */
type Locator = {
  first: () => Locator;
  filter: (options: object) => Locator;
  waitFor: (options: object) => Promise<void>;
  click: () => Promise<void>;
  innerHTML: () => Promise<string>;
  allInnerTexts: () => Promise<string[]>;
};
type Page = {
  goto: (url: string) => Promise<unknown>;
  locator: (selector: string) => Locator;
  frameLocator: (selector: string) => { locator: (selector: string) => Locator };
};
type Playwright = {
  chromium: {
    launch: (options: object) => Promise<{ newPage: () => Promise<Page>; close: () => Promise<void> }>;
  };
};

const contentTypes: { readonly [ending: string]: string } = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
  zip: 'application/zip',
};

/** What Playwright's own viewer shows of a trace: its actions, and the snapshot of the fill. */
async function shownByViewer(trace: string): Promise<{ actions: string[]; snapshot: string }> {
  const require = createRequire(join(runtime?.folder ?? '', 'package.json'));
  const { chromium } = require('playwright-core') as Playwright; // the runtime's
  const viewer = join(require.resolve('playwright-core/package.json'), '..', 'lib', 'vite', 'traceViewer');
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://viewer').pathname.slice(1);
    const file = path === 'trace.zip' ? trace : join(viewer, path);
    response.setHeader(
      'content-type',
      contentTypes[path.split('.').pop() ?? ''] ?? 'application/octet-stream',
    );
    if (existsSync(file)) response.end(readFileSync(file));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server's
  const executablePath = systemChromium.find((path) => existsSync(path));
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    await page.goto(`${origin}/index.html?trace=${origin}/trace.zip`);
    const titles = page.locator('.action-title');
    await titles.first().waitFor({ timeout: 30_000 });
    const actions = await titles.allInnerTexts();
    await titles.filter({ hasText: 'Fill' }).first().click();
    const snapshot = page.frameLocator('iframe.snapshot-visible');
    await snapshot.locator('#p').first().waitFor({ timeout: 30_000 });
    return { actions, snapshot: await snapshot.locator('body').first().innerHTML() };
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
}
