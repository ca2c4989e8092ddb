import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type Agent } from './containers.ts';
import { newLocation, runCheck, told, world, type CheckKind, type Result } from './world.ts';

/** The migration image: three runtimes side by side, each with its own Node and packages, and checks that name one run on it. */

const slug = 'migrating';
const nodes = { '2024.09': 'v18.20.3', '2025.04': 'v22.11.0', '2026.04': 'v24.13.1' } as const;
let agent: Agent;
beforeAll(async () => {
  const { key } = await newLocation(slug);
  const flags = { readOnly: true, capDropAll: true, securityOpt: ['no-new-privileges'] };
  agent = await startAgent({ image: 'migrate', network: world.network, key, flags });
});
afterAll(() => agent.remove());

test('doctor and the metrics show the three runtimes', async () => {
  // Its exit code is of all that it looks at: name servers of this machine, for example.
  const { output: found } = await agent.container.exec(['location-agent', 'doctor', '--json']);
  for (const [name, node] of Object.entries(nodes))
    expect(found).toMatch(
      new RegExp(`"runtime ${name}","status":"ok","message":"Node v?${node.slice(1).replaceAll('.', '\\.')}`),
    );
  expect(await agent.metric('runtime_info')).toBe(3);
});

test.each(Object.entries(nodes))(
  'runtime %s: an API check with a script, steps and a browser',
  async (runtimeId, node) => {
    const isOnIt = `if (process.version !== '${node}') throw new Error('this is ' + process.version);`;
    const visit = `
      const { expect, test } = require('@playwright/test');
      test('shop', async ({ page }) => {
        ${isOnIt}
        await page.goto('http://targets/shop');
        await expect(page.getByRole('listitem')).toHaveCount(3);
      });`;
    const steps = `
      const { expect, test } = require('@playwright/test');
      test('goods', async ({ request }) => {
        ${isOnIt}
        const { items } = await (await request.get('http://targets/json')).json();
        expect(items).toHaveLength(3);
      });`;
    const checks: [CheckKind, object][] = [
      ['api', { request: { url: 'http://targets/ok' }, localSetupScript: isOnIt }],
      ['multistep', { script: steps }],
      ['browser', { script: visit }],
    ];
    const results: Result[] = await Promise.all(
      checks.map(([kind, fields]) =>
        runCheck(kind, slug, { name: `${kind} on ${runtimeId}`, runtimeId, ...fields }),
      ),
    );
    for (const result of results)
      expect(result.status, `${result.checkType}: ${told(result)}`).toBe('passed');
  },
);

test('the plain image refuses a check of an older runtime, and its doctor names the image that has it', async () => {
  const plain = 'migrated';
  const { key } = await newLocation(plain);
  const other = await startAgent({ image: 'full', network: world.network, key });
  try {
    const script = `require('@playwright/test').test('a', () => {});`;
    const result = await runCheck('multistep', plain, { script, runtimeId: '2025.04' });
    expect([result.status, result.reason?.code], told(result)).toEqual(['errored', 'RUNTIME_UNAVAILABLE']);
    expect(result.reason?.message).toContain('2026.04');
    const { output: said } = await other.container.exec(['location-agent', 'doctor']);
    expect(said).toMatch(/runtime 2025\.04 +not installed .*\n +→ .*migrate-202409-202604/);
    expect(said).not.toMatch(/scripts\/[a-z-]+\.mjs/);
  } finally {
    await other.remove();
  }
});
