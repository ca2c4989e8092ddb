import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JobAborted } from '../../src/errors.ts';
import { executeBrowser } from '../../src/executors/browser.ts';
import { withoutScripts } from '../../src/executors/without-scripts.ts';
import { selfSigned } from '../../src/targets/certificates.ts';
import { builtProgram } from '../helpers/build.ts';
import { hasPlaywright } from '../helpers/scripts/playwright.ts';
import { scriptJob, startScripts, type ScriptBench } from '../helpers/scripts/script-jobs.ts';

const passing = `import { test, expect } from '@playwright/test';
test('shop', async ({ page }) => {
  await page.setContent('<h1>' + process.env.GREETING + '</h1>');
  await expect(page.locator('h1')).toHaveText('hi');
  console.log(process.env.CHECK_NAME, process.env.SERVICE_REGION, process.env.API_KEY);
});`;

describe.runIf(hasPlaywright)('browser checks', { timeout: 60_000 }, () => {
  let bench: ScriptBench;
  let server: Server;

  beforeAll(async () => {
    await builtProgram();
    bench = startScripts();
    const { cert, key } = await selfSigned({
      commonName: 'localhost',
      names: ['localhost'],
      notBefore: new Date(Date.now() - 3_600_000),
      notAfter: new Date(Date.now() + 3_600_000),
    });
    server = createServer({ cert, key }, (_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }, 120_000);

  afterAll(async () => {
    await bench.close();
    server.close();
  });

  test('a script that passes: its time, its tests, its environment; no trace of a scheduled run', async () => {
    const job = scriptJob('BROWSER', passing, {
      environmentVariables: [{ key: 'GREETING', value: 'hi', locked: false, secret: false }],
    });
    const outcome = await executeBrowser(job, bench.context());
    expect(outcome).toMatchObject({ base: { ok: true }, timings: null, assertions: [] });
    expect(outcome.responseTime).toBeGreaterThan(0);
    expect(outcome.details).toMatchObject({
      runtimeVersion: '2026.04',
      errors: [],
      tests: [{ title: 'shop' }],
    });
    expect(bench.log).toContain('a check office undefined');
    expect(bench.artifacts.filter(({ type }) => type === 'trace' || type === 'video')).toEqual([]);
  });

  test('a script that passes fails by the certificate of sslCheckDomain', async () => {
    const { port } = server.address() as AddressInfo; // a TCP server's
    const job = scriptJob('BROWSER', `require('@playwright/test').test('nothing', async () => {});`, {
      sslCheckDomain: `localhost:${port}`,
    });
    const outcome = await executeBrowser(job, bench.context());
    expect(outcome.base).toMatchObject({
      ok: false,
      reason: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', owner: 'target' },
    });
    expect(outcome.details['sslCheck']).toMatchObject({ host: 'localhost' });
  });

  test("a setting that is the agent's is refused by its name", async () => {
    const job = scriptJob('BROWSER', passing);
    job.script = { ...job.script, playwrightConfig: { use: { launchOptions: { args: [] } } } };
    const outcome = await executeBrowser(job, bench.context());
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'SCRIPT_INVALID', owner: 'script' } });
    expect(JSON.stringify(outcome.base)).toContain('playwrightConfig.use.launchOptions');
  });

  test('a runtime that is not here is an error that names those that are', async () => {
    const job = scriptJob('BROWSER', passing);
    job.script = { ...job.script, runtimeId: '2022.10' };
    await expect(executeBrowser(job, bench.context())).rejects.toMatchObject({
      code: 'RUNTIME_UNAVAILABLE',
      message: expect.stringContaining('2026.04'),
    });
  });

  test('cancelled: rejects with the reason; deadline: an outcome', async () => {
    const cancelled = AbortSignal.abort(new JobAborted('cancelled'));
    const job = scriptJob('BROWSER', passing);
    await expect(executeBrowser(job, bench.context(cancelled))).rejects.toMatchObject({ code: 'cancelled' });
    const late = AbortSignal.abort(new JobAborted('deadline'));
    expect((await executeBrowser(job, bench.context(late))).base).toMatchObject({
      ok: false,
      reason: { code: 'TIMEOUT' },
    });
  });
});

test('an agent without script code reports it', async () => {
  const context = {
    ...withoutScripts,
    signal: new AbortController().signal,
    log: () => undefined,
    now: Date.now,
  };
  const network = {} as Parameters<typeof executeBrowser>[1]['network']; // never reached
  await expect(executeBrowser(scriptJob('BROWSER', ''), { ...context, network })).rejects.toMatchObject({
    code: 'INTERNAL',
  });
});
