import { withoutScripts } from '../executors/without-scripts.ts';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { JobAborted } from '../errors.ts';
import type { ExecutionContext, Executor } from '../executors/interface/executor.ts';
import type { JobType, Lane } from '../protocol/check-types.ts';
import type { Job, JobOf } from '../protocol/job.ts';

/** Rounds of each executor: what is compiled lazily has been by then. */
const rounds = 3;
const giveUpAfterMs = 2000;

type Peer = { port: number; close: () => void };
type Warmer = { listen: () => Promise<Peer>; job: (port: number) => Job };

/** A peer on loopback for each type that measures in this process; ICMP's times come from the kernel. */
const warmers: { readonly [T in JobType]?: Warmer } = {
  URL: { listen: httpPeer, job: (port) => ({ ...common, checkType: 'URL', request: pageAt(port) }) },
  API: {
    listen: httpPeer,
    job: (port) => ({
      ...common,
      checkType: 'API',
      clientCertificates: [],
      request: {
        ...pageAt(port),
        body: '',
        bodyType: 'NONE',
        headers: [],
        queryParameters: [],
        basicAuth: null,
      },
    }),
  },
  TCP: {
    listen: () => streamPeer('warm'),
    job: (port) => ({
      ...common,
      checkType: 'TCP',
      request: { hostname: 'localhost', port, data: 'warm', ipFamily: 'IPv4', assertions: [] },
    }),
  },
  DNS: {
    listen: dnsPeer,
    job: (port) => ({
      ...common,
      checkType: 'DNS',
      request: {
        query: 'warm.invalid',
        recordType: 'A',
        nameServer: '127.0.0.1',
        port,
        protocol: 'UDP',
        skipSSL: false,
        assertions: [],
      },
    }),
  },
};

/**
 * Runs the executors of `types` against peers of our own on loopback, so that the first real check does not pay for
 * loading, compiling (several milliseconds of an HTTP check's `firstByte`) and reading the TLS roots. One after the other,
 * and over within two seconds. Never rejects: where something is missing, the first check pays, and tells better.
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
      const warmer = warmers[type];
      if (warmer === undefined) continue;
      const whole = { ...withoutScripts, ...context, signal: controller.signal, log: () => undefined };
      await warmUpOne(warmer, executorOf(type), whole).catch(() => undefined);
    }
    if (types.includes('URL') || types.includes('API')) {
      (await import('../executors/http/tls.ts')).defaultSecureContext();
    }
  } catch {
    // An executor that could not be loaded has been told already.
  } finally {
    clearTimeout(timer);
  }
}

async function warmUpOne(
  warmer: Warmer,
  execute: Executor<JobType>,
  context: ExecutionContext,
): Promise<void> {
  const { port, close } = await warmer.listen();
  try {
    const job = warmer.job(port);
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

function httpPeer(): Promise<Peer> {
  return streamPeer('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok');
}

/** Answers each question by itself with the bit that makes it an answer (RFC 1035, section 4.1.1): no such records. */
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

function pageAt(port: number): JobOf<'URL'>['request'] {
  return {
    method: 'GET',
    url: `http://localhost:${port}/`,
    followRedirects: true,
    skipSSL: false,
    ipFamily: 'IPv4',
    assertions: [],
  };
}

const nobody = '00000000-0000-0000-0000-000000000000';
const lane: Lane = 'uptime';
const common = {
  jobId: nobody,
  runId: nobody,
  sequenceId: nobody,
  checkId: nobody,
  checkName: 'warm-up',
  lane,
  runLocation: 'here',
  runSource: 'SCHEDULER',
  dueAt: '1970-01-01T00:00:00.000Z',
  attempt: 1,
  firstAttemptAt: null,
  leaseToken: nobody,
  leaseExpiresAt: '1970-01-01T00:00:00.000Z',
  deadline: '1970-01-01T00:00:00.000Z',
  shouldFail: false,
  degradedResponseTime: null,
  maxResponseTime: null,
  retryStrategy: null,
  environmentVariables: [],
  proxyUrl: null,
};
