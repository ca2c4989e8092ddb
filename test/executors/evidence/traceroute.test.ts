import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTraces } from '../../../src/agent/run/traces.ts';
import { addressBytes, addressText, plainAddress } from '../../../src/executors/evidence/addresses.ts';
import { withNames } from '../../../src/executors/evidence/hop-names.ts';
import { errorWords, hopRow } from '../../../src/executors/evidence/trace-hops.ts';
import { traceroute, type TraceTarget } from '../../../src/executors/evidence/traceroute.ts';
import { loadNative } from '../../../src/native/native.ts';
import { startDnsServer } from '../../helpers/network/dns-server.ts';
import { hasIpv6Loopback } from '../../helpers/machine.ts';

const native = loadNative();
if (native === null) process.stderr.write('skipped here: traces, whose addon is not built\n');

const times = { roundMs: 400, spacingMs: 5, lastProbeMs: 400 };
const signal = new AbortController().signal;
const now = Date.now;

const targets: TraceTarget[] = [
  { address: '127.0.0.1', family: 4, port: 1, way: 'tcp' },
  { address: '127.0.0.1', family: 4, port: 1, way: 'udp' },
  { address: '::1', family: 6, port: 1, way: 'tcp' },
  { address: '0:0:0:0:0:0:0:1', family: 6, port: 1, way: 'udp' },
];

describe.skipIf(native === null)('over loopback', () => {
  test.each(targets.filter(({ family }) => family === 4 || hasIpv6Loopback))(
    '$address by $way',
    async (target) => {
      const found = await traceroute(target, { signal, now, times });
      expect(found).toMatchObject({ ...target, reached: true, hops: [{ hop: 1, lossPercent: 0, sent: 3 }] });
      if ('unavailable' in found) return;
      expect(plainAddress(found.hops[0]?.address ?? '')).toBe(plainAddress(target.address));
      expect(found.hops[0]).not.toHaveProperty('error');
    },
  );

  test('a port that accepts is reached, and its connections are closed at once', async () => {
    let accepted = 0;
    const closed: Promise<unknown>[] = [];
    const server = createServer((socket) => {
      accepted += 1;
      closed.push(new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve)));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // a TCP server's
    const found = await traceroute(
      { address: '127.0.0.1', family: 4, port, way: 'tcp' },
      { signal, now, times },
    );
    expect(found).toMatchObject({ reached: true, hops: [{ address: '127.0.0.1' }] });
    await Promise.all(closed);
    server.close();
    // One of each round, and those of the first that were on their way before it was answered.
    expect(accepted).toBeLessThanOrEqual(33);
  });

  test('a name server that answers is reached by its answer', async () => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    socket.on('message', (message, from) => socket.send(message, from.port));
    const { port } = socket.address();
    const found = await traceroute(
      { address: '127.0.0.1', family: 4, port, way: 'udp' },
      { signal, now, times },
    );
    socket.close();
    expect(found).toMatchObject({ reached: true, hops: [{ address: '127.0.0.1', lossPercent: 0 }] });
  });

  test('a traceroute that cannot start reports why; an aborted one reports its hops so far', async () => {
    const wrong: TraceTarget = { address: 'no address', family: 4, port: 80, way: 'tcp' };
    expect(await traceroute(wrong, { signal, now, times })).toEqual({
      unavailable: 'a trace cannot be opened: EINVAL',
    });
    const stopped = await traceroute(targets[0] ?? wrong, { signal: AbortSignal.abort(), now, times });
    expect(stopped).toMatchObject({ reached: false });
  });

  test('200 failing checks of one target make one trace, of each minute', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // a TCP server's
    let time = 1_000_000;
    const network = { nameServers: () => Promise.resolve([]) };
    const traces = createTraces({ network, now: () => time, times });
    const target: TraceTarget = { address: '127.0.0.1', family: 4, port, way: 'tcp' };
    expect(traces.has(target)).toBe(false);
    const found = await Promise.all(
      Array.from({ length: 200 }, () => traces.to(target, new AbortController().signal)),
    );
    expect(new Set(found).size).toBe(1);
    expect(connections).toBeLessThanOrEqual(33);
    expect(traces.has(target)).toBe(true);
    time += 59_000;
    expect(await traces.to(target, signal)).toBe(found[0]);
    time += 2000;
    expect(traces.has(target)).toBe(false);
    expect(await traces.to(target, signal)).not.toBe(found[0]);
    // A run without time left does not wait.
    const late = await traces.to({ ...target, port: 1 }, AbortSignal.abort());
    expect(late).toEqual({ unavailable: 'there was no time left' });
    traces.close();
    server.close();
  });

  test('in a complete outage few failures are traced, and the others report it', async () => {
    const traces = createTraces({ network: { nameServers: () => Promise.resolve([]) }, now, times });
    const found = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        traces.to(
          { address: '127.0.0.1', family: 4, port: 1 + index, way: 'udp' },
          new AbortController().signal,
        ),
      ),
    );
    const made = found.filter((trace) => 'hops' in trace).length;
    expect(made).toBe(12);
    expect(found.at(-1)).toEqual({ unavailable: 'too many other traces were in progress' });
    traces.close();
  });
});

