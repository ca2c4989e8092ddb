import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { HealthServer } from '../../../src/agent/metrics/health.ts';
import { isExempt } from '../../../src/agent/probe/no-proxy.ts';
import { modulesOf } from '../../../src/agent/probe/settings/module-file.ts';
import { readAgentSettings } from '../../../src/config.ts';
import { startTargets, type Targets } from '../../../src/targets/targets.ts';
import { parsePrometheus } from '../../helpers/prometheus-text.ts';
import { startProbe } from './probe-lab.ts';

/** `proxy_from_environment`: which proxy of the agent's environment a target has, and NO_PROXY. */

describe('NO_PROXY', () => {
  test.each([
    // This machine is exempt.
    ['localhost', '80', '', true],
    ['127.9.9.9', '80', '', true],
    ['::1', '80', '', true],
    ['0:0:0:0:0:0:0:1', '80', '', true],
    ['192.0.2.1', '80', '', false],
    ['shop.example', '80', '*', true],
    ['shop.example', '80', ' a.example , SHOP.example ', true],
    ['SHOP.example', '80', 'shop.EXAMPLE', true],
    // A domain contains itself and all below, one with a dot only those below.
    ['www.shop.example', '80', 'shop.example', true],
    ['workshop.example', '80', 'shop.example', false],
    ['www.shop.example', '80', '.shop.example', true],
    ['shop.example', '80', '.shop.example', false],
    ['www.shop.example', '80', '*.shop.example', true],
    ['shop.example', '80', '*.shop.example', false],
    // Only commas separate.
    ['shop.example', '80', 'a.example shop.example', false],
    ['shop.example', '443', 'shop.example:443', true],
    ['shop.example', '80', 'shop.example:443', false],
    ['192.0.2.1', '80', '192.0.2.1', true],
    ['192.0.2.1', '80', '192.0.2.1:80', true],
    ['192.0.2.1', '80', '192.0.2.1:81', false],
    ['192.0.2.1', '80', '192.0.2.0/24', true],
    ['192.0.3.1', '80', '192.0.2.0/24', false],
    ['192.0.2.1', '80', '192.0.2.0/99', false],
    ['shop.example', '80', '192.0.2.0/24', false],
    ['2001:db8::1', '80', '2001:db8::/32', true],
    ['2001:db8::1', '443', '[2001:db8::1]:443', true],
    ['2001:db8::1', '80', '[2001:db8::1]:443', false],
    ['2001:db8::1', '80', '[2001:db8:0::1]', true],
    ['shop.example', '80', ':80,,/8', false],
  ])('%s:%s with %j: %s', (host, port, noProxy, expected) => {
    expect(isExempt(host, port, noProxy)).toBe(expected);
  });
});

describe('refused', () => {
  test.each([
    ['proxy_from_environment: true, proxy_url: "http://a"', {}, 'proxy_url and proxy_from_environment'],
    ['proxy_from_environment: true, no_proxy: a', {}, 'no_proxy and proxy_from_environment exclude'],
    ['proxy_from_environment: perhaps', {}, 'proxy_from_environment must be true or false'],
    [
      'proxy_from_environment: true',
      { HTTPS_PROXY: 'socks5://a' },
      'proxy_from_environment needs HTTP_PROXY and HTTPS_PROXY to be a URL',
    ],
    [
      'oauth2: {client_id: a, client_secret: b, token_url: "http://c", proxy_from_environment: true}',
      { HTTP_PROXY: 'socks5://a' },
      'oauth2.proxy_from_environment needs HTTP_PROXY',
    ],
  ])('%s with %j', async (fields, env, problem) => {
    const { proxy } = readAgentSettings(env);
    await expect(modulesOf(`modules: {m: {prober: http, http: {${fields}}}}`, proxy)).rejects.toThrow(
      problem,
    );
  });
});

