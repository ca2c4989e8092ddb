import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { newHop, type HopState } from '../../../src/executors/evidence/trace-hops.ts';
import type { TraceAnswer } from '../../../src/executors/evidence/trace-answers.ts';
import { loopIn } from '../../../src/executors/traceroute/loop.ts';
import { flowPort } from '../../../src/executors/traceroute/flow-prober.ts';
import { openProber } from '../../../src/executors/traceroute/prober.ts';
import type { OnHop, Prober, Round } from '../../../src/executors/traceroute/round.ts';
import { traceRoute } from '../../../src/executors/traceroute/trace.ts';
import { loadNative } from '../../../src/native/native.ts';

/** How a trace is made, with answers that no real network gives in time: slow, hostile, none. */

const target = { address: '192.0.2.9', family: 4 as const };
const limits = { maxHops: 8, maxUnknownHops: 3, queries: 2 };
const never = new AbortController().signal;
const tooFar = (from: string, rttMs = 1): TraceAnswer => ({ icmp: { type: 11, code: 0 }, from, rttMs });

type Asked = { ttl: number; waitMs: number };
/** A network of answers by distance; 64 is the first question, which every target gets. */
function network(answerOf: (ttl: number, nth: number) => TraceAnswer | null) {
  const asked: Asked[] = [];
  return {
    asked,
    round: ({ from, to, waitMs }: Round, signal: AbortSignal, onHop: OnHop) => {
      signal.throwIfAborted();
      for (let ttl = from; ttl <= to; ttl++) {
        const nth = asked.filter((one) => one.ttl === ttl).length;
        asked.push({ ttl, waitMs });
        onHop(ttl, answerOf(ttl, nth));
      }
      return Promise.resolve();
    },
  };
}

test('it waits longer for silent hops of a slow target, and less for those of a fast one', async () => {
  const waits = async (rttMs: number | null) => {
    const net = network((ttl) => (ttl === 64 && rttMs !== null ? { icmp: null, from: '', rttMs } : null));
    await traceRoute(net, target, { limits, signal: never });
    return net.asked[1]?.waitMs;
  };
  expect(await waits(2)).toBe(250);
  expect(await waits(100)).toBe(400);
  expect(await waits(900)).toBe(900);
  expect(await waits(null)).toBe(500);
});

test('a target that is answered at a shorter distance later has that distance', async () => {
  const net = network((ttl, nth) => {
    if (ttl === 1) return tooFar('192.0.2.1');
    return ttl === 2 && nth === 0 ? null : { icmp: null, from: '', rttMs: 3 };
  });
  const found = await traceRoute(net, target, { limits, signal: never });
  expect(found).toMatchObject({ reached: true, targetTimes: [3, 3], truncation: 'destinationReached' });
  expect(found.hops.map(({ address, sent, lossPercent }) => [address, sent, lossPercent])).toEqual([
    ['192.0.2.1', 2, 0],
    ['192.0.2.9', 2, 50],
  ]);
});

test('answers that claim to come from anywhere stay within the limits', async () => {
  // A different router for each probe, and errors of unknown types.
  let count = 0;
  const net = network(() => ({
    icmp: { type: 11, code: count % 256 },
    from: `10.${(count >> 8) % 256}.${count++ % 256}.1`,
    rttMs: -5,
  }));
  const found = await traceRoute(net, target, {
    limits: { maxHops: 64, maxUnknownHops: 30, queries: 5 },
    signal: never,
  });
  expect(found.hops.length).toBe(64);
  for (const hop of found.hops) expect((hop.others ?? []).length).toBeLessThanOrEqual(4);
  const odd = network(() => ({ icmp: { type: 12, code: 1 }, from: '', rttMs: 1 }));
  expect(await traceRoute(odd, target, { limits, signal: never })).toMatchObject({
    reached: false,
    truncation: 'unreachable',
    hops: [{ hop: 1, address: null, error: 'ICMP type 12 code 1' }],
  });
});

test('a forged time-exceeded message of the target is no arrival', async () => {
  const found = await traceRoute(
    network(() => tooFar(target.address)),
    target,
    { limits, signal: never },
  );
  expect(found).toMatchObject({ reached: false, truncation: 'maxHops', targetTimes: [] });
});

