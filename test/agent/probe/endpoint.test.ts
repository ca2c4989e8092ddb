import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readAgentSettings } from '../../../src/config.ts';
import { Secret } from '../../../src/secrets/secret.ts';
import { refusalOf } from '../../../src/agent/probe/access.ts';
import { hashOf } from '../../../src/agent/probe/address.ts';
import { allowedTargets } from '../../../src/agent/probe/allowed-targets.ts';
import type { HealthServer } from '../../../src/agent/metrics/health.ts';
import { startHttpTarget, type HttpTarget } from '../../../src/targets/http-target.ts';
import { parsePrometheus } from '../../helpers/prometheus-text.ts';
import { startProbe } from './probe-lab.ts';

/** The endpoint itself: who may use it, for which targets, and how misuse is answered. */

let folder = '';
let file = '';
let target: HttpTarget;
let server: HealthServer | null = null;
const modules = `
modules:
  http_2xx: {prober: http, timeout: 2s, http: {preferred_ip_protocol: ip4, headers: {X-Api-Key: very-secret-value}}}
  named: {prober: http, http: {headers: {Host: shop.example}}}
  slow: {prober: http, timeout: 30s, http: {preferred_ip_protocol: ip4}}
  tcp_labels: {prober: tcp, timeout: 2s, tcp: {preferred_ip_protocol: ip4, query_response: [{send: "GET / HTTP/1.0\\r\\n\\r\\n"}, {expect: "^HTTP/1.1 (\\\\d+)", labels: [{name: status, value: "\${1}"}]}]}}
  tcp_bytes: {prober: tcp, timeout: 2s, tcp: {preferred_ip_protocol: ip4, query_response: [{send: "GET / HTTP/1.0\\r\\n\\r\\n"}, {expect_bytes: "HTTP/2"}]}}
`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'probe-endpoint-'));
  file = join(folder, 'blackbox.yml');
  writeFileSync(file, modules);
  target = await startHttpTarget();
});
afterAll(async () => {
  await target.close();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => {
  await server?.close();
  server = null;
});

async function ask(
  query: { [name: string]: string },
  options: Partial<Parameters<typeof startProbe>[0]> & {
    headers?: { [name: string]: string };
    method?: string;
  } = {},
) {
  const { headers = {}, method = 'GET', ...rest } = options;
  server ??= await startProbe({ file, ...rest });
  const answer = await fetch(`${server.url}/probe?${new URLSearchParams(query)}`, { headers, method });
  return { status: answer.status, text: await answer.text(), type: answer.headers.get('content-type') };
}
const up = ({ text }: { text: string }) => parsePrometheus(text).get('probe_success')?.samples[0]?.value;
const address = () => `127.0.0.1:${target.port}`;

describe('misuse', () => {
  test.each<[query: { [name: string]: string }, status: number, text: RegExp]>([
    [{}, 400, /^Target parameter is missing\n$/],
    [{ target: 'a', module: 'none' }, 400, /^Unknown module "none"\n$/],
    [{ target: '%E0' }, 400, /not encoded well/],
    [{ target: 'a', module: 'named', hostname: 'other.example' }, 400, /Host header defined both/],
    [{ target: 'a', hostname: 'a\r\nb: c' }, 400, /not a host name/],
  ])('%j', async (query, status, text) => {
    const answer = await ask(query);
    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(text);
  });

  test('a scrape timeout that is no number, and other methods', async () => {
    const headers = { 'x-prometheus-scrape-timeout-seconds': 'soon' };
    expect((await ask({ target: 'a' }, { headers })).status).toBe(500);
    expect((await ask({ target: 'a' }, { method: 'POST' })).status).toBe(405);
  });
});

test('the default module, the target encoded twice, and the format', async () => {
  const answer = await ask({ target: encodeURIComponent(`http://${address()}/`) });
  expect([answer.status, answer.type, up(answer)]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
    1,
  ]);
});