describe('probes', () => {
  let folder = '';
  let file = '';
  let targets: Targets;
  let proxy: Server;
  let other: Server;
  const asked: string[] = [];
  const servers: HealthServer[] = [];
  let location = '';

  /** A proxy that leads to the sample targets, whatever it is asked for. */
  async function startProxy(name: string): Promise<Server> {
    const server = createServer(({ method, url }, response) => {
      asked.push(`${name} ${method} ${url}`);
      if (location === '') response.end('ok');
      else response.writeHead(302, { location }).end();
      location = '';
    });
    server.on('connect', ({ url }, client: Socket) => {
      asked.push(`${name} CONNECT ${url}`);
      const target = connect(targets.ports.https, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connected\r\n\r\n');
        client.pipe(target).pipe(client);
      });
      for (const socket of [client, target]) socket.on('error', () => client.destroy());
      client.on('close', () => target.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'proxy-environment-'));
    targets = await startTargets();
    proxy = await startProxy('a');
    other = await startProxy('b');
    file = join(folder, 'blackbox.yml');
    const http =
      'preferred_ip_protocol: ip4, tls_config: {insecure_skip_verify: true}, proxy_from_environment: true';
    writeFileSync(
      file,
      `modules: {own: {prober: http, http: {${http}}}, skip: {prober: http, http: {${http}, skip_resolve_phase_with_proxy: true}}}`,
    );
  });
  afterAll(async () => {
    for (const server of servers) await server.close();
    proxy.close();
    other.close();
    await targets.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    asked.length = 0;
    location = '';
  });

  const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP

  async function ask(
    target: string,
    env: { [name: string]: string },
    { allowed = ['*'], module = 'own' }: { allowed?: string[]; module?: string } = {},
  ) {
    const { proxy: proxies } = readAgentSettings(env);
    const server = await startProbe({ file, proxy: proxies, targets: allowed });
    servers.push(server);
    const answer = await fetch(`${server.url}/probe?${new URLSearchParams({ module, target })}`, {
      headers: { 'x-prometheus-scrape-timeout-seconds': '5' },
    });
    const text = await answer.text();
    return { text, up: parsePrometheus(text).get('probe_success')?.samples[0]?.value };
  }
  const both = () => ({ HTTP_PROXY: urlOf(proxy), HTTPS_PROXY: urlOf(other) });

  test('each scheme has its own proxy', async () => {
    expect((await ask('http://192.0.2.1/', both())).up).toBe(1);
    expect((await ask('https://192.0.2.1/', both())).up).toBe(1);
    expect(asked).toEqual(['a GET http://192.0.2.1/', 'b CONNECT 192.0.2.1:443']);
  });

  test('https has no proxy if only HTTP_PROXY is set', async () => {
    const target = `https://127.0.0.1:${targets.ports.https}/`;
    expect((await ask(target, { http_proxy: urlOf(proxy) })).up).toBe(1);
    expect(asked).toEqual([]);
  });

  test('a redirect to https takes the proxy of https', async () => {
    location = 'https://192.0.2.2/';
    expect((await ask('http://192.0.2.1/', both())).up).toBe(1);
    expect(asked).toEqual(['a GET http://192.0.2.1/', 'b CONNECT 192.0.2.2:443']);
  });

  test('a redirect to a target of NO_PROXY is followed directly, and held to the list', async () => {
    const env = { ...both(), NO_PROXY: 'a.example' };
    for (const [allowed, up] of [
      [['*'], 1],
      [['192.0.2.1'], 0],
    ] as const) {
      location = `http://127.0.0.1:${targets.ports.http}/`;
      expect((await ask('http://192.0.2.1/', env, { allowed: [...allowed] })).up).toBe(up);
    }
    expect(asked).toEqual(['a GET http://192.0.2.1/', 'a GET http://192.0.2.1/']);
  });

  test('this machine, names and networks of NO_PROXY are reached directly', async () => {
    const page = `http://localhost:${targets.ports.http}/`;
    expect((await ask(page, both())).up).toBe(1);
    // Whether anybody is there is not the question.
    await ask('http://192.0.2.1:1/', { ...both(), NO_PROXY: '192.0.2.0/24' });
    expect(asked).toEqual([]);
  });

  test('the name is resolved also if the module would skip it', async () => {
    const answer = await ask('http://192.0.2.1/', both(), { module: 'skip' });
    expect([answer.up, asked]).toEqual([1, ['a GET http://192.0.2.1/']]);
    expect(answer.text).toContain('probe_ip_protocol 4');
  });

  test('without proxies in the environment, targets are reached directly', async () => {
    expect((await ask(`127.0.0.1:${targets.ports.http}`, {})).up).toBe(1);
    expect(asked).toEqual([]);
  });
});
