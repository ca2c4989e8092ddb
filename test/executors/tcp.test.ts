import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { JobAborted } from '../../src/errors.ts';
import type { ExecutionContext, Outcome } from '../../src/executors/interface/executor.ts';
import type { Network } from '../../src/executors/interface/network.ts';
import { createNetwork } from '../../src/executors/system-network.ts';
import { withoutScripts } from '../../src/executors/without-scripts.ts';
import { executeTcp } from '../../src/executors/tcp.ts';
import type { JobOf } from '../../src/protocol/job.ts';
import { startDnsServer, type TestDnsServer } from '../helpers/network/dns-server.ts';
import { jobFields } from '../helpers/job-fields.ts';
import { hasIpv6Loopback } from '../helpers/machine.ts';
import { closedPort } from '../helpers/network/closed-port.ts';

type Request = JobOf<'TCP'>['request'];
type Assertion = Request['assertions'][number];

let folder: string;
let names: TestDnsServer;
let network: Network;
const servers = new Set<{ server: Server; sockets: Set<Socket> }>();

let openBefore = 0;
beforeAll(async () => {
  openBefore = openHandles().length;
  folder = mkdtempSync(join(tmpdir(), 'tcp-test-'));
  names = await startDnsServer({ answer: (query) => query.reply([], { rcode: 3 }) });
  writeFileSync(
    join(folder, 'hosts'),
    '127.0.0.1 target.test\n127.0.0.2 two.test\n127.0.0.1 two.test\n::1 six.test\n',
  );
  writeFileSync(
    join(folder, 'resolv.conf'),
    `nameserver [127.0.0.1]:${names.port}\nsearch test\noptions ndots:1\n`,
  );
  network = createNetwork({
    useOsDnsResolver: false,
    hostsFile: join(folder, 'hosts'),
    resolvConfFile: join(folder, 'resolv.conf'),
  });
});

afterAll(async () => {
  network.close();
  await names.close();
  rmSync(folder, { recursive: true });
  // No attempt has left a socket behind. Other test files run in this process, and may have left some.
  await vi.waitFor(() => expect(openHandles().length).toBeLessThanOrEqual(openBefore));
});

afterEach(async () => {
  for (const { server, sockets } of servers) {
    for (const socket of sockets) socket.destroy();
    const closed = once(server, 'close');
    server.close();
    await closed;
  }
  servers.clear();
});

async function listen(
  onConnection: (socket: Socket) => void = () => {},
  host = '127.0.0.1',
): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  servers.add({ server, sockets });
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port; // listening on TCP
}

const openHandles = () => process.getActiveResourcesInfo().filter((kind) => /TCP|UDP|TLS|HTTP/.test(kind));

function job(request: Partial<Request>): JobOf<'TCP'> {
  return {
    ...jobFields,
    lane: 'uptime',
    checkType: 'TCP',
    request: { hostname: '127.0.0.1', port: 1, data: null, ipFamily: 'IPv4', assertions: [], ...request },
  };
}

function context(signal: AbortSignal = new AbortController().signal): ExecutionContext {
  return { ...withoutScripts, signal, log: () => {}, network, now: () => 0 };
}

function deadlineIn(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new JobAborted('deadline')), ms);
  return controller.signal;
}

const run = (request: Partial<Request>, signal?: AbortSignal) => executeTcp(job(request), context(signal));

const dataIs = (comparison: Assertion['comparison'], target: string, property = ''): Assertion => ({
  source: 'RESPONSE_DATA',
  property,
  comparison,
  target,
  regex: null,
});

function sumOfParts(timings: Outcome['timings']): number {
  const { total: _total, ...parts } = timings ?? { total: Number.NaN };
  return Object.values(parts).reduce((sum, ms) => sum + ms, 0);
}

function expectSum({ timings, responseTime }: Outcome): void {
  expect(sumOfParts(timings)).toBeCloseTo(timings?.total ?? Number.NaN, 2);
  expect(responseTime).toBe(timings?.total);
}

