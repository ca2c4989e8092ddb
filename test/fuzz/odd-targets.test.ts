import { readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Result } from '../../src/protocol/result.ts';
import { daemonTests } from '../agent/daemon.ts';
import { peerKey, startProtocolPeer, tcpJob } from '../agent/link/protocol-peer.ts';
import { lightJob, type LightType } from '../helpers/light-job.ts';
import { listening, type Running } from '../helpers/network/http.ts';

/**
 * A whole agent among targets and services that close their half of a connection, never read, or never close: each run ends
 * with the target's fault or passes, and no socket of the agent stays.
 */

const daemon = daemonTests();
const { finals, startAgent, startPeer, status, target, until } = daemon;

/** What a target does with a connection; it never closes the whole of it. */
const behaviours: readonly { name: string; on: (socket: Socket) => void }[] = [
  { name: 'closes its half at once, and keeps reading', on: (socket) => void socket.resume().end() },
  { name: 'never reads', on: (socket) => void socket.pause() },
  {
    name: 'closes its half within its answer',
    on: (socket) =>
      void socket
        .resume()
        .end('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 100\r\n\r\nhalf'),
  },
  {
    name: 'answers, and keeps its half open',
    on: (socket) => {
      const body = 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok';
      socket.resume().once('data', () => socket.write(body));
    },
  },
];

const jobs: readonly { type: LightType; request: (port: number) => Record<string, unknown> }[] = [
  { type: 'URL', request: (port) => ({ url: `http://127.0.0.1:${port}/` }) },
  {
    type: 'API',
    request: (port) => ({
      url: `http://127.0.0.1:${port}/`,
      method: 'POST',
      body: 'x'.repeat(1_000_000),
      bodyType: 'RAW',
    }),
  },
  { type: 'TCP', request: (port) => ({ hostname: '127.0.0.1', port, data: 'hello\n' }) },
  {
    type: 'SSL',
    request: (port) => ({ sslConfig: { hostname: '127.0.0.1', port, skipChainValidation: true } }),
  },
  {
    type: 'GRPC',
    request: (port) => ({
      url: '127.0.0.1',
      port,
      timeout: 5,
      grpcConfig: { mode: 'HEALTH', tls: false, service: 'shop' },
    }),
  },
  {
    type: 'DNS',
    request: (port) => ({ query: 'shop.test', nameServer: '127.0.0.1', port, protocol: 'TCP' }),
  },
];

/** Sockets that a process of this machine holds and whose other side is one of these ports. */
function socketsTo(ports: readonly number[]): number {
  const ends = ports.map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`);
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , other = '']) => ends.some((end) => other.endsWith(end)))
    .filter((fields) => fields[9] !== '0').length; // the inode; 0 = nobody holds it any more
}

function forward(client: Socket, port: number): void {
  const upstream = connect({ host: '127.0.0.1', port });
  client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
  upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
  client.pipe(upstream).pipe(client);
}

describe.skipIf(process.platform !== 'linux')('an agent among odd peers', () => {
  test('ends every run and closes every socket', { timeout: 240_000 }, async () => {
    const peer = await startPeer();
    await startAgent();
    const servers: Running[] = [];
    const names = new Map<string, string>();
    try {
      for (const { name, on } of behaviours) {
        const server = await listening(createServer({ allowHalfOpen: true, pauseOnConnect: true }, on));
        servers.push(server);
        for (const { type, request } of jobs) {
          const deadline = new Date(Date.now() + 60_000).toISOString();
          names.set(peer.add(lightJob(type, request(server.port), { deadline })).jobId, `${type}: ${name}`);
        }
      }
      await until(() => finals().length === names.size, 'all results', 150_000);
      const shown = ({ jobId, status: verdict, reason }: Result) =>
        `${names.get(jobId)}: ${verdict} ${reason?.code} ${reason?.message}`;
      const isTheirs = ({ status: verdict, reason }: Result) =>
        verdict === 'passed' || reason?.owner === 'target' || reason?.code === 'AGENT_OVERLOADED';
      expect(
        finals()
          .filter((result) => !isTheirs(result))
          .map(shown),
      ).toEqual([]);
      // A busy machine may report its own delay in place of a failure.
      const passed = finals().filter(({ status: verdict }) => verdict === 'passed');
      expect(passed.map(shown).filter((line) => !/^TCP: |: answers, /.test(line))).toEqual([]);
      expect(finals().length - passed.length).toBeGreaterThan(10);
      const ports = servers.map(({ port }) => port);
      await until(() => socketsTo(ports) === 0, 'the sockets of the agent to be closed', 15_000);
    } finally {
      for (const server of servers) await server.close();
    }
  });

  test('survives a service that closes its half, or never reads', { timeout: 400_000 }, async () => {
    // Strict: whatever is odd is between it and the agent.
    const service = await startProtocolPeer();
    await startPeer();
    let on: ((socket: Socket) => void) | null = null;
    const way = await listening(
      createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
        if (on === null) forward(socket, service.port);
        else on(socket);
      }),
    );
    const agent = await startAgent({ SERVICE_URL: `http://127.0.0.1:${way.port}`, API_KEY: peerKey });
    const finalsOf = () => service.results.filter(({ resultType }) => resultType === 'FINAL');
    try {
      for (const behaviour of [null, ...behaviours]) {
        on = behaviour?.on ?? null;
        const port = await target();
        const job = service.add(tcpJob(port));
        if (on !== null) await new Promise((resolve) => setTimeout(resolve, 5_000));
        expect(await status('/-/liveness')).toBe(200);
        on = null;
        await until(() => finalsOf().some(({ jobId }) => jobId === job.jobId), 'its result', 100_000);
      }
      // Those of the pool, and of calls that are on their way.
      await until(() => socketsTo([way.port]) <= 10, 'the sockets of the agent to be closed', 60_000);
    } finally {
      await agent.stop();
      await way.close();
      await service.close();
    }
  });
});
