import { describe, expect, test } from 'vitest';
import { startAgent, type Flags } from './containers.ts';
import { docker, dockerRun, inspected, processesOf } from './engine.ts';
import { newLocation, runCheck, told, world, type CheckKind } from './world.ts';

/** Every image with what `docker run` may take away from it: it runs as 10001 and checks all the same. */

const combinations: { [name: string]: Flags } = {
  'as it comes': {},
  'read-only': { readOnly: true },
  'no capability': { capDropAll: true },
  'no new privileges': { securityOpt: ['no-new-privileges'] },
  'all at once': { readOnly: true, capDropAll: true, securityOpt: ['no-new-privileges'] },
  'all but NET_RAW': {
    readOnly: true,
    capDropAll: true,
    securityOpt: ['no-new-privileges'],
    capAdd: ['NET_RAW'],
  },
};
const visit = `
  import { expect, test } from '@playwright/test';
  test('the shop is there', async ({ page }) => {
    await page.goto('http://targets/shop');
    await expect(page.getByRole('listitem')).toHaveCount(3);
  });`;
const probes: [CheckKind, object][] = [
  ['url', { request: { url: 'http://targets/ok' } }],
  ['icmp', { request: { hostname: 'targets', pingCount: 1 } }],
];

describe.each(['uptime', 'full'] as const)('%s', (image) => {
  const checks: [CheckKind, object][] =
    image === 'full' ? [...probes, ['browser', { script: visit }]] : probes;

  test.each(Object.entries(combinations))('%s', async (name, flags) => {
    const slug = `${image}-${name.replaceAll(/[ _]/g, '-')}`;
    const { key } = await newLocation(slug);
    const agent = await startAgent({ image, network: world.network, key, flags });
    try {
      expect(await inspected(agent.id, '{{.Config.User}}')).toBe('10001:10001');
      const results = await Promise.all(checks.map(([kind, fields]) => runCheck(kind, slug, fields)));
      for (const result of results)
        expect(result.status, `${result.checkType}: ${told(result)}`).toBe('passed');
      const processes = await processesOf(agent.id);
      expect([...new Set(processes.map(({ uid }) => uid))]).toEqual(['10001']);
      expect((await docker('diff', agent.id)).split('\n').filter(isOurs)).toEqual([]);
    } finally {
      await agent.remove();
    }
  });
});

/** What the agent wrote beside its volume and /tmp, which a read-only container would have refused. */
const isOurs = (line: string) => line !== '' && !/^[AC] \/(tmp|var\/lib\/location-agent)?(\/|$)/.test(line);

describe('ICMP where no ping socket is allowed', () => {
  const sysctls = { 'net.ipv4.ping_group_range': '1 0' };
  const request = { hostname: 'targets', pingCount: 1 };

  test.each(['uptime', 'full'] as const)('%s: with NET_RAW by its helper', async (image) => {
    const slug = `raw-${image}`;
    const { key } = await newLocation(slug);
    const flags = { capDropAll: true, capAdd: ['NET_RAW'], sysctls };
    const agent = await startAgent({ image, network: world.network, key, flags });
    try {
      const result = await runCheck('icmp', slug, { request });
      expect(result.status, told(result)).toBe('passed');
    } finally {
      await agent.remove();
    }
  });

  test('without a capability: the result says what to allow', async () => {
    const { key } = await newLocation('raw-none');
    const flags = { capDropAll: true, sysctls };
    const agent = await startAgent({ image: 'uptime', network: world.network, key, flags });
    try {
      const { status, reason } = await runCheck('icmp', 'raw-none', { request });
      expect([status, reason?.code]).toEqual(['errored', 'ICMP_UNAVAILABLE']);
      expect(reason?.message).toMatch(/ping_group_range|NET_RAW/);
    } finally {
      await agent.remove();
    }
  });
});

test('an image refuses a data folder that it may not write, in one line', async () => {
  const { code, stdout, stderr } = await dockerRun(
    '--tmpfs',
    '/var/lib/location-agent:ro',
    '--env',
    'API_KEY=pl_0123456789',
    'location-agent:uptime',
  );
  expect(code).not.toBe(0);
  expect(stdout + stderr).toMatch(/location-agent: .*\/var\/lib\/location-agent/);
});
