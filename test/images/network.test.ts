import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { until } from '../e2e/program.ts';
import { startAgent, type Agent } from './containers.ts';
import { docker, makeNetwork } from './engine.ts';
import { newLocation, runCheck, targets, told, world } from './world.ts';

/** Agents in networks as customers have them: behind a proxy, with an authority of their own, without IPv6. */

const running: Agent[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((agent) => agent.remove()));
});
const started = async (options: Omit<Parameters<typeof startAgent>[0], 'network'> & { network?: string }) => {
  const agent = await startAgent({ network: world.network, ...options });
  running.push(agent);
  return agent;
};

let inner: string;
beforeAll(async () => {
  // Nothing but the proxy is in reach of it.
  inner = await makeNetwork('inner', { internal: true });
  await docker('network', 'connect', '--alias', 'proxy', inner, world.targets);
});
afterAll(async () => {
  await docker('network', 'disconnect', inner, world.targets);
  await docker('network', 'rm', inner);
});

test.each(['uptime', 'full'] as const)('%s: only a proxy leads out', async (image) => {
  const slug = `proxied-${image}`;
  const { key } = await newLocation(slug, { proxyUrl: 'http://proxy:3128' });
  const agent = await started({
    image,
    network: inner,
    key,
    env: { HTTP_PROXY: 'http://proxy:3128', HTTPS_PROXY: 'http://proxy:3128' },
    hasPorts: false,
  });
  // The name of the service resolves only outside.
  const result = await runCheck('url', slug, { request: { url: 'http://service:4400/health' } });
  expect(result.status, `${told(result)}\n${await agent.logs()}`).toBe('passed');
  const asked = await targets<string[]>('/proxied');
  expect(asked.some((line) => line.includes('service:4400'))).toBe(true);
});

const authority = '/etc/own-authority.pem';

test.each(['uptime', 'full'] as const)(
  '%s: a service over TLS with an authority of its own, through a tunnel of the proxy',
  async (image) => {
    const slug = `tunnelled-${image}`;
    const { key } = await newLocation(slug, { proxyUrl: 'http://proxy:3128' });
    const agent = await started({
      image,
      network: inner,
      key,
      serviceUrl: 'https://targets:4443',
      env: { HTTPS_PROXY: 'http://proxy:3128', NODE_EXTRA_CA_CERTS: authority },
      mounts: { [authority]: world.authorityFile },
      hasPorts: false,
    });
    const result = await runCheck('url', slug, { request: { url: 'https://targets/ok' } });
    expect(result.status, `${told(result)}\n${await agent.logs()}`).toBe('passed');
    const asked = await targets<string[]>('/proxied');
    expect(asked).toContain('CONNECT targets:4443');
    expect(asked).toContain('CONNECT targets:443');
    // The name is the proxy's to resolve; what the container says of itself is asked over loopback, which no proxy stands before.
    expect((await agent.container.exec(['health-probe'])).exitCode).toBe(0);
    const { output } = await agent.container.exec(['location-agent', 'doctor']);
    expect(output).toMatch(/ok +service +https:\/\/targets:4443 through the proxy proxy:3128/);
    expect(output).toMatch(/ok +key +accepted/);
  },
);

test.each(['uptime', 'full'] as const)(
  '%s: an authority of its own, for the service and for targets',
  async (image) => {
    const slug = `authority-${image}`;
    const { key } = await newLocation(slug);
    await started({
      image,
      key,
      serviceUrl: 'https://targets:4443',
      env: { NODE_EXTRA_CA_CERTS: authority },
      mounts: { [authority]: world.authorityFile },
    });
    const result = await runCheck('url', slug, { request: { url: 'https://targets/ok' } });
    expect(result.status, told(result)).toBe('passed');
  },
);

test('without the authority: the service is not trusted, and a target fails by its certificate', async () => {
  const slug = 'authority-none';
  const { key } = await newLocation(slug);
  await started({ image: 'uptime', key });
  const result = await runCheck('url', slug, { request: { url: 'https://targets/ok' } });
  expect(result.status).toBe('failed');
  expect(JSON.stringify(result)).toMatch(/certificate/i);

  const distrustful = await started({
    image: 'uptime',
    key,
    serviceUrl: 'https://targets:4443',
    hasPorts: false,
  });
  const spoken = await until(
    async () => /"hello not accepted"/.test(await distrustful.logs()) && distrustful.logs(),
    'a line about the certificate',
    30_000,
  );
  expect(spoken).toMatch(/certificate/i);
});

test('a network without IPv6: names that have both addresses are reached over IPv4', async () => {
  const slug = 'no-ipv6';
  const { key } = await newLocation(slug);
  const names = [
    { host: 'both.test', ipAddress: 'fd00:dead::1' },
    { host: 'both.test', ipAddress: world.targetsAddress },
    { host: 'six.test', ipAddress: 'fd00:dead::1' },
  ];
  await started({ image: 'full', key, serviceUrl: 'http://both.test:4402', extraHosts: names });
  const script = `
    import { expect, test } from '@playwright/test';
    test('page and call', async ({ page, request }) => {
      await page.goto('http://both.test/shop');
      expect(await request.get('http://both.test/ok')).toBeOK();
    });`;
  const [url, tcp, six, browser] = await Promise.all([
    runCheck('url', slug, { request: { url: 'http://both.test/ok', ipFamily: 'IPv6' } }),
    runCheck('tcp', slug, { request: { hostname: 'both.test', port: 7, ipFamily: 'IPv6' } }),
    runCheck('url', slug, { request: { url: 'http://six.test/ok', ipFamily: 'IPv6' } }),
    runCheck('browser', slug, { script }),
  ]);
  expect(url.status, told(url)).toBe('passed');
  expect(tcp.status, told(tcp)).toBe('passed');
  expect(browser.status, told(browser)).toBe('passed');
  // A name that has nothing else: the target is not blamed for what this machine lacks.
  expect([six.status, six.reason?.code], told(six)).toEqual(['errored', 'NETWORK_UNAVAILABLE']);
});
