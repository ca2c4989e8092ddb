import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { HealthServer } from '../../../src/agent/metrics/health.ts';
import { startTargets, type Targets } from '../../../src/targets/targets.ts';
import { parsePrometheus } from '../../helpers/prometheus-text.ts';
import { startForwardProxy, type ForwardProxy } from './forward-proxy.ts';
import { startProbe } from './probe-lab.ts';

/** Probes through a proxy: what the proxy is asked for, and the list of allowed targets. */

let folder = '';
let file = '';
let proxy: ForwardProxy;
let targets: Targets;
let redirecting: Server;
let location = '';
const servers: HealthServer[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'proxied-'));
  proxy = await startForwardProxy();
  targets = await startTargets();
  redirecting = createServer((_, response) => response.writeHead(302, { location }).end());
  await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve));
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, targets.caCertificate);
  const common = `preferred_ip_protocol: ip4, tls_config: {ca_file: ${ca}}`;
  const url = `proxy_url: "http://user:very-secret-value@127.0.0.1:${proxy.port}"`;
  file = join(folder, 'blackbox.yml');
  writeFileSync(
    file,
    `
modules:
  through: {prober: http, http: {${common}, ${url}, proxy_connect_header: {X-Way: [blue, very-secret-value]}}}
  names: {prober: http, http: {${common}, ${url}, skip_resolve_phase_with_proxy: true}}
  except: {prober: http, http: {${common}, ${url}, no_proxy: "other.example,10.0.0.0/8"}}
`,
  );
});
afterAll(async () => {
  redirecting.close();
  for (const server of servers) await server.close();
  await targets.close();
  await proxy.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  proxy.asked.length = 0;
});

async function ask(
  query: { module: string; target: string; debug?: string },
  allowed: readonly string[] = ['*'],
): Promise<{ status: number; text: string; up: number | undefined }> {
  const server = await startProbe({ file, targets: allowed });
  servers.push(server);
  const answer = await fetch(`${server.url}/probe?${new URLSearchParams(query)}`);
  const text = await answer.text();
  const isMetrics = answer.status === 200 && query.debug === undefined;
  return {
    status: answer.status,
    text,
    up: isMetrics ? parsePrometheus(text).get('probe_success')?.samples[0]?.value : undefined,
  };
}
const lines = () => proxy.asked.map(({ line }) => line);
const page = (host = 'localhost') => `http://${host}:${targets.ports.http}/`;
const secure = (host = 'localhost') => `https://${host}:${targets.ports.https}/`;

test('CONNECT names the address that was resolved, with the headers of the module', async () => {
  expect((await ask({ module: 'through', target: secure() })).up).toBe(1);
  expect(lines()).toEqual([`CONNECT 127.0.0.1:${targets.ports.https}`]);
  const credentials = Buffer.from('user:very-secret-value').toString('base64');
  expect(proxy.asked[0]?.headers).toMatchObject({
    'x-way': 'blue, very-secret-value',
    'proxy-authorization': `Basic ${credentials}`,
  });
});

test('the headers of CONNECT are not sent with requests', async () => {
  expect((await ask({ module: 'through', target: page() })).up).toBe(1);
  expect(lines()).toEqual([`GET ${page()}`]);
  expect(proxy.asked[0]?.headers).not.toHaveProperty('x-way');
});

test('the proxy resolves the name, and metrics of the lookup are absent', async () => {
  const answer = await ask({ module: 'names', target: secure() });
  expect([answer.up, lines()]).toEqual([1, [`CONNECT localhost:${targets.ports.https}`]]);
  expect(answer.text).not.toContain('probe_ip_protocol');
  expect(answer.text).not.toContain('phase="resolve"');
});

test('no_proxy and targets of this machine are reached directly', async () => {
  expect((await ask({ module: 'except', target: page() })).up).toBe(1);
  expect((await ask({ module: 'except', target: 'http://10.0.0.1:1/' }, ['127.0.0.1'])).status).toBe(403);
  expect(lines()).toEqual([]);
});

test('debug shows no secret of the proxy', async () => {
  const { text } = await ask({ module: 'through', target: page(), debug: 'true' });
  expect(text).toContain('proxy_connect_header');
  expect(text).toContain(`@127.0.0.1:${proxy.port}`);
  expect(text).not.toContain('very-secret-value');
});

test.each([
  ['through', 'http', 'localhost', ['localhost'], 200],
  ['through', 'http', '127.0.0.1', ['127.0.0.0/8'], 200],
  // The proxy may resolve it to another address.
  ['through', 'http', 'localhost', ['127.0.0.0/8'], 403],
  ['through', 'https', 'localhost', ['127.0.0.0/8'], 200],
  ['through', 'https', 'localhost', ['10.0.0.0/8'], 403],
  ['names', 'https', 'localhost', ['127.0.0.0/8'], 403],
  ['names', 'https', 'localhost', ['localhost'], 200],
  ['names', 'https', '127.0.0.1', ['10.0.0.0/8'], 403],
])('%s, %s://%s with the list %j', async (module, scheme, host, allowed, status) => {
  const answer = await ask({ module, target: scheme === 'http' ? page(host) : secure(host) }, allowed);
  expect([answer.status, answer.up]).toEqual([status, status === 200 ? 1 : undefined]);
  expect(proxy.asked).toHaveLength(status === 200 ? 1 : 0);
});

test.each([
  ['through', () => page()],
  ['through', () => secure('127.0.0.2')],
  ['names', () => secure()],
])('%s: a redirect to another target fails before the proxy is asked', async (module, to) => {
  location = to();
  const { port } = redirecting.address() as { port: number }; // it listens on TCP
  const answer = await ask({ module, target: `http://127.0.0.1:${port}/` }, ['127.0.0.1']);
  expect([answer.status, answer.up]).toEqual([200, 0]);
  expect(lines()).toEqual([`GET http://127.0.0.1:${port}/`]);
});

test('a proxy that does not answer fails the probe', async () => {
  const broken = join(folder, 'broken.yml');
  writeFileSync(
    broken,
    'modules: {m: {prober: http, http: {preferred_ip_protocol: ip4, proxy_url: "http://127.0.0.1:1"}}}',
  );
  const server = await startProbe({ file: broken });
  servers.push(server);
  const answer = await fetch(`${server.url}/probe?${new URLSearchParams({ module: 'm', target: page() })}`);
  expect([answer.status, (await answer.text()).includes('probe_success 0')]).toEqual([200, true]);
});
