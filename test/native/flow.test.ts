import { execFileSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  flowWays,
  loadNative,
  probeAnswers,
  roundFields,
  roundHead,
  roundNumbers,
  type NativeFlow,
} from '../../src/native/native.ts';

/** Flows of the addon on loopback, where the target answers each probe or stays silent. */

const native = loadNative();
/** Below the ports of real traces. */
let nextPort = 60_000;

describe.skipIf(native === null)('flows', () => {
  if (native === null) return;

  type Round = { hops: number; errno: number; kinds: number[] };
  type Ways = { way?: keyof typeof flowWays; source?: number };
  const opened = (port: number, { way = 'udp', source = nextPort++ }: Ways = {}) => {
    const numbers = new Float64Array(roundNumbers);
    const read = (): Round => {
      const hops = numbers[0] ?? 0;
      const kinds = Array.from(
        { length: hops },
        (_, index) => numbers[roundHead + index * roundFields] ?? -1,
      );
      return { hops, errno: numbers[1] ?? -1, kinds };
    };
    const rounds: Round[] = [];
    let told: () => void = () => undefined;
    const onRound = (): void => {
      rounds.push(read());
      told();
    };
    const question = new Uint8Array(16);
    const flow = native.openFlow(4, flowWays[way], '127.0.0.1', port, source, question, numbers, onRound);
    if (typeof flow === 'number') throw new Error(`errno ${flow}`);
    /** One round, whether it is over within the call or later. */
    const round = async (from: number, to: number, waitMs: number): Promise<Round> => {
      const isTold = new Promise<void>((done) => (told = done));
      const started = native.sendRound(flow, from, to, waitMs, 0);
      if (typeof started === 'string') return read();
      if (started !== 0) throw new Error(`errno ${started}`);
      await isTold;
      return read();
    };
    return { flow, source, rounds, read, round };
  };
  const server = async (onMessage: (socket: Socket, port: number) => void) => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    socket.on('message', (_message, { port }) => onMessage(socket, port));
    return { socket, port: socket.address().port };
  };
  const answer = (socket: Socket, port: number) => socket.send('answer', port, '127.0.0.1');
  const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

  it('many at once are told apart', async () => {
    const answering = await server(answer);
    const silent = await server(() => undefined);
    const rounds = Array.from({ length: 40 }, (_, index) => {
      const one = opened(index % 2 === 0 ? answering.port : silent.port);
      return one.round(3, 5, 60).then((round) => {
        native.closeFlow(one.flow);
        return round.kinds;
      });
    });
    for (const [index, kinds] of (await Promise.all(rounds)).entries()) {
      expect(kinds).toEqual(
        index % 2 === 0
          ? [probeAnswers.target]
          : [probeAnswers.silence, probeAnswers.silence, probeAnswers.silence],
      );
    }
    answering.socket.close();
    silent.socket.close();
  });

  it('closed in the middle of a round, nothing is reported and the port is free', async () => {
    const silent = await server(() => undefined);
    const one = opened(silent.port);
    expect(native.sendRound(one.flow, 1, 5, 50, 0)).toBe(0);
    expect(native.sendRound(one.flow, 1, 5, 50, 0)).toBe(-16); // a round runs
    native.closeFlow(one.flow);
    native.closeFlow(one.flow);
    expect(native.sendRound(one.flow, 1, 5, 50, 0)).toBe(-9);
    expect(native.endRound(one.flow)).toBeUndefined();
    const again = opened(silent.port, { source: one.source });
    expect(await again.round(1, 1, 20)).toMatchObject({ errno: 0, kinds: [probeAnswers.silence] });
    await pause(100);
    expect(one.rounds).toEqual([]);
    native.closeFlow(again.flow);
    silent.socket.close();
  });

  it('a round that is closed by the report of another one is not reported', async () => {
    const silent = await server(() => undefined);
    const numbers = new Float64Array(roundNumbers);
    const flows: NativeFlow[] = [];
    let reports = 0;
    for (let count = 0; count < 8; count++) {
      const flow = native.openFlow(
        4,
        flowWays.udp,
        '127.0.0.1',
        silent.port,
        nextPort++,
        new Uint8Array(16),
        numbers,
        () => {
          reports += 1;
          for (const each of flows) native.closeFlow(each);
        },
      );
      if (typeof flow === 'number') throw new Error(`errno ${flow}`);
      flows.push(flow);
      expect(native.sendRound(flow, 1, 1, 30, 0)).toBe(0);
    }
    await pause(150);
    expect(reports).toBe(1);
    silent.socket.close();
  });

  it('ended early, a round has the probes that are over', async () => {
    const silent = await server(() => undefined);
    const one = opened(silent.port);
    expect(native.sendRound(one.flow, 1, 64, 40, 0)).toBe(0);
    await pause(100);
    expect(native.endRound(one.flow)).toBe('');
    const { hops, errno, kinds } = one.read();
    expect(errno).toBe(125); // ECANCELED
    expect(hops).toBeGreaterThanOrEqual(1);
    expect(hops).toBeLessThan(10);
    expect(new Set(kinds)).toEqual(new Set([probeAnswers.silence]));
    expect(native.endRound(one.flow)).toBeUndefined();
    await pause(80);
    expect(one.rounds).toEqual([]);
    native.closeFlow(one.flow);
    silent.socket.close();
  });

  it('an answer that arrives between two rounds belongs to neither', async () => {
    let isFirst = true;
    const late = await server((socket, port) => {
      if (!isFirst) return;
      isFirst = false;
      answer(socket, port);
      setTimeout(answer, 30, socket, port);
    });
    const one = opened(late.port);
    expect(await one.round(1, 1, 500)).toMatchObject({ kinds: [probeAnswers.target] });
    await pause(100);
    expect(await one.round(1, 1, 100)).toMatchObject({ kinds: [probeAnswers.silence] });
    native.closeFlow(one.flow);
    late.socket.close();
  });

  it('by TCP keep one port for handshakes and refusals, and leave no connection', async () => {
    let open = 0;
    const listening = createServer((socket) => {
      socket.on('error', () => undefined).resume();
      socket.on('close', () => open--);
      open++;
    });
    listening.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const { port } = listening.address() as AddressInfo; // of a TCP server
    const one = opened(port, { way: 'tcp' });
    for (let count = 0; count < 5; count++) {
      expect(await one.round(1, 3, 500)).toEqual({ hops: 1, errno: 0, kinds: [probeAnswers.target] });
    }
    await pause(50);
    const other = opened(port, { way: 'tcp', source: one.source });
    expect(await other.round(1, 1, 500)).toEqual({ hops: 0, errno: 98, kinds: [] }); // EADDRINUSE
    native.closeFlow(other.flow);
    expect(open).toBe(0);
    listening.close();
    await once(listening, 'close');
    expect(await one.round(1, 3, 500)).toEqual({ hops: 1, errno: 0, kinds: [probeAnswers.target] });
    native.closeFlow(one.flow);
  });

  const canOpen = (way: 'ping' | 'raw') => {
    const numbers = new Float64Array(roundNumbers);
    const flow = native.openFlow(
      4,
      flowWays[way],
      '127.0.0.1',
      1,
      nextPort++,
      new Uint8Array(8),
      numbers,
      () => undefined,
    );
    if (typeof flow === 'number') return false;
    native.closeFlow(flow);
    return true;
  };
  for (const way of ['ping', 'raw'] as const) {
    it.skipIf(!canOpen(way))(
      `by echo requests of a ${way} socket are answered, each by its own reply`,
      async () => {
        const one = opened(1, { way });
        for (let count = 0; count < 300; count++) {
          expect(await one.round(1, 3, 500)).toEqual({ hops: 1, errno: 0, kinds: [probeAnswers.target] });
        }
        const many = Array.from({ length: 20 }, () => opened(1, { way }));
        const rounds = await Promise.all(many.map((each) => each.round(1, 3, 500)));
        expect(rounds.map(({ kinds }) => kinds)).toEqual(many.map(() => [probeAnswers.target]));
        for (const each of [one, ...many]) native.closeFlow(each.flow);
      },
    );
  }

  it.skipIf(!canOpen('ping'))('an id that another ping socket has is taken', async () => {
    const one = opened(1, { way: 'ping' });
    const other = opened(1, { way: 'ping', source: one.source });
    expect(await other.round(1, 1, 500)).toEqual({ hops: 0, errno: 98, kinds: [] }); // EADDRINUSE
    native.closeFlow(one.flow);
    expect(await other.round(1, 1, 500)).toMatchObject({ errno: 0, kinds: [probeAnswers.target] });
    native.closeFlow(other.flow);
  });

  it('refuses arguments that would be mistakes of ours', () => {
    const wrong = native as unknown as Record<string, (...args: unknown[]) => unknown>; // to call it wrongly
    const numbers = new Float64Array(roundNumbers);
    const bytes = new Uint8Array(2);
    const nothing = () => undefined;
    for (const args of [
      [],
      [4, true, '127.0.0.1', 1, 1, bytes, numbers, nothing],
      [4, 4, '127.0.0.1', 1, 1, bytes, numbers, nothing],
      [5, 1, '127.0.0.1', 1, 1, bytes, numbers, nothing],
      [4, 1, '127.0.0.1', 1, 0, bytes, numbers, nothing],
      [4, 1, '127.0.0.1', 1, 1, new Uint8Array(1), numbers, nothing],
      [4, 1, '127.0.0.1', 1, 1, bytes, new Float64Array(roundNumbers - 1), nothing],
    ]) {
      expect(() => wrong['openFlow']?.(...args)).toThrow(TypeError);
    }
    const one = opened(9);
    for (const args of [[], [{}, 1, 2, 3, 4], [one.flow, 0, 2, 3, 4], [one.flow, 1, 65, 3, 4]]) {
      expect(() => wrong['sendRound']?.(...args)).toThrow(TypeError);
    }
    native.closeFlow(one.flow);
  });

  it('let a worker thread and its process exit in the middle of a round, and are collected', () => {
    const addon = join(resolve(import.meta.dirname, '..', '..'), 'build', 'native', 'location_agent.node');
    const worker = `
      const native = require(${JSON.stringify(addon)});
      const numbers = new Float64Array(${roundNumbers});
      const kept = [];
      const silent = require('dgram').createSocket('udp4').bind(0, '127.0.0.1', () => {
        for (let i = 0; i < 30; i++) {
          const flow = native.openFlow(4, i % 5 === 0 ? 1 : i % 5 === 1 ? 3 : 0, '127.0.0.1', silent.address().port, 59000 + i, new Uint8Array(8), numbers, () => {});
          if (typeof flow === 'number') continue;
          native.sendRound(flow, 1, 64, 5, 0);
          if (i % 3 === 0) kept.push(flow);
        }
        gc();
        setTimeout(() => process.exit(), 50);
      });`;
    const script = `
      const { Worker } = require('worker_threads');
      new Worker(${JSON.stringify(worker)}, { eval: true }).on('exit', (code) => console.log('worker', code));`;
    expect(
      execFileSync(process.execPath, ['--expose-gc', '-e', script], { encoding: 'utf8', timeout: 10_000 }),
    ).toBe('worker 0\n');
  });
});
