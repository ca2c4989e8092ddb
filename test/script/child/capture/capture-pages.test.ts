import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPlaywright } from '../../../helpers/scripts/playwright.ts';
import { captureRun, removeRuns, runtimeNamed, type CaptureRun } from './capture-run.ts';

/** What a run shows of pages and API calls: real pages in a real Chromium, all in one run. */

const runtime = runtimeNamed();

const page = (path: string) => `<!doctype html><title>t</title><h1>Page ${path}</h1><img src="/missing.png">
<a href="/two">two</a>
<script>
  console.error('logged by the page');
  setTimeout(() => { throw new Error('nobody catches this'); }, 5);
</script>`;

const script = `import { test, expect } from '@playwright/test';
import { getAPIResponseTime } from '@location-agent/helpers';
test('pages', async ({ page, context }) => {
  await page.goto('/');
  await expect(page.locator('h1')).toHaveText('Page /');
  await page.waitForTimeout(100);
  await page.evaluate(() => history.pushState({}, '', '/pushed'));
  await page.getByText('two').click();
  await expect(page).toHaveURL(/two/);
  await page.goto('/gone');
  const popup = await context.newPage();
  await popup.goto('/popup');
  await popup.screenshot({ path: 'shots/mine.png' });
  await popup.close();
  await expect(page.goto('http://127.0.0.1:1/')).rejects.toThrow();
});
test('calls', async ({ request, page, playwright }) => {
  await test.step('outer', async () => {
    await test.step('inner', async () => {
      const response = await request.get('/api?x=1', { headers: { Authorization: 'Bearer abc', 'X-Own': 'y' } });
      expect(response.status()).toBe(200);
      expect.soft(await response.json(), 'own words').toEqual({ fine: false });
      expect(Object.keys(response)).not.toContain('Symbol(location-agent.responseTime)');
      expect(getAPIResponseTime(response)).toBeGreaterThan(40);
    });
    const second = await page.request.post('/redirect', { data: { question: 1 } });
    await expect(second).toBeOK();
  });
  const own = await playwright.request.newContext();
  await expect(own.fetch('http://127.0.0.1:1/nobody', { method: 'PUT' })).rejects.toThrow();
  await own.dispose();
  const bytes = await request.get('/bytes');
  expect((await bytes.body()).length).toBe(4);
});
`;