describe('the connection only', () => {
  test('passes, by a name of the hosts file, and closes', async () => {
    let closed: Promise<unknown> | undefined;
    const port = await listen((socket) => {
      closed = once(socket.resume(), 'end');
    });
    const outcome = await run({ hostname: 'target.test', port });
    expect(outcome).toEqual({
      base: { ok: true },
      responseTime: expect.any(Number),
      timings: {
        dns: expect.any(Number),
        connect: expect.any(Number),
        remainder: expect.any(Number),
        total: expect.any(Number),
      },
      assertions: [],
      details: {
        request: { hostname: 'target.test', port, ipFamily: 'IPv4', data: null },
        resolvedIp: '127.0.0.1',
        ipFamily: 'IPv4',
        ipFallback: false,
        source: 'hosts',
        attempts: [{ address: '127.0.0.1', ms: expect.any(Number) }],
        response: {},
      },
    });
    expectSum(outcome);
    await closed;
  });

  test.skipIf(!hasIpv6Loopback)('an address has no dns phase, and brackets are taken off', async () => {
    const port = await listen(() => {}, '::1');
    const outcome = await run({ hostname: '[::1]', port, ipFamily: 'IPv6' });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.timings).toEqual({
      connect: expect.any(Number),
      remainder: expect.any(Number),
      total: expect.any(Number),
    });
    expect(outcome.details).toMatchObject({ resolvedIp: '::1', ipFamily: 'IPv6', source: 'literal' });
  });

  test('refused', async () => {
    const port = await closedPort();
    const outcome = await run({ port, assertions: [dataIs('EQUALS', 'x')] });
    expect(outcome.base).toEqual({
      ok: false,
      reason: { code: 'ECONNREFUSED', owner: 'target', message: `connect ECONNREFUSED 127.0.0.1:${port}` },
    });
    expect(outcome.assertions).toEqual([]);
    expect(outcome.details).toMatchObject({
      attempts: [{ address: '127.0.0.1', ms: expect.any(Number), error: 'ECONNREFUSED' }],
      response: { error: { code: 'ECONNREFUSED', syscall: 'connect', address: '127.0.0.1', port } },
    });
    expectSum(outcome);
  });

  test('unknown host', async () => {
    const outcome = await run({ hostname: 'nowhere.example', port: 80 });
    expect(outcome.base).toEqual({
      ok: false,
      reason: { code: 'ENOTFOUND', owner: 'target', message: 'nowhere.example has no IPv4 address' },
    });
    expect(outcome.details).toMatchObject({
      resolvedIp: null,
      attempts: [],
      response: { error: { code: 'ENOTFOUND', syscall: 'queryA', hostname: 'nowhere.example' } },
    });
    expect(outcome.timings).toEqual({
      dns: expect.any(Number),
      remainder: expect.any(Number),
      total: expect.any(Number),
    });
  });

  test('a port in the host name is no host name', async () => {
    const outcome = await run({ hostname: 'target.test:80', port: 80 });
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'ENOTFOUND' } });
  });

  test('an address of the other family', async () => {
    const outcome = await run({ hostname: '127.0.0.1', port: 80, ipFamily: 'IPv6' });
    expect(outcome.base).toMatchObject({
      ok: false,
      reason: { code: 'ERR_INVALID_IP_ADDRESS', owner: 'target' },
    });
    expect(outcome.details['response']).toEqual({
      error: { code: 'ERR_INVALID_IP_ADDRESS', hostname: '127.0.0.1' },
    });
  });

  test('tries the next address and records each attempt', async () => {
    const port = await listen();
    const outcome = await run({ hostname: 'two.test', port });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details).toMatchObject({
      resolvedIp: '127.0.0.1',
      attempts: [
        { address: '127.0.0.2', error: 'ECONNREFUSED' },
        { address: '127.0.0.1', ms: expect.any(Number) },
      ],
    });
  });
});