test('the host name becomes the Host header', async () => {
  const hosts: (string | undefined)[] = [];
  const own = createServer((request, response) => {
    hosts.push(request.headers.host);
    response.end('ok');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => own.once('listening', resolve));
  const { port } = own.address() as { port: number }; // it listens on TCP
  expect(up(await ask({ target: `127.0.0.1:${port}`, hostname: 'shop.example' }))).toBe(1);
  own.close();
  expect(hosts).toEqual(['shop.example']);
});

test('debug shows log, metrics and module, without secrets', async () => {
  const { text, type } = await ask({ target: address(), debug: 'true' });
  expect(type).toContain('text/plain');
  for (const part of [
    'Logs for the probe:',
    'Beginning probe',
    'probe_success 1',
    'Module configuration:',
    'prober: http',
  ])
    expect(text).toContain(part);
  expect(text).not.toContain('very-secret-value');
});

test('labels of a step, and bytes that did not come', async () => {
  const labels = parsePrometheus((await ask({ target: address(), module: 'tcp_labels' })).text);
  expect(labels.get('probe_expect_info')?.samples).toEqual([
    { name: 'probe_expect_info', labels: { status: '200' }, value: 1 },
  ]);
  const bytes = parsePrometheus((await ask({ target: address(), module: 'tcp_bytes' })).text);
  expect(bytes.get('probe_failed_due_to_bytes')?.samples[0]?.value).toBe(1);
  expect(bytes.get('probe_success')?.samples[0]?.value).toBe(0);
});

test("the time limit is the least of the module's and the scrape's", async () => {
  const headers = { 'x-prometheus-scrape-timeout-seconds': '1' };
  const startedAt = performance.now();
  const answer = await ask({ target: `http://${address()}/never`, module: 'slow' }, { headers });
  expect(up(answer)).toBe(0);
  expect(parsePrometheus(answer.text).get('probe_timeout_seconds')?.samples[0]?.value).toBe(0.5);
  expect(performance.now() - startedAt).toBeLessThan(3000);
});

test('a caller that leaves ends its probe', async () => {
  let closed = 0;
  const own = createServer((request) => request.socket.once('close', () => (closed += 1))).listen(
    0,
    '127.0.0.1',
  );
  await new Promise((resolve) => own.once('listening', resolve));
  const { port } = own.address() as { port: number }; // it listens on TCP
  server = await startProbe({ file });
  const query = new URLSearchParams({ target: `127.0.0.1:${port}`, module: 'slow' });
  await expect(fetch(`${server.url}/probe?${query}`, { signal: AbortSignal.timeout(500) })).rejects.toThrow();
  await expect.poll(() => closed, { timeout: 5000 }).toBe(1);
  own.close();
});

describe('access', () => {
  const from = (remoteAddress: string, headers = {}) => ({ headers, socket: { remoteAddress } }) as never; // the fields that are read
  const token = new Secret('a-long-token');

  test.each([
    ['127.0.0.1', {}, null, undefined],
    ['::1', {}, null, undefined],
    ['::ffff:127.0.0.9', {}, null, undefined],
    ['10.0.0.1', {}, null, 403],
    ['::ffff:10.0.0.1', {}, null, 403],
    ['127.0.0.1', { origin: 'http://evil.example' }, null, 403],
    ['127.0.0.1', { 'sec-fetch-site': 'cross-site' }, null, 403],
    ['127.0.0.1', {}, token, 401],
    ['10.0.0.1', { authorization: 'Bearer other' }, token, 401],
    ['10.0.0.1', { authorization: 'Bearer a-long-token' }, token, undefined],
  ])('%s %j', (remote, headers, wanted, status) => {
    expect(refusalOf(from(remote, headers), wanted)?.status).toBe(status);
  });

  test('a token is required over the port, too', async () => {
    const refused = await ask({ target: address() }, { token });
    expect(refused.status).toBe(401);
    expect(refused.text).not.toContain('a-long-token');
    expect(up(await ask({ target: address() }, { headers: { authorization: 'Bearer a-long-token' } }))).toBe(
      1,
    );
  });
});

describe('targets', () => {
  test.each([
    [['*'], 'any.example', '10.0.0.1', true, true],
    [['shop.example'], 'SHOP.example.', '10.0.0.1', true, false],
    [['shop.example'], 'a.shop.example', '', false, false],
    [['*.shop.example'], 'a.shop.example', '', true, false],
    [['*.shop.example'], 'shop.example', '', false, false],
    [['*.shop.example'], 'evilshop.example', '', false, false],
    [['10.0.0.0/8', '2001:db8::/32'], 'x', '10.9.9.9', false, true],
    [['10.0.0.0/8', '2001:db8::/32'], 'x', '2001:db8::1', false, true],
    [['10.0.0.0/8'], 'x', '11.0.0.1', false, false],
    [['127.0.0.1'], '127.0.0.1', '127.0.0.1', false, true],
    [[], 'x', '127.0.0.1', false, false],
  ])('%j: %s, %s', (entries, name, ip, hasName, hasAddress) => {
    const allowed = allowedTargets(entries);
    expect([allowed.hasName(name), allowed.hasAddress(ip)]).toEqual([hasName, hasAddress]);
  });

  test('others are refused, by name and by address', async () => {
    const targets = ['192.0.2.0/24', 'shop.example'];
    for (const one of [address(), `localhost:${target.port}`, 'http://[::1]:1/', 'nothing.invalid']) {
      const answer = await ask({ target: one }, { targets });
      expect([one, answer.status]).toEqual([one, one === 'nothing.invalid' ? 200 : 403]);
    }
  });

  test('a redirect to another target fails the probe before it connects', async () => {
    const inner = await startHttpTarget();
    const outer = createServer((_, response) =>
      response.writeHead(302, { location: `http://127.0.0.2:${inner.port}/` }).end(),
    ).listen(0, '127.0.0.1');
    await new Promise((resolve) => outer.once('listening', resolve));
    const { port } = outer.address() as { port: number }; // it listens on TCP
    const answer = await ask({ target: `127.0.0.1:${port}` }, { targets: ['127.0.0.1'] });
    expect([answer.status, up(answer), inner.requests()]).toEqual([200, 0, 0]);
    outer.close();
    await inner.close();
  });
});

test('addresses are hashed by their bytes', () => {
  // 3668918509 is what the other program answers for 127.0.0.1.
  expect(hashOf('127.0.0.1')).toBe(3_668_918_509);
  expect(hashOf('::ffff:127.0.0.1')).toBe(3_668_918_509);
  expect(hashOf('2001:db8::1')).toBe(hashOf('2001:0db8:0:0:0:0:0:1'));
});

describe('variables', () => {
  const probeOf = (env: { [name: string]: string }) => readAgentSettings(env).probe;

  test('off without PROBE_CONFIG', () => {
    expect(probeOf({ PROBE_TOKEN: 'x', PROBE_TARGETS: '*' })).toBe(null);
  });

  test('targets are required and read', () => {
    expect(() => probeOf({ PROBE_CONFIG: 'a.yml' })).toThrow(/PROBE_CONFIG needs PROBE_TARGETS/);
    expect(() => probeOf({ PROBE_CONFIG: 'a.yml', PROBE_TARGETS: 'http://a' })).toThrow(
      /"http:\/\/a" is not a network/,
    );
    expect(() => probeOf({ PROBE_CONFIG: 'a.yml', PROBE_TARGETS: '10.0.0.0/99' })).toThrow(/prefix length/);
    expect(() => probeOf({ PROBE_CONFIG: 'a.yml', PROBE_TARGETS: '10.0.0.1:80' })).toThrow(
      /must not have a port/,
    );
    expect(() => probeOf({ PROBE_CONFIG: 'a.yml', PROBE_TARGETS: 'a b' })).toThrow(/"a b" is no name/);
    const probe = probeOf({
      PROBE_CONFIG: '/a.yml',
      PROBE_TARGETS: '*.a.example, 10.0.0.0/8',
      PROBE_TOKEN: 'b',
    });
    expect(probe).toMatchObject({ file: '/a.yml', targets: ['*.a.example', '10.0.0.0/8'] });
    expect(String(probe?.token)).toBe('*********');
  });
});
