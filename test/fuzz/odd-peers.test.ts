import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { runningAgent } from '../helpers/running-agent.ts';
import { startHealthServer, type HealthServer } from '../../src/agent/metrics/health.ts';
import { anyDatabase } from '../helpers/service/database.ts';
import { startTestService, type TestService } from '../helpers/service/service.ts';

/**
 * Peers that close their half of a connection or never read, at the agent's health port and at the service: others are
 * still answered, memory is bounded, and no connection stays.
 */

const program = join(import.meta.dirname, '..', 'fixtures', 'odd-peers.mjs');
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const unreadMs = 3_000;

let health: HealthServer;
let service: TestService;
const children: ChildProcess[] = [];

beforeAll(async () => {
  health = await startHealthServer({
    port: 0,
    view: () => runningAgent,
    metricsPage: () => Promise.resolve({ contentType: 'text/plain', body: 'm'.repeat(1_000_000) }),
  });
  service = await startTestService(await anyDatabase.open(), { answerLimits: { unreadMs, waiting: 64 } });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  await health.close();
  await service.close();
  await anyDatabase.close();
});

type Peers = {
  /** What each peer got whose connection the other side has closed: the first bytes. */
  closed: () => string[];
};

/** Starts peers in a process of its own, so that only the server's sockets are in this one. */
async function startPeers(url: string, count: number, kind: string, request = '', times = 1): Promise<Peers> {
  const { port } = new URL(url);
  const args = [program, port, String(count), kind, request, String(times)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let text = '';
  await new Promise<void>((resolve) =>
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (text.includes('ready\n')) resolve();
    }),
  );
  return { closed: () => [...text.matchAll(/^closed (.*)$/gm)].map(([, got = '']) => got) };
}

/** Connections of this machine whose own port is the server's, and that are open on the server's side. */
function connectionsOf(url: string): number {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const open = new Set(['01', '08']); // ESTABLISHED, CLOSE_WAIT
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, own = '', , state = '']) => own.endsWith(`:${port}`) && open.has(state)),
  ).length;
}

async function untilNoneIsOpen(url: string, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs;
  while (connectionsOf(url) > 0 && performance.now() < end) await pause(100);
  expect(connectionsOf(url)).toBe(0);
}

/** The status of one good request, on a connection of its own. */
function statusOf(url: string, path: string): Promise<string> {
  const { port } = new URL(url);
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ host: '127.0.0.1', port: Number(port) }, () =>
      socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`),
    );
    const timer = setTimeout(() => socket.destroy(), 10_000);
    socket.on('data', (part: Buffer) => (answer += part.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'none');
    });
  });
}

const requestOf = (path: string) => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;

describe.skipIf(process.platform !== 'linux').each([
  { who: 'the health port', url: () => health.url, small: '/-/liveness', large: '/metrics', times: 7 },
  { who: 'the service', url: () => service.url, small: '/health', large: '/openapi.json', times: 60 },
])('$who', ({ url, small, large, times }) => {
  test('closes connections whose peer has closed its half', { timeout: 60_000 }, async () => {
    for (const [kind, request] of [
      ['finished', requestOf(small)],
      ['finished', requestOf(small).slice(0, 20)],
      ['speechless', ''],
    ] as const) {
      const peers = await startPeers(url(), 80, kind, request);
      await untilNoneIsOpen(url(), 10_000);
      await expect.poll(() => peers.closed().length, { timeout: 5_000 }).toBe(80);
    }
    expect(await statusOf(url(), small)).toBe('200');
  });

  test(
    'answers others while peers do not read, and closes their connections',
    { timeout: 60_000 },
    async () => {
      await startPeers(url(), 80, 'deaf', requestOf(large), times);
      for (let count = 0; count < 5; count++) expect(await statusOf(url(), small)).toBe('200');
      await untilNoneIsOpen(url(), 25_000);
      expect(await statusOf(url(), small)).toBe('200');
    },
  );

  test('makes no answers for requests that are sent ahead without end', { timeout: 60_000 }, async () => {
    const before = process.memoryUsage().rss;
    await startPeers(url(), 80, 'deaf', requestOf(small), 20_000);
    expect(await statusOf(url(), small)).toBe('200');
    await untilNoneIsOpen(url(), 25_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 ** 2);
  });
});

test.skipIf(process.platform !== 'linux')(
  'the service closes connections of peers that do not read answers to unreadable paths',
  { timeout: 60_000 },
  async () => {
    await startPeers(service.url, 80, 'deaf', requestOf('/%zz'), 20_000);
    expect(await statusOf(service.url, '/%zz')).toBe('400');
    await untilNoneIsOpen(service.url, 25_000);
  },
);