/** A listener whose queue is full and whose process sleeps: the kernel drops further connection requests. */
async function blackHole(host: string): Promise<{ port: number; close: () => void }> {
  const listener = `require('net').createServer().listen({ port: 0, host: '${host}', backlog: 1 }, function () {
    require('fs').writeSync(1, String(this.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  })`;
  const child = spawn(process.execPath, ['-e', listener], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer]; // no encoding is set
  const port = Number(chunk.toString());
  const fillers: Socket[] = [];
  for (let answered = true; answered && fillers.length < 50;) {
    const socket = connect(port, host);
    socket.on('error', () => {});
    fillers.push(socket);
    answered = await Promise.race([
      once(socket, 'connect').then(() => true),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 300)),
    ]);
  }
  return {
    port,
    close: () => {
      for (const socket of fillers) socket.destroy();
      child.kill('SIGKILL');
    },
  };
}

test('a black hole in front of a good address costs a quarter of a second', async () => {
  const hole = await blackHole('127.0.0.2');
  try {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => sockets.add(socket));
    servers.add({ server, sockets });
    server.listen(hole.port, '127.0.0.1');
    await once(server, 'listening');
    const outcome = await run({ hostname: 'two.test', port: hole.port });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.timings?.connect).toBeGreaterThan(200);
    expect(outcome.details['attempts']).toEqual([
      { address: '127.0.0.2', ms: expect.any(Number), error: 'ABANDONED' },
      { address: '127.0.0.1', ms: expect.any(Number) },
    ]);
  } finally {
    hole.close();
  }
});

describe('data', () => {
  test('sends data unchanged and uses the first chunk as the answer', async () => {
    const got: Buffer[] = [];
    const port = await listen((socket) =>
      socket.on('data', (chunk) => {
        got.push(chunk);
        socket.write('PONG ü\n');
      }),
    );
    const outcome = await run({ port, data: String.raw`PING\r\n ü` });
    expect(Buffer.concat(got).toString()).toBe(String.raw`PING\r\n ü`);
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details['response']).toEqual({
      data: 'PONG ü\n',
      dataEncoding: 'utf8',
      size: 8,
      truncated: false,
    });
    expect(outcome.timings).toEqual({
      connect: expect.any(Number),
      firstByte: expect.any(Number),
      download: 0,
      remainder: expect.any(Number),
      total: expect.any(Number),
    });
    expectSum(outcome);
  });

  test('assertions see an answer in pieces as one, and the wait for more is not measured', async () => {
    const port = await listen((socket) =>
      socket.once('data', () => {
        socket.write('220 mail ');
        setTimeout(() => socket.write('ready\n'), 120);
      }),
    );
    const assertions: Assertion[] = [
      dataIs('EQUALS', '220 mail ready\n'),
      dataIs('EQUALS', 'ready', String.raw`mail (\w+)`),
      { source: 'RESPONSE_TIME', property: '', comparison: 'LESS_THAN', target: '5000', regex: null },
    ];
    const outcome = await run({ port, data: 'x', assertions });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.assertions).toEqual([
      { ...assertions[0], actual: '220 mail ready\n', error: null },
      { ...assertions[1], actual: 'ready', error: null },
      { ...assertions[2], actual: outcome.responseTime, error: null },
    ]);
    expectSum(outcome);
  });

  test('an assertion fails', async () => {
    const port = await listen((socket) => socket.once('data', () => socket.end('no\n')));
    const outcome = await run({ port, data: 'x', assertions: [dataIs('CONTAINS', 'yes')] });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.assertions).toEqual([
      { ...dataIs('CONTAINS', 'yes'), actual: 'no\n', error: expect.stringContaining('yes') },
    ]);
  });

  test('a banner is read without data where an assertion asks for it', async () => {
    const port = await listen((socket) => socket.write('SSH-2.0-OpenSSH_9.2\r\n'));
    const outcome = await run({ port, assertions: [dataIs('EQUALS', '9.2', String.raw`OpenSSH_(\S+)`)] });
    expect(outcome.assertions).toMatchObject([{ actual: '9.2', error: null }]);
    expect(outcome.details['response']).toMatchObject({ data: 'SSH-2.0-OpenSSH_9.2\r\n' });
  });

  test('bytes that are no text are kept as base64', async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x01]);
    const port = await listen((socket) => socket.end(bytes));
    const outcome = await run({ port, data: 'x' });
    expect(outcome.details['response']).toEqual({
      data: bytes.toString('base64'),
      dataEncoding: 'base64',
      size: 4,
      truncated: false,
    });
  });

  test('a flood is cut off', async () => {
    const port = await listen((socket) => {
      const flood = () => {
        while (!socket.destroyed && socket.write('ü'.repeat(50_000)));
      };
      socket.on('drain', flood);
      flood();
    });
    const outcome = await run({ port, data: 'x', assertions: [dataIs('CONTAINS', 'never')] });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details['response']).toEqual({
      data: 'ü'.repeat(8192),
      dataEncoding: 'utf8',
      size: 65_536,
      truncated: true,
    });
  });

  test('a drip is read for a second', async () => {
    const port = await listen((socket) => {
      const timer = setInterval(() => socket.write('.'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    const outcome = await run({ port, data: 'x', assertions: [dataIs('CONTAINS', 'never')] });
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.responseTime).toBeGreaterThan(500);
    expect(outcome.assertions).toMatchObject([{ error: expect.any(String) }]);
  });

  test('a peer that closes without an answer', async () => {
    const port = await listen((socket) => socket.once('data', () => socket.end()));
    const outcome = await run({ port, data: 'x' });
    expect(outcome.base).toEqual({
      ok: false,
      reason: {
        code: 'CONNECTION_CLOSED',
        owner: 'target',
        message: 'the peer closed the connection without an answer',
      },
    });
    const judged = await run({ port, data: 'x', assertions: [dataIs('IS_EMPTY', '')] });
    expect(judged.base).toEqual({ ok: true });
    expect(judged.assertions).toMatchObject([{ actual: '', error: null }]);
  });

  test('a peer that resets', async () => {
    const port = await listen((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const outcome = await run({ port, data: 'x' });
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'ECONNRESET', owner: 'target' } });
    expect(outcome.details['response']).toMatchObject({ error: { code: 'ECONNRESET', syscall: 'read' } });
  });
});