describe('circles', () => {
  const hopsOf = (names: (string | null)[]): HopState[] =>
    names.map((name) => ({ ...newHop(), answeredBy: new Map(name === null ? [] : [[name, 1]]) }));
  test.each([
    [
      ['a', 'b', 'a', 'b', 'a'],
      ['a', 'b'],
    ],
    [
      ['x', 'a', 'b', 'c', 'a', 'b', 'c', 'a'],
      ['a', 'b', 'c'],
    ],
    [['a', null, 'a', null, 'a'], null],
    [
      ['a', 'b', null, 'a', 'b', null, 'a'],
      ['a', 'b'],
    ],
    [['a', 'a', 'a', 'a'], null],
    [['a', 'b', 'a', 'b'], null],
    [['a', 'b', 'a', 'c', 'd', 'a'], null],
    [['a', 'b', 'a', 'b', null], null],
    [[], null],
  ])('in %j: %j', (names, circle) => {
    expect(loopIn(hopsOf(names))).toEqual(circle);
  });
});

/** One probe of a prober. */
async function probe(
  prober: Prober,
  ttl: number,
  waitMs: number,
  signal = never,
): Promise<TraceAnswer | null> {
  let found: TraceAnswer | null = null;
  await prober.round(
    { from: ttl, to: ttl, waitMs, maxSilent: 0 },
    signal,
    (_ttl, answer) => (found = answer),
  );
  return found;
}

describe.skipIf(loadNative() === null)('probes of one flow', () => {
  const noPings = { icmp: () => Promise.reject(new Error('none')) };

  test('have one source port, the next one where that is taken, and different marks', async () => {
    const port = flowPort('a check');
    expect(flowPort('a check')).toBe(port);
    expect(port).toBeGreaterThanOrEqual(61_000);
    expect(port).toBeLessThan(65_000);
    const server = createSocket('udp4').bind(0, '127.0.0.1');
    await once(server, 'listening');
    const seen: { port: number; mark: number }[] = [];
    server.on('message', (message, from) => {
      seen.push({ port: from.port, mark: message.readUInt16BE(0) });
      server.send(message, from.port);
    });
    const open = () =>
      openProber(
        { address: '127.0.0.1', family: 4, protocol: 'UDP', port: server.address().port, flowKey: 'a check' },
        noPings,
      );
    const first = await open();
    for (let ttl = 1; ttl <= 5; ttl++) {
      expect(await probe(first, ttl, 1000)).toMatchObject({ icmp: null, from: '127.0.0.1' });
    }
    first.close();
    const blocker = createSocket('udp4').bind(port, '0.0.0.0');
    await once(blocker, 'listening');
    const second = await open();
    await probe(second, 1, 1000);
    second.close();
    blocker.close();
    server.close();
    expect(seen.map((one) => one.port)).toEqual([port, port, port, port, port, port + 1]);
    expect(new Set(seen.map(({ mark }) => mark)).size).toBeGreaterThanOrEqual(5);
  });

  test('a probe that nobody answers is null, and an aborted one rejects', async () => {
    const silent = createSocket('udp4').bind(0, '127.0.0.1');
    await once(silent, 'listening');
    const prober = await openProber(
      { address: '127.0.0.1', family: 4, protocol: 'UDP', port: silent.address().port, flowKey: '' },
      noPings,
    );
    expect(await probe(prober, 1, 20)).toBeNull();
    const controller = new AbortController();
    const pending = probe(prober, 2, 5000, controller.signal);
    controller.abort(new Error('enough'));
    await expect(pending).rejects.toThrow('enough');
    await expect(probe(prober, 3, 5000, controller.signal)).rejects.toThrow('enough');
    prober.close();
    silent.close();
  });

  test('that cannot be sent name the reason', async () => {
    const prober = await openProber(
      { address: 'no address', family: 4, protocol: 'TCP', port: 1, flowKey: '' },
      noPings,
    );
    await expect(probe(prober, 1, 100)).rejects.toMatchObject({ code: 'EINVAL' });
    prober.close();
  });
});
