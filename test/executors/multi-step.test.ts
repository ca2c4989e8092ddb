import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executeMultiStep } from '../../src/executors/multi-step.ts';
import { builtProgram } from '../helpers/build.ts';
import { hasPlaywright } from '../helpers/scripts/playwright.ts';
import { scriptJob, startScripts, type ScriptBench } from '../helpers/scripts/script-jobs.ts';

describe.runIf(hasPlaywright)('multi-step checks', { timeout: 60_000 }, () => {
  let bench: ScriptBench;
  let server: Server;
  let url: string;

  beforeAll(async () => {
    await builtProgram();
    bench = startScripts();
    server = createServer((request, response) => {
      response.statusCode = request.url === '/broken' ? 500 : 200;
      response.setHeader('content-type', 'application/json');
      response.end('{"id":7}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server's
  }, 120_000);

  afterAll(async () => {
    await bench.close();
    server.close();
  });

  test('the details contain the calls of the steps; a session keeps its trace', async () => {
    const job = scriptJob(
      'MULTI_STEP',
      `import { test, expect } from '@playwright/test';
       test('order', async ({ request }) => {
         const created = await test.step('create', async () => request.post('${url}/orders', { data: { n: 1 } }));
         await test.step('read', async () => {
           const { id } = await created.json();
           process.env.SERVICE_SECRET_ID = 'secret-id-' + id;
           expect((await request.get('${url}/orders/' + id)).ok()).toBe(true);
         });
       });`,
      { testSession: true },
    );
    bench.artifacts.length = 0;
    const { base, details } = await executeMultiStep(job, bench.context());
    expect(base).toEqual({ ok: true });
    expect(details['apiCalls']).toMatchObject([
      { steps: ['create'], request: { method: 'POST' }, response: { status: 200 } },
      { steps: ['read'], request: { method: 'GET' }, response: { status: 200 } },
    ]);
    expect(bench.secrets).toContain('secret-id-7');
    expect(bench.artifacts.map(({ type }) => type).toSorted()).toEqual(['report', 'trace']);
  });

  test('a failing expectation fails the check as the target', async () => {
    const job = scriptJob(
      'MULTI_STEP',
      `const { test, expect } = require('@playwright/test');
       test('broken', async ({ request }) => { expect((await request.get('${url}/broken')).status()).toBe(200); });`,
    );
    const { base } = await executeMultiStep(job, bench.context());
    expect(base).toMatchObject({ ok: false, reason: { code: 'TEST_FAILED', owner: 'target' } });
  });
});
