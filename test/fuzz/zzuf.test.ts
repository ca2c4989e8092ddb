import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runningAgent } from '../helpers/running-agent.ts';
import { startHealthServer, type HealthServer } from '../../src/agent/metrics/health.ts';
import { anyDatabase } from '../helpers/service/database.ts';
import { startTestService, type TestService } from '../helpers/service/service.ts';
import { damaged as damagedBytes, flipped, hasZzuf, maskOf } from '../helpers/zzuf.ts';

/**
 * Requests that zzuf has damaged, to the agent's health port and the service: no crash, no 5xx, and the next good request
 * is answered. An error outside of a request would fail this file.
 */

if (!hasZzuf) process.stdout.write('skipped: damaged requests need zzuf (apt-get install zzuf)\n');

const seeds = 40;
let health: HealthServer;
let service: TestService;

beforeAll(async () => {
  if (!hasZzuf) return;
  health = await startHealthServer({
    port: 0,
    view: () => runningAgent,
    metricsPage: () => Promise.resolve({ contentType: 'text/plain', body: 'page' }),
  });
  service = await startTestService(await anyDatabase.open());
});
afterAll(async () => {
  if (!hasZzuf) return;
  await health.close();
  await service.close();
  await anyDatabase.close();
});

/** The request with a share of its bits changed; a seed always changes the same ones. */
const damaged = (request: string, seed: number): Buffer => damagedBytes(request, seed, '0.001:0.05');

/** What the server answers until it closes the connection. */
function answerTo(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.end(bytes));
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.on('error', () => undefined).on('close', () => resolve(answer));
  });
}

const request = (line: string, headers: string[], body = ''): string =>
  [line, 'host: 127.0.0.1', 'connection: close', ...headers, `content-length: ${body.length}`, '', body].join(
    '\r\n',
  );

async function bombard(url: string, requests: readonly string[]): Promise<string[]> {
  const answers: string[] = [];
  for (const each of requests) {
    for (let seed = 0; seed < seeds; seed++) answers.push(await answerTo(url, damaged(each, seed)));
  }
  return answers;
}

const statusesOf = (answers: readonly string[]): Set<string> =>
  new Set(answers.map((answer) => /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'none'));

test.skipIf(!hasZzuf)('zzuf changes requests', () => {
  const whole = request('GET /health HTTP/1.1', []);
  const changed = Array.from({ length: 10 }, (_, seed) => damaged(whole, seed).toString('latin1'));
  expect(changed.filter((text) => text !== whole).length).toBeGreaterThan(5);
});

test.skipIf(!hasZzuf)('zzuf flips the same bits of each stream, whatever is in it', () => {
  const text = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'.repeat(20));
  for (let seed = 0; seed < 5; seed++) expect(flipped(text, maskOf(seed))).toEqual(damagedBytes(text, seed));
});

test.skipIf(!hasZzuf)(
  "the agent's health port",
  async () => {
    const answers = await bombard(health.url, [
      request('GET /health HTTP/1.1', []),
      request('GET /metrics HTTP/1.1', ['accept: application/openmetrics-text; version=1.0.0']),
      request('POST /-/readiness HTTP/1.1', ['content-type: text/plain'], 'hello'),
    ]);
    expect([...statusesOf(answers)].filter((status) => status.startsWith('5'))).toEqual([]);
    expect((await fetch(`${health.url}/health`)).status).toBe(200);
  },
  60_000,
);

test.skipIf(!hasZzuf)(
  'the service',
  async () => {
    const key = `authorization: Bearer ${service.account.key}`;
    const body =
      '{"name":"Shop","startsAt":"2026-03-04T05:00:00Z","endsAt":"2026-03-04T06:00:00Z","tags":["a"]}';
    const json = 'content-type: application/json';
    const answers = await bombard(service.url, [
      request('GET /v1/checks?limit=10&page=1 HTTP/1.1', [key]),
      request('POST /v1/maintenance-windows HTTP/1.1', [key, json], body),
      request('POST /agent/v1/hello HTTP/1.1', ['authorization: Bearer pl_0123456789', json], body),
      request('GET / HTTP/1.1', ['accept-encoding: gzip', 'cookie: a=b']),
    ]);
    expect([...statusesOf(answers)].filter((status) => status.startsWith('5'))).toEqual([]);
    expect((await service.call('GET', '/v1/checks')).status).toBe(200);
  },
  60_000,
);
