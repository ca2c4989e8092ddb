import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from '../../../src/executors/interface/executor.ts';
import type { Network } from '../../../src/executors/interface/network.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import { withoutScripts } from '../../../src/executors/without-scripts.ts';
import type { JobOf } from '../../../src/protocol/job.ts';
import { startDnsServer } from './dns-server.ts';
import { jobFields } from '../job-fields.ts';

/** Jobs, contexts and servers for the tests of the HTTP executors. */

type UrlRequest = JobOf<'URL'>['request'];
type ApiRequest = JobOf<'API'>['request'];

export function urlJob(
  request: Partial<UrlRequest> & { url: string },
  job: Partial<JobOf<'URL'>> = {},
): JobOf<'URL'> {
  return {
    ...jobFields,
    lane: 'uptime',
    ...job,
    checkType: 'URL',
    request: {
      method: 'GET',
      followRedirects: true,
      skipSSL: false,
      ipFamily: 'IPv4',
      assertions: [],
      ...request,
    },
  };
}

export function apiJob(
  request: Partial<ApiRequest> & { url: string },
  job: Partial<JobOf<'API'>> = {},
): JobOf<'API'> {
  return {
    ...jobFields,
    lane: 'uptime',
    clientCertificates: [],
    ...job,
    checkType: 'API',
    request: {
      method: 'GET',
      followRedirects: true,
      skipSSL: false,
      ipFamily: 'IPv4',
      body: '',
      bodyType: 'NONE',
      headers: [],
      queryParameters: [],
      basicAuth: null,
      assertions: [],
      ...request,
    },
  };
}

export const pair = (key: string, value: string) => ({ key, value, locked: false });
export const variable = (key: string, value: string) => ({ key, value, locked: false, secret: false });

export type TestNetwork = {
  network: Network;
  /** Names that were asked of the name server. */
  asked: string[];
  close: () => Promise<void>;
};

/** The host's network with the test's own hosts file and a name server that knows no names. */
export async function startTestNetwork(
  names: { readonly [name: string]: readonly string[] } = {},
): Promise<TestNetwork> {
  const asked: string[] = [];
  const server = await startDnsServer({
    answer: (query) => {
      asked.push(query.name);
      return query.reply([], { rcode: 3 });
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'http-test-'));
  const lines = Object.entries(names).flatMap(([name, addresses]) =>
    addresses.map((address) => `${address} ${name}`),
  );
  writeFileSync(join(folder, 'hosts'), `${lines.join('\n')}\n`);
  writeFileSync(join(folder, 'resolv.conf'), `nameserver [${server.address}]:${server.port}\n`);
  const network = createNetwork({
    useOsDnsResolver: false,
    hostsFile: join(folder, 'hosts'),
    resolvConfFile: join(folder, 'resolv.conf'),
  });
  return {
    network,
    asked,
    close: async () => {
      network.close();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** For targets on addresses, which need no name server. */
const systemNetwork = createNetwork({ useOsDnsResolver: false });

export type TestContext = ExecutionContext & { lines: string[] };

export function testContext(options: { signal?: AbortSignal; network?: Network } = {}): TestContext {
  const lines: string[] = [];
  return {
    ...withoutScripts,
    signal: options.signal ?? new AbortController().signal,
    log: (level, msg) => void lines.push(`${level} ${msg}`),
    network: options.network ?? systemNetwork,
    now: () => Date.parse('2026-03-31T12:34:56.789Z'),
    lines,
  };
}

/** A server of a test, closed with everything that is still connected to it. */
export type Running = { port: number; close: () => Promise<void> };

export async function listening(server: Server, host = '127.0.0.1'): Promise<Running> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port, // a TCP server has this kind
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** A TCP server that does `serve` with each connection, as soon as the first bytes of a request have come. */
export function rawServer(serve: (socket: Socket, head: string) => void): Promise<Running> {
  return listening(
    createServer((socket) => {
      socket.once('data', (chunk: Buffer) => serve(socket, chunk.toString('latin1')));
    }),
  );
}

/** The sum of a timings object's phases. */
export function sumOfPhases(timings: object): number {
  return Object.entries(timings)
    .filter(([name]) => name !== 'total')
    .reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Waits until `count()` is `expected`, for at most two seconds, and returns what it was last. */
export async function settledAt(expected: number, count: () => number): Promise<number> {
  for (let i = 0; i < 100 && count() !== expected; i++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  return count();
}