describe('the signal', () => {
  test('a deadline with a silent peer is SOCKET_TIMEOUT', async () => {
    const port = await listen();
    const outcome = await run({ port, data: 'x' }, deadlineIn(300));
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'SOCKET_TIMEOUT', owner: 'target' } });
    expect(outcome.details['response']).toEqual({
      error: { code: 'SOCKET_TIMEOUT', address: '127.0.0.1', port },
    });
    expect(outcome.timings).toMatchObject({ connect: expect.any(Number), firstByte: expect.any(Number) });
    expect(outcome.responseTime).toBeGreaterThan(100);
    expectSum(outcome);
  });

  test('a deadline before the connection is established is TIMEOUT', async () => {
    const silent = await startDnsServer({ answer: () => null });
    const conf = join(folder, 'silent.conf');
    writeFileSync(conf, `nameserver [127.0.0.1]:${silent.port}\n`);
    const slow = createNetwork({
      useOsDnsResolver: false,
      hostsFile: join(folder, 'hosts'),
      resolvConfFile: conf,
    });
    const outcome = await executeTcp(job({ hostname: 'slow.example', port: 80 }), {
      ...context(deadlineIn(200)),
      network: slow,
    });
    await silent.close();
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'TIMEOUT', owner: 'target' } });
    expect(outcome.timings?.dns).toBeGreaterThan(0);
    expect(outcome.details['response']).toEqual({ error: { code: 'TIMEOUT' } });
  });

  test.each(['cancelled', 'shutdown', 'lease-lost'] as const)('%s rejects with the reason', async (code) => {
    const port = await listen();
    const controller = new AbortController();
    const reason = new JobAborted(code);
    setTimeout(() => controller.abort(reason), 20);
    await expect(run({ port, data: 'x' }, controller.signal)).rejects.toBe(reason);
  });

  test('a signal that has already fired', async () => {
    const reason = new JobAborted('cancelled');
    await expect(run({ port: 1 }, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
