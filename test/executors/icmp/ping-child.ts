/** Runs in a network namespace of its own (ping-namespace.ts): one JSON list of orders in, one of answers out. */
import { execSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { AgentError, toError } from '../../../src/errors.ts';
import { createIcmpExecutor } from '../../../src/executors/icmp.ts';
import type { IpFamily } from '../../../src/executors/interface/network.ts';
import { openPingSocket } from '../../../src/executors/icmp/ping-socket-open.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import { withoutScripts } from '../../../src/executors/without-scripts.ts';
import type { JobOf } from '../../../src/protocol/job.ts';

/** How a rogue host answers the echo request of each sequence in a series. */
export type RogueAnswer =
  'right' | 'wrong id' | 'wrong sequence' | 'wrong payload' | 'short' | 'twice' | 'late' | 'request' | 'none';

export type Order =
  | { kind: 'open'; family: IpFamily }
  | { kind: 'echo'; family: IpFamily; address: string; timeoutMs: number; ttl?: number; count?: number }
  | { kind: 'job'; job: JobOf<'ICMP'>; intervalMs: number; timeoutMs: number }
  | { kind: 'shell'; afterMs: number; command: string }
  | { kind: 'rogue'; family: IpFamily; address: string; answers: RogueAnswer[]; timeoutMs: number };

const signal = new AbortController().signal;
const network = createNetwork({ useOsDnsResolver: false });

async function carryOut(order: Order): Promise<unknown> {
  if (order.kind === 'open') {
    const socket = await openPingSocket(order.family);
    socket.close();
    return { way: socket.way };
  }
  if (order.kind === 'echo') {
    const { family, address, timeoutMs, ttl, count = 1 } = order;
    const socket = await network.icmp(family);
    const options = { payloadBytes: 56, timeoutMs, signal, ...(ttl === undefined ? {} : { ttl }) };
    const echoes = Array.from({ length: count }, () => socket.echo(address, options));
    return { way: socket.way, replies: await Promise.all(echoes) };
  }
  if (order.kind === 'job') {
    const execute = createIcmpExecutor({ intervalMs: order.intervalMs, timeoutMs: order.timeoutMs });
    return execute(order.job, { ...withoutScripts, signal, network, log: () => undefined, now: () => 0 });
  }
  if (order.kind === 'shell') {
    await new Promise((resolve) => setTimeout(resolve, order.afterMs));
    return execSync(order.command, { encoding: 'utf8' });
  }
  return answerAsRogue(order);
}

/** The kernel's own answers are switched off; a raw socket answers instead. */
async function answerAsRogue(order: Extract<Order, { kind: 'rogue' }>): Promise<unknown> {
  const { family, address, answers, timeoutMs } = order;
  const socket = await network.icmp(family);
  const raw = createRequire(import.meta.url)('raw-socket');
  const [requestType, replyType] = family === 4 ? [8, 0] : [128, 129];
  const responder = raw.createSocket({
    protocol: family === 4 ? raw.Protocol.ICMP : raw.Protocol.ICMPv6,
    addressFamily: family === 4 ? raw.AddressFamily.IPv4 : raw.AddressFamily.IPv6,
  });
  const say = (packet: Buffer): void => {
    packet.writeUInt16BE(0, 2);
    raw.writeChecksum(packet, 2, raw.createChecksum(packet));
    responder.send(packet, 0, packet.length, address, () => undefined);
  };
  const seen: number[] = [];
  responder.on('message', (message: Buffer) => {
    const start = family === 4 ? (message[0]! & 0x0f) * 4 : 0;
    if (message[start] !== requestType) return;
    const reply = Buffer.from(message.subarray(start));
    const sequence = reply.readUInt16BE(6);
    if (seen.includes(sequence)) return; // its own, of type 'request'
    const answer = answers[seen.push(sequence) - 1];
    reply[0] = replyType!;
    if (answer === 'wrong id') reply.writeUInt16BE(reply.readUInt16BE(4) ^ 1, 4);
    if (answer === 'wrong sequence') reply.writeUInt16BE(reply.readUInt16BE(6) ^ 0x8000, 6);
    if (answer === 'wrong payload') reply[8]! ^= 1;
    if (answer === 'request') reply[0] = requestType!;
    if (answer === 'none') return;
    if (answer === 'late') setTimeout(() => say(reply), timeoutMs + 50);
    else say(answer === 'short' ? Buffer.from(reply.subarray(0, reply.length - 1)) : reply);
    if (answer === 'twice') say(Buffer.from(reply));
  });
  // Sent in order, so the responder sees them in order.
  const options = { payloadBytes: 56, timeoutMs, signal };
  const replies = await Promise.all(answers.map(() => socket.echo(address, options)));
  await new Promise((resolve) => setTimeout(resolve, 100)); // for what comes late
  responder.close();
  return { way: socket.way, answered: replies.map((reply) => reply !== null) };
}

const orders = JSON.parse(process.argv[2] ?? '[]') as Order[]; // what ping-namespace.ts wrote
const answers = await Promise.all(
  orders.map(async (order) => {
    try {
      return await carryOut(order);
    } catch (error) {
      return { error: toError(error).message, code: error instanceof AgentError ? error.code : null };
    }
  }),
);
network.close();
process.stdout.write(JSON.stringify(answers));
