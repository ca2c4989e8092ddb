import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import type { TraceAnswer } from '../../../src/executors/evidence/trace-answers.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import { flowPort } from '../../../src/executors/traceroute/flow-prober.ts';
import { openProber } from '../../../src/executors/traceroute/prober.ts';
import { canUseNamespaces, hasRawSocketPackage } from '../icmp/ping-namespace.ts';

/** Packets as they are on the wire: forged answers to probes, and what routers see of echo requests. */

const never = new AbortController().signal;
const canForge = canUseNamespaces && hasRawSocketPackage;

test.skipIf(!canForge)(
  'forged and late ICMP messages are believed only if they quote the probe',
  async () => {
    const silent = createSocket('udp4').bind(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address();
    const flowKey = 'forged';
    const source = flowPort(flowKey);
    const raw = createRequire(import.meta.url)('raw-socket');
    const forger = raw.createSocket({ protocol: raw.Protocol.ICMP, addressFamily: raw.AddressFamily.IPv4 });
    /** A time-exceeded message that quotes a datagram. */
    const forge = ({ from = source, payload }: { from?: number; payload: Uint8Array }) => {
      const quoted = Buffer.alloc(28 + payload.length);
      quoted.writeUInt8(0x45, 0);
      quoted.writeUInt16BE(quoted.length, 2);
      quoted.writeUInt8(1, 8);
      quoted.writeUInt8(17, 9);
      Buffer.from([127, 0, 0, 1, 127, 0, 0, 1]).copy(quoted, 12);
      quoted.writeUInt16BE(from, 20);
      quoted.writeUInt16BE(port, 22);
      quoted.writeUInt16BE(8 + payload.length, 24);
      Buffer.from(payload).copy(quoted, 28);
      const packet = Buffer.concat([Buffer.from([11, 0, 0, 0, 0, 0, 0, 0]), quoted]);
      raw.writeChecksum(packet, 2, raw.createChecksum(packet));
      forger.send(packet, 0, packet.length, '127.0.0.1', () => undefined);
    };
    const prober = await openProber(
      { address: '127.0.0.1', family: 4, protocol: 'UDP', port, flowKey },
      { icmp: () => Promise.reject(new Error('none')) },
    );
    const answerTo = async (ttl: number, react: (payload: Buffer) => void) => {
      const arrived = once(silent, 'message') as Promise<[Buffer]>;
      let answer: TraceAnswer | null = null;
      const over = prober.round(
        { from: ttl, to: ttl, waitMs: 300, maxSilent: 0 },
        never,
        (_ttl, one) => (answer = one),
      );
      const [payload] = await arrived;
      react(payload);
      await over;
      return answer;
    };
    const otherMark = (payload: Buffer) =>
      Buffer.from([payload[0] ?? 0, (payload[1] ?? 0) ^ 1, ...payload.subarray(2)]);

    expect(await answerTo(1, (payload) => forge({ payload: otherMark(payload) }))).toBeNull();
    expect(await answerTo(2, (payload) => forge({ payload, from: source + 1 }))).toBeNull();
    expect(await answerTo(3, (payload) => forge({ payload }))).toMatchObject({
      icmp: { type: 11, code: 0 },
      from: '127.0.0.1',
    });
    // Many routers quote only the first eight bytes, which hold no mark.
    expect(await answerTo(4, () => forge({ payload: Buffer.alloc(0) }))).toMatchObject({
      icmp: { type: 11 },
    });
    // A wrong one does not hide the right one that follows.
    expect(
      await answerTo(5, (payload) => {
        for (let count = 0; count < 20; count++) forge({ payload: otherMark(payload) });
        setTimeout(() => forge({ payload }), 50);
      }),
    ).toMatchObject({ icmp: { type: 11 } });
    // Nor the answer of the target.
    expect(
      await answerTo(6, (payload) => {
        forge({ payload: otherMark(payload) });
        setTimeout(() => silent.send('answer', source, '127.0.0.1'), 50);
      }),
    ).toMatchObject({ icmp: null, from: '127.0.0.1' });
    prober.close();
    forger.close();
    silent.close();
  },
);

test.skipIf(!canForge)(
  'all echo requests of traces with one key have the same id and checksum, but other contents',
  async () => {
    const raw = createRequire(import.meta.url)('raw-socket');
    const listener = raw.createSocket({ protocol: raw.Protocol.ICMP, addressFamily: raw.AddressFamily.IPv4 });
    const flowKey = 'echoes';
    const requests: Buffer[] = [];
    listener.on('message', (packet: Buffer) => {
      const icmp = packet.subarray((packet.readUInt8(0) & 0x0f) * 4);
      if (icmp[0] === 8 && icmp.readUInt16BE(4) === flowPort(flowKey)) requests.push(Buffer.from(icmp));
    });
    // An address that no other test of this machine asks at the same time.
    const target = { address: '127.0.77.2', family: 4, protocol: 'ICMP', port: 1, flowKey } as const;
    for (let trace = 0; trace < 2; trace++) {
      const prober = await openProber(target, { icmp: () => Promise.reject(new Error('none')) });
      for (let round = 0; round < 4; round++) {
        const answers: (TraceAnswer | null)[] = [];
        const hops = { from: 1, to: 3, waitMs: 1000, maxSilent: 0 };
        await prober.round(hops, never, (_ttl, one) => answers.push(one));
        expect(answers).toMatchObject([{ icmp: null, from: '127.0.77.2' }]);
      }
      prober.close();
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    listener.close();
    const differing = (read: (request: Buffer) => unknown) => new Set(requests.map(read)).size;
    expect(requests).toHaveLength(8);
    expect(requests[0]).toHaveLength(64);
    expect(differing((request) => request.readUInt16BE(2))).toBe(1);
    expect(differing((request) => request.toString('hex', 6, 10))).toBe(8);
    expect(differing((request) => request.toString('hex', 10))).toBe(2);
  },
);

test.skipIf(!canForge)(
  'all echo requests of an agent to one target have the same checksum, so that they take one route',
  async () => {
    const network = createNetwork({ useOsDnsResolver: false });
    const raw = createRequire(import.meta.url)('raw-socket');
    const listener = raw.createSocket({ protocol: raw.Protocol.ICMP, addressFamily: raw.AddressFamily.IPv4 });
    const requests: Buffer[] = [];
    listener.on('message', (packet: Buffer) => {
      const icmp = packet.subarray((packet.readUInt8(0) & 0x0f) * 4);
      // Other programs of this machine ping other addresses.
      const isOurs = packet.subarray(16, 20).join('.') === '127.0.77.1';
      if (isOurs && icmp[0] === 8) requests.push(Buffer.from(icmp));
    });
    const socket = await network.icmp(4);
    for (let count = 0; count < 8; count++) {
      // An address that no other test of this machine asks at the same time.
      const reply = await socket.echo('127.0.77.1', { payloadBytes: 56, timeoutMs: 1000, signal: never });
      expect(reply?.error).toBeNull();
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    network.close();
    listener.close();
    expect(requests.length).toBeGreaterThanOrEqual(8);
    expect(new Set(requests.map((request) => request.readUInt16BE(4))).size).toBe(1);
    expect(new Set(requests.map((request) => request.readUInt16BE(2))).size).toBe(1);
    expect(new Set(requests.map((request) => request.readUInt16BE(6))).size).toBe(requests.length);
  },
);
