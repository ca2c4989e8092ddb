import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startAgent, type Flags } from './containers.ts';
import { docker, dockerRun, inspected, processesOf } from './engine.ts';
import { newLocation, runCheck, told, world, type CheckKind } from './world.ts';

/** Every image with what `docker run` may take away from it: it runs as 10001 and checks all the same. */

const limits: { [name: string]: Flags } = {
  'read-only': { readOnly: true },
  'no capability': { capDropAll: true },
  'no new privileges': { securityOpt: ['no-new-privileges'] },
};
/** Each of them or not, which is eight ways; and all but one capability. */
const combinations = Object.entries(limits).reduce<[string, Flags][]>(
  (ways, [name, flags]) => [
    ...ways,
    ...ways.map(([before, others]): [string, Flags] => [
      before === 'as it comes' ? name : `${before}, ${name}`,
      { ...others, ...flags },
    ]),
  ],
  [['as it comes', {}]],
);
const all = combinations.at(-1)?.[1] ?? {};
combinations.push(['all but NET_RAW', { ...all, capAdd: ['NET_RAW'] }]);
/** As an ordinary user has them; sysctls and AppArmor may forbid them to containers of all kinds. AppArmor lets them be made, but not used. */
const asUser =
  process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
const [command, ...args] = [...asUser, 'unshare', '--map-root-user', 'true'];
const hostHasUserNamespaces = spawnSync(command, args).status === 0;
if (!hostHasUserNamespaces)
  process.stderr.write("skipped here: Chromium's own sandbox in a container, which needs user namespaces\n");
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

test.each(combinations)('%s', async (name, flags) => {
  // A location's name may have 30 characters.
  const way = combinations.findIndex(([one]) => one === name);
  const images = ['uptime', 'full'] as const;
  await Promise.all(images.map((image) => runsAsItIsTold(image, `${image}-way-${way}`, flags)));
});

async function runsAsItIsTold(image: 'uptime' | 'full', slug: string, flags: Flags): Promise<void> {
  // Two limits at a time take nothing from a browser that neither of them nor all three do.
  const isPair = combinations.some(([name, each]) => each === flags && name.split(', ').length === 2);
  const checks: [CheckKind, object][] =
    image === 'full' && !isPair ? [...probes, ['browser', { script: visit }]] : probes;
  const { key } = await newLocation(slug);
  const agent = await startAgent({ image, network: world.network, key, flags });
  try {
    expect(await inspected(agent.id, '{{.Config.User}}')).toBe('10001:10001');
    const results = await Promise.all(checks.map(([kind, fields]) => runCheck(kind, slug, fields)));
    for (const result of results)
      expect(result.status, `${image}: ${result.checkType}: ${told(result)}`).toBe('passed');
    const processes = await processesOf(agent.id);
    expect([...new Set(processes.map(({ uid }) => uid))]).toEqual(['10001']);
    expect((await docker('diff', agent.id)).split('\n').filter(isOurs)).toEqual([]);
  } finally {
    await agent.remove();
  }
}

/** Files that the agent wrote outside of its volume and /tmp, which a read-only container would refuse. */
const isOurs = (line: string) => line !== '' && !/^[AC] \/(tmp|var\/lib\/location-agent)?(\/|$)/.test(line);

describe("Chromium's own sandbox", () => {
  /** The status of a browser check, and the reports of the log and doctor on the sandbox. */
  const toldOfSandbox = async (slug: string, securityOpt: string[]) => {
    const { key } = await newLocation(slug);
    const flags = { ...all, securityOpt };
    const agent = await startAgent({ image: 'full', network: world.network, key, flags });
    try {
      const { status } = await runCheck('browser', slug, { script: visit });
      // Its exit code is of all that it looks at: name servers of this machine, for example.
      const { output } = await agent.container.exec(['location-agent', 'doctor']);
      const line = /^.* browser 2026\.04 .*$/m.exec(output)?.[0];
      return {
        status,
        logged: (await agent.logs()).includes('Chromium runs without its own sandbox'),
        doctor: /(in|without) its own sandbox.*$/.exec(line ?? '')?.[0],
      };
    } finally {
      await agent.remove();
    }
  };

  test('with the default profile there are no namespaces; the log and doctor report it', async () => {
    expect(await toldOfSandbox('sandbox-none', ['no-new-privileges'])).toEqual({
      status: 'passed',
      logged: true,
      doctor: 'without its own sandbox: user namespaces are not available here',
    });
  });

  test.skipIf(!hostHasUserNamespaces)('with docker/seccomp.json: it is on', async () => {
    const profile = readFileSync(join(import.meta.dirname, '../../docker/seccomp.json'), 'utf8');
    expect(await toldOfSandbox('sandbox-own', ['no-new-privileges', `seccomp=${profile}`])).toEqual({
      status: 'passed',
      logged: false,
      doctor: 'in its own sandbox',
    });
  });
});

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

  test('without a capability the result names the one to allow', async () => {
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
  expect(stdout + stderr).toMatch(/"FATAL".*\/var\/lib\/location-agent/);
});
