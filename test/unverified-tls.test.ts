import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { killAll, startProgram, until } from './e2e/program.ts';
import { builtProgram } from './helpers/build.ts';
import { makeCertificate } from './helpers/network/dns-server.ts';

/** NODE_TLS_REJECT_UNAUTHORIZED=0 in real processes, against a server whose certificate nobody has signed. */

let main: string;
let server: Server;
let url: string;
let folder: string;
/** Requests that reached the server: none may, because they carry keys. */
let received: string[] = [];
const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' };

beforeAll(async () => {
  main = await builtProgram();
  folder = mkdtempSync(join(tmpdir(), 'unverified-'));
  server = createServer(makeCertificate(), (request, response) => {
    received.push(`${request.method} ${request.url}`);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `https://localhost:${(server.address() as AddressInfo).port}`; // it listens on TCP
}, 120_000);
afterAll(() => {
  killAll();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  received = [];
});

/** Runs a module of ours in a process of its own; its standard output. */
function run(program: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      env: { ...env, PATH: process.env['PATH'] ?? '' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    child.once('error', reject).once('close', () => resolve(text));
  });
}
const module = (path: string) => JSON.stringify(join(dirname(main), path));

test('the variable works in such a process for a plain request', async () => {
  expect(await run(`process.stdout.write(String((await fetch(${JSON.stringify(url)})).status))`)).toBe('200');
  expect(received).toHaveLength(1);
});

test('the agent does not send its key to that server, and says so', async () => {
  const agent = startProgram(main, ['start'], {
    ...env,
    SERVICE_URL: url,
    API_KEY: 'pl_a_key_of_this_test',
    AGENT_HEALTH_PORT: '0',
    AGENT_DATA_DIR: join(folder, 'agent'),
  });
  const text = () => agent.stdout() + agent.stderr();
  await until(() => text().includes('hello not accepted'), 'a failed hello', 60_000);
  agent.kill('SIGKILL');
  await agent.exited;
  expect(text()).toContain('NODE_TLS_REJECT_UNAUTHORIZED=0 is ignored for the service');
  expect(text()).toMatch(/self-signed certificate|DEPTH_ZERO_SELF_SIGNED_CERT/);
  expect(received).toEqual([]);
}, 90_000);

test('neither do uploads, bundles, proxies with TLS and alert channels', async () => {
  const results = await run(`
    const { createTransport } = await import(${module('agent/link/transport.js')});
    const { callTarget } = await import(${module('service/notifications/http-call.js')});
    const { Readable } = await import('node:stream');
    const reason = (error) => String(error?.cause?.code ?? error?.code ?? error?.message) + ' ' + error?.message;
    const seen = {};
    const none = { httpProxy: null, httpsProxy: null, noProxy: '' };
    const serviceUrl = new URL(${JSON.stringify(url)});
    const settings = { serviceUrl, proxy: none, extraCaFile: null, headers: { authorization: 'Bearer key' } };
    const direct = await createTransport(settings);
    const { signal } = new AbortController();
    const send = (method) => direct.send({ method, path: '/agent/v1/x', headers: {}, idleMs: 5000, answerBytes: 1000, signal,
      body: method === 'PUT' ? Readable.from(['content']) : null });
    seen.post = await direct.post('/agent/v1/hello', '{}', { timeoutMs: 5000, answerBytes: 1000 }).catch(reason);
    seen.upload = await send('PUT').catch(reason);
    seen.bundle = await send('GET').catch(reason);
    const secret = { reveal: () => serviceUrl.href };
    for (const [name, target] of [['tunnel', 'https://service.example'], ['proxy', 'http://service.example']]) {
      const proxied = await createTransport({ ...settings, serviceUrl: new URL(target),
        proxy: { httpProxy: secret, httpsProxy: secret, noProxy: '' } });
      seen[name] = await proxied.post('/agent/v1/hello', '{}', { timeoutMs: 5000, answerBytes: 1000 }).catch(reason);
    }
    seen.channel = (await callTarget(
      { method: 'POST', url: serviceUrl.href, headers: {}, body: '' },
      { privateTargets: 'allow', kindOf: () => 'public', timeoutMs: 5000 }, signal)).result;
    process.stdout.write(JSON.stringify(seen));
    process.exit(0);
  `);
  const seen = JSON.parse(results) as { [call: string]: unknown };
  expect(Object.keys(seen)).toEqual(['post', 'upload', 'bundle', 'tunnel', 'proxy', 'channel']);
  for (const [call, result] of Object.entries(seen))
    expect([call, result]).toEqual([call, expect.stringMatching(/self-signed/i)]);
  expect(received).toEqual([]);
}, 60_000);
