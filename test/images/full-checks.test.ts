import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type Agent } from './containers.ts';
import { suiteEnvironment, uploadSuite } from './suite-bundle.ts';
import { newLocation, runCheck, told, world, type CheckKind } from './world.ts';

/** Dockerfile: one check of every type that agents run, against targets in another container. */

const slug = 'full-types';
let agent: Agent;
beforeAll(async () => {
  const { key } = await newLocation(slug);
  agent = await startAgent({
    image: 'full',
    network: world.network,
    key,
    env: suiteEnvironment,
  });
});
afterAll(() => agent.remove());

const visit = `
  import { expect, test } from '@playwright/test';
  test('a customer orders', async ({ page }) => {
    await page.goto('http://targets/shop');
    await page.getByRole('button', { name: 'Add anvil' }).click();
    await page.getByLabel('Email').fill('someone@example.com');
    await page.getByRole('button', { name: 'Order' }).click();
    await expect(page.getByRole('status')).toHaveText('Ordered 1 items');
  });`;
const calls = `
  import { expect, test } from '@playwright/test';
  test('find', async ({ request }) => {
    const { items } = await (await request.get('http://targets/json')).json();
    expect(items).toHaveLength(3);
  });`;

test.each<[CheckKind, object]>([
  ['url', { request: { url: 'http://targets/ok' } }],
  [
    'api',
    {
      request: {
        url: 'http://targets/json',
        assertions: [
          { source: 'JSON_BODY', property: '$.items[*].price', comparison: 'GREATER_THAN', target: '0' },
        ],
      },
      localSetupScript: 'process.env.FROM_SETUP = "1";',
    },
  ],
  ['tcp', { request: { hostname: 'targets', port: 7, data: 'hello' } }],
  ['dns', { request: { query: 'sample.test', recordType: 'A', nameServer: 'targets', port: 53 } }],
  ['icmp', { request: { hostname: 'targets', pingCount: 2 } }],
  // The targets' authority is private, and their certificate is for the name.
  ['ssl', { request: { sslConfig: { hostname: 'targets', skipChainValidation: true } } }],
  ['traceroute', { request: { url: 'targets', port: 80 } }],
  ['grpc', { request: { url: 'targets', port: 50_051, grpcConfig: { tls: false, mode: 'HEALTH' } } }],
  ['browser', { script: visit }],
  ['multistep', { script: calls }],
])('%s', async (kind, fields) => {
  const result = await runCheck(kind, slug, fields);
  expect(result.status, told(result)).toBe('passed');
});

test("playwright: a suite installs its packages and drives the image's Chromium", async () => {
  const codeBundlePath = await uploadSuite({ 'a.spec.ts': visit });
  const result = await runCheck('playwright', slug, { codeBundlePath });
  expect(result.status, told(result)).toBe('passed');
  expect(result.details).toMatchObject({ totals: { tests: 1, passed: 1 } });
});