describe('native traces', () => {
  test.skipIf(native === null)('refuse invalid arguments, and can be closed with probes in flight', () => {
    if (native === null) return;
    const nothing = () => undefined;
    const question = new Uint8Array(1);
    const wrong = native as unknown as { [name: string]: (...args: unknown[]) => unknown };
    for (const args of [
      [],
      [5, true, '127.0.0.1', 1, question, nothing],
      [4, true, '127.0.0.1', 0, question, nothing],
      [4, true, '127.0.0.1', 1, new Uint8Array(65), nothing],
      [4, true, '127.0.0.1', 1, question, 'no function'],
    ]) {
      expect(() => wrong['openTrace']?.(...args)).toThrow(TypeError);
    }
    for (const name of ['sendProbe', 'closeTrace', 'filterCapture', 'takeCapture', 'openCapture']) {
      expect(() => wrong[name]?.({}, 1, 1)).toThrow(TypeError);
    }
    expect(native.openTrace(4, true, '::1', 1, question, nothing)).toBe(-22);
    const trace = native.openTrace(4, false, '127.0.0.1', 1, question, nothing);
    if (typeof trace === 'number') throw new Error(String(trace));
    expect(() => native.sendProbe(trace, 1024, 1)).toThrow(TypeError);
    expect(() => native.sendProbe(trace, 0, 0)).toThrow(TypeError);
    expect(native.sendProbe(trace, 0, 1)).toBe(0);
    expect(native.sendProbe(trace, 0, 1)).toBe(-16);
    native.closeTrace(trace);
    native.closeTrace(trace);
    expect(native.sendProbe(trace, 1, 1)).toBe(-9);
  });
});

test.skipIf(native === null)(
  'threads and processes exit with probes in flight and running captures',
  () => {
    const addon = join(import.meta.dirname, '..', '..', '..', 'build', 'native', 'location_agent.node');
    const script = `
    const { Worker, isMainThread } = require('node:worker_threads');
    const native = require(${JSON.stringify(addon)});
    const begin = () => {
      const traces = [4, 80].map((ttl) => {
        const trace = native.openTrace(4, ttl === 80, '192.0.2.1', 33434, new Uint8Array(4), () => {});
        for (let index = 0; index < 20; index++) native.sendProbe(trace, index, index + 1);
        return trace;
      });
      const filter = new Uint8Array(new Uint16Array([6, 0, 160, 0]).buffer);
      void native.openCapture(filter, '');
      void native.openCapture(filter, '').then((one) => typeof one === 'number' || native.takeCapture(one));
      globalThis.kept = traces;
    };
    if (!isMainThread) begin();
    else (async () => {
      for (const wait of [0, 20, 60]) {
        const worker = new Worker(__filename === '[eval]' ? process.argv[1] : __filename, { eval: true });
        await new Promise((resolve) => setTimeout(resolve, wait));
        await worker.terminate();
      }
      begin();
      console.log('ends');
    })();`;
    // A worker gets the same text.
    const args = ['-e', script, script];
    expect(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 })).toBe('ends\n');
  },
  40_000,
);

test('hops get the names that the system’s name servers know', async () => {
  const server = await startDnsServer({
    answer: (query) =>
      query.name === '2.0.1.10.in-addr.arpa'
        ? query.reply([{ type: 'PTR', name: query.name, data: 'router.example', ttl: 60 }])
        : query.reply([], { rcode: 3 }),
  });
  const rows = ['10.1.0.2', '10.3.0.2', null].map((address, index) => ({
    ...hopRow(index + 1, { sent: 1, times: [], answeredBy: new Map(), error: null }),
    address,
  }));
  const network = { nameServers: () => Promise.resolve([{ address: server.address, port: server.port }]) };
  const named = await withNames(rows, network);
  await server.close();
  expect(named.map(({ name }) => name)).toEqual(['router.example', undefined, undefined]);
  expect(await withNames(rows, { nameServers: () => Promise.reject(new Error('none')) })).toEqual(rows);
});

test('the figures of a hop', () => {
  const answeredBy = new Map([
    ['10.0.0.9', 1],
    ['10.0.0.1', 2],
  ]);
  expect(hopRow(3, { sent: 4, times: [2, 4, 9], answeredBy, error: 'host unreachable' })).toEqual({
    hop: 3,
    address: '10.0.0.1',
    others: ['10.0.0.9'],
    sent: 4,
    lossPercent: 25,
    lastMs: 9,
    avgMs: 5,
    bestMs: 2,
    worstMs: 9,
    stddevMs: 2.944,
    error: 'host unreachable',
  });
  expect(errorWords(4, 11, 0)).toBeNull();
  expect(errorWords(6, 3, 0)).toBeNull();
  expect(errorWords(6, 1, 4)).toBe('port unreachable');
  expect(errorWords(4, 3, 99)).toBe('ICMP type 3 code 99');
});

test.each([
  '10.0.0.255',
  '::',
  '::1',
  '2001:db8::1:0:0:5',
  'fe80::1%eth0',
  '::ffff:192.0.2.1',
  '1:2:3:4:5:6:7:8',
])('the bytes of %s and back', (address) => {
  const bytes = addressBytes(address);
  expect(addressText(bytes ?? Buffer.alloc(0))).toBe(address.split('%')[0]);
});