describe.skipIf(!hasPlaywright)('pages and calls', () => {
  let server: Server;
  let base: string;
  let seen: CaptureRun;

  beforeAll(async () => {
    if (runtime === undefined) return;
    server = createServer((request, response) => {
      const path = request.url ?? '';
      if (path.startsWith('/api')) {
        response.setHeader('content-type', 'application/json');
        response.setHeader('set-cookie', 'session=abc');
        setTimeout(() => response.end('{"fine":true}'), 50);
      } else if (path === '/redirect') response.writeHead(303, { location: '/api?after' }).end();
      else if (path === '/bytes') {
        response.setHeader('content-type', 'application/octet-stream').end(Buffer.from([0, 1, 2, 255]));
      } else if (path === '/missing.png') response.writeHead(404).end();
      else if (path === '/favicon.ico') response.writeHead(204).end();
      else {
        response.writeHead(path === '/gone' ? 410 : 200, { 'content-type': 'text/html' });
        response.end(path === '/gone' ? '<h1>gone</h1>' : page(path));
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://localhost:${(server.address() as AddressInfo).port}`; // it listens
    seen = await captureRun({
      runtime,
      baseURL: base,
      files: { 'script.ts': script },
      timeout: 60_000,
      trace: 'on',
    });
  }, 150_000);

  afterAll(async () => {
    removeRuns();
    await new Promise((resolve) => server?.close(resolve));
  });

  test('each document is a visit, with its timings, sizes and web vitals', () => {
    const pages = seen.run.details.pages ?? [];
    expect(pages.map(({ url }) => url.replace(base, ''))).toEqual([
      '/',
      '/two',
      '/gone',
      '/popup',
      // Without a response, Chromium shows its own error page.
      expect.stringMatching(/^chrome-error:|^http:\/\/127\.0\.0\.1:1\/$/) as unknown,
    ]);
    const first = pages[0];
    expect(first?.webVitals).toEqual(
      Object.fromEntries(
        ['CLS', 'FCP', 'LCP', 'TBT', 'TTFB'].map((name) => [
          name,
          {
            score: expect.stringMatching(/^(GOOD|NEEDS_IMPROVEMENT|POOR)$/) as unknown,
            value: expect.any(Number) as unknown,
          },
        ]),
      ),
    );
    expect(first?.webVitals.FCP?.value).toBeGreaterThan(0);
    expect(first?.pageTimings.onContentLoad).toBeGreaterThan(0);
    expect(first?.pageTimings.onLoad).toBeGreaterThanOrEqual(first?.pageTimings.onContentLoad ?? 0);
    expect(first?.responseSizes.decoded).toBeGreaterThanOrEqual(page('/').length);
  });

  test('console and network errors are listed with their page, and counted', () => {
    const { pages = [], traceSummary } = seen.run.details;
    expect(pages[0]?.consoleErrors).toEqual(
      expect.arrayContaining(['logged by the page', 'Uncaught Error: nobody catches this']),
    );
    expect(pages[0]?.networkErrors).toEqual([`404 GET ${base}/missing.png`]);
    expect(pages[2]?.networkErrors).toEqual([`410 GET ${base}/gone`]);
    expect(traceSummary).toMatchObject({ networkErrors: 5, userScriptErrors: 1 });
    expect(traceSummary?.consoleErrors).toBeGreaterThanOrEqual(6);
    expect(traceSummary?.documentErrors).toBeGreaterThanOrEqual(1);
  });

  test('API calls carry request, response, phases, steps around and assertions after', () => {
    const [first, second, third, fourth] = seen.run.details.apiCalls ?? [];
    expect(first).toMatchObject({
      request: { method: 'GET', url: `${base}/api?x=1`, body: null },
      response: { status: 200, statusText: 'OK', body: '{"fine":true}', bodyBytes: 13 },
      error: null,
      steps: ['outer', 'inner'],
    });
    expect(first?.request.headers).toMatchObject({ authorization: '*********', 'x-own': 'y' });
    expect(first?.response?.headers).toMatchObject({ 'set-cookie': '*********' });
    expect(
      first?.assertions.map(({ title, passed }) => [/toBe\b|own words/.exec(title)?.[0], passed]),
    ).toEqual(
      expect.arrayContaining([
        ['toBe', true],
        ['own words', false],
      ]),
    );
    const { total = 0, ...phases } = first?.timingPhases ?? {};
    expect(total).toBe(first?.durationMs);
    expect(phases['firstByte']).toBeGreaterThan(40);
    const sum = Object.values(phases).reduce((all, each) => all + each, 0);
    expect(Math.abs(sum - total)).toBeLessThan(0.1);

    expect(second).toMatchObject({
      request: { method: 'POST', body: '{"question":1}' },
      steps: ['outer'],
      assertions: [{ passed: true }],
    });
    expect(third).toMatchObject({
      request: { method: 'PUT', url: 'http://127.0.0.1:1/nobody' },
      response: null,
      error: expect.stringContaining('ECONNREFUSED') as unknown,
      steps: [],
    });
    expect(fourth?.response).toMatchObject({ body: null, bodyBytes: 4 });
  });

  test('the capture is not visible in steps or stacks, and files of the run are found', () => {
    const { run } = seen;
    const told = JSON.stringify(run.details);
    expect(told).not.toMatch(
      /capture\.js|script\/child|locationAgent|exposeBinding|[Aa]dd init script|[Ee]xpose binding/,
    );
    expect(run.failure?.message).toContain('1 of 2 tests failed: calls: ');
    expect(run.files.map(({ name, type, contentType }) => [name, type, contentType])).toEqual(
      expect.arrayContaining([
        ['shots-mine.png', 'screenshot', 'image/png'],
        [expect.stringMatching(/pages.*trace\.zip$/), 'trace', 'application/zip'],
        [expect.stringMatching(/calls.*test-failed-1\.png$/), 'screenshot', 'image/png'],
        ['report.json', 'report', 'application/json'],
      ]),
    );
  });
});
