import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { JobAborted } from '../errors.ts';
import type { ExecutionContext, Executor } from '../executors/interface/executor.ts';
import { withoutScripts } from '../executors/without-scripts.ts';
import type { JobType } from '../protocol/check-types.ts';
import { agentJobTypes } from './job-types/table.ts';
import type { WarmUp } from './job-types/warm-up-jobs.ts';

/** Rounds of each executor, enough to compile lazily compiled code. */
const rounds = 3;
const giveUpAfterMs = 2000;

type Peer = { port: number; close: () => void };

const peers: { readonly [P in WarmUp['peer']]: () => Promise<Peer> } = {
  http: () => streamPeer('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'),
  stream: () => streamPeer('warm'),
  dns: dnsPeer,
};

/**
 * Runs the executors of `types` against our own servers on loopback. Otherwise the first real check would pay for
 * loading, compiling (several milliseconds of an HTTP check's `firstByte`) and reading the TLS roots. They run one
 * after the other, for two seconds at most. Never rejects: if something is missing, the first check reports it
 * better.
 */
export async function warmUp(
  types: readonly JobType[],
  executorOf: (type: JobType) => Executor<JobType>,
  context: Pick<ExecutionContext, 'network' | 'now'>,
): Promise<void> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new JobAborted('deadline')), giveUpAfterMs);
  try {
    for (const type of types) {
      const { warmUp: own } = agentJobTypes[type];
      if (own === null) continue;
      const whole = { ...withoutScripts, ...context, signal: controller.signal, log: () => undefined };
      await warmUpOne(own, executorOf(type), whole).catch(() => undefined);
    }
    if (types.some((type) => agentJobTypes[type].warmUp?.peer === 'http')) {
      (await import('../executors/http/tls.ts')).defaultSecureContext();
    }
  } catch {
    // An executor that could not be loaded has already been reported.
  } finally {
    clearTimeout(timer);
  }
}

async function warmUpOne(
  { peer, job: jobFor }: WarmUp,
  execute: Executor<JobType>,
  context: ExecutionContext,
): Promise<void> {
  const { port, close } = await peers[peer]();
  try {
    const job = jobFor(port);
    for (let round = 0; round < rounds; round += 1) await execute(job, context);
  } finally {
    close();
  }
}

async function streamPeer(answer: string): Promise<Peer> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has this kind
  return { port, close: () => server.close() };
}

/** Answers each query with itself and the response bit set (RFC 1035, section 4.1.1): no records. */
async function dnsPeer(): Promise<Peer> {
  const socket = createSocket('udp4', (question, { port, address }) => {
    const answer = Buffer.from(question);
    answer[2] = (answer[2] ?? 0) | 0x80;
    socket.send(answer, port, address, () => undefined);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { port: socket.address().port, close: () => socket.close() };
}
