import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Result } from '../../src/protocol/result.ts';
import { startTargets, type Targets } from '../../src/targets/targets.ts';
import { daemonTests } from '../agent/daemon.ts';
import { peerKey, startProtocolPeer, tcpJob, type ProtocolPeer } from '../agent/link/protocol-peer.ts';
import { lightJob, type LightType } from '../helpers/light-job.ts';
import {
  damaged,
  hasZzuf,
  maskOf,
  startDamagingDatagrams,
  startDamagingWay,
  type DamagingWay,
} from '../helpers/zzuf.ts';

/**
 * A whole agent among peers whose bytes zzuf has damaged: clients of its port, its service, and its targets. It never
 * ends, it never blames itself for a target, and it goes on with what comes next. ZZUF_SEEDS tries more seeds.
 */

if (!hasZzuf)
  process.stdout.write('skipped: a damaged world of an agent needs zzuf (apt-get install zzuf)\n');

// oxlint-disable-next-line eslint/no-restricted-properties -- a setting of this test
const seeds = Number(process.env['ZZUF_SEEDS'] ?? 12);

const daemon = daemonTests();
const { finals, startAgent, startPeer, status, target, until } = daemon;

let targets: Targets;
beforeAll(async () => {
  targets = await startTargets();
});
afterAll(async () => targets.close());

/** The agent runs a job of an undamaged target, and passes it. */
async function stillWorks(peer: ProtocolPeer, resultsOf = finals): Promise<void> {
  const job = peer.add(tcpJob(await target()));
  await until(() => resultsOf().some(({ jobId }) => jobId === job.jobId), 'the result of a good job', 60_000);
  expect(resultsOf().find(({ jobId }) => jobId === job.jobId)).toMatchObject({ status: 'passed' });
  expect(await status('/-/liveness')).toBe(200);
}

/** Sends bytes, and waits for the end of the connection. Returns the status of the answer. */
function send(url: string, bytes: Buffer, patienceMs: number): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let answer = '';
    // The end of a client's requests ends the answers too, so it comes when nothing more is answered.
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes));
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'none'));
  });
}

const modules = `
modules:
  http_2xx: {prober: http, timeout: 2s, http: {preferred_ip_protocol: ip4}}
  tcp_connect: {prober: tcp, timeout: 2s, tcp: {preferred_ip_protocol: ip4}}
`;

describe.skipIf(!hasZzuf)('damaged requests', () => {
  test('to the port with health, metrics and /probe', { timeout: 180_000 }, async () => {
    const peer = await startPeer();
    const file = join(daemon.folder, 'blackbox.yml');
    writeFileSync(file, modules);
    // Damaged names of targets lead nowhere but to this machine.
    const agent = await startAgent({ PROBE_CONFIG: file, PROBE_TARGETS: '127.0.0.1/32' });
    const http = encodeURIComponent(`http://127.0.0.1:${targets.ports.http}/`);
    const requests = [
      'GET /health HTTP/1.1\r\nhost: agent\r\n',
      'GET /-/readiness HTTP/1.1\r\nhost: agent\r\n',
      'GET /metrics HTTP/1.1\r\nhost: agent\r\naccept: application/openmetrics-text; version=1.0.0\r\n',
      `GET /probe?target=${http}&module=http_2xx&debug=true HTTP/1.1\r\nhost: agent\r\nx-prometheus-scrape-timeout-seconds: 2\r\n`,
      `GET /probe?target=127.0.0.1:${targets.ports.banner}&module=tcp_connect HTTP/1.1\r\nhost: agent\r\n`,
    ].map((text) => `${text}connection: close\r\n\r\n`);
    const url = agent.healthUrl ?? '';
    const whole = await Promise.all(requests.map((request) => send(url, Buffer.from(request), 20_000)));
    expect(whole).toEqual(['200', '200', '200', '200', '200']);
    const statuses = new Map<string, number>();
    for (const request of requests) {
      for (let seed = 0; seed < seeds * 2; seed++) {
        const answer = await send(url, damaged(request, seed, '0.001:0.05'), 1_000);
        statuses.set(answer, (statuses.get(answer) ?? 0) + 1);
      }
    }
    // A damaged number of a time limit is answered as Prometheus' own exporter does, with 500.
    expect([...statuses.keys()].filter((answer) => answer.startsWith('5') && answer !== '500')).toEqual([]);
    expect(statuses.get('500') ?? 0).toBeLessThan(seeds);
    expect(statuses.get('400') ?? 0).toBeGreaterThan(0);
    expect(await send(url, Buffer.from(requests[3] ?? ''), 20_000)).toBe('200');
    await stillWorks(peer);
  });
});

type Damaged = { name: string; type: LightType; way: DamagingWay; request: Record<string, unknown> };

/** A job of each light type whose target answers through a way that can be damaged. */
async function damagedTargets(): Promise<Damaged[]> {
  const host = '127.0.0.1';
  const of = async (
    name: string,
    type: LightType,
    port: number,
    request: (port: number) => Record<string, unknown>,
    start = startDamagingWay,
  ): Promise<Damaged> => {
    const way = await start(port);
    return { name, type, way, request: request(way.port) };
  };
  const { http, https, banner, dns, grpc } = targets.ports;
  const assertions = [
    { source: 'JSON_BODY', property: '$..a', comparison: 'IS_NULL', target: '', regex: '' },
  ];
  return [
    await of('HTTP', 'URL', http, (port) => ({ url: `http://${host}:${port}/` })),
    await of('HTTP with assertions', 'API', http, (port) => ({
      url: `http://${host}:${port}/json`,
      assertions,
    })),
    await of('HTTPS', 'URL', https, (port) => ({ url: `https://${host}:${port}/`, skipSSL: true })),
    await of('TCP', 'TCP', banner, (port) => ({ hostname: host, port })),
    await of('TLS', 'SSL', https, (port) => ({
      sslConfig: { hostname: host, port, skipChainValidation: true },
    })),
    await of('gRPC', 'GRPC', grpc, (port) => ({
      url: host,
      port,
      timeout: 5,
      grpcConfig: {
        mode: 'BEHAVIOR',
        tls: false,
        method: 'sample.Shop/GetProduct',
        message: '{"name":"lamp"}',
      },
    })),
    await of('gRPC health', 'GRPC', grpc, (port) => ({
      url: host,
      port,
      timeout: 5,
      grpcConfig: { mode: 'HEALTH', tls: false, service: 'shop' },
    })),
    await of('DNS by TCP', 'DNS', dns, (port) => ({
      query: 'shop.test',
      nameServer: host,
      port,
      protocol: 'TCP',
    })),
    await of(
      'DNS by UDP',
      'DNS',
      dns,
      (port) => ({ query: 'shop.test', nameServer: host, port, protocol: 'UDP' }),
      startDamagingDatagrams,
    ),
  ];
}

/** What is wrong with a result of a damaged target: it is the target's fault, or it passed. */
function wrongWith({ status: verdict, reason }: Result): boolean {
  // On a busy machine the agent may report its own delay, and nothing else of its own.
  if (verdict === 'errored') return reason?.code !== 'AGENT_OVERLOADED';
  return verdict === 'failed' && !/^(target|script)$/.test(reason?.owner ?? '');
}

describe.skipIf(!hasZzuf)('damaged answers', () => {
  test('of targets: HTTP, TLS, TCP, gRPC, DNS', { timeout: 300_000 }, async () => {
    const peer = await startPeer();
    await startAgent();
    const ways: DamagingWay[] = [];
    const names = new Map<string, string>();
    try {
      for (let seed = 0; seed < seeds; seed++) {
        const mask = maskOf(seed);
        for (const { name, type, way, request } of await damagedTargets()) {
          ways.push(way);
          way.setMask(mask);
          const deadline = new Date(Date.now() + 60_000).toISOString();
          names.set(peer.add(lightJob(type, request, { deadline })).jobId, `${name}, seed ${seed}`);
        }
      }
      await until(() => finals().length === names.size, 'all results', 150_000);
      const shown = ({ jobId, status: verdict, reason }: Result) =>
        `${names.get(jobId)}: ${verdict} ${reason?.code} ${reason?.message}`;
      expect(finals().filter(wrongWith).map(shown)).toEqual([]);
      // The damage did something, and not to everything.
      const failed = finals().filter(({ status: verdict }) => verdict === 'failed').length;
      expect(failed).toBeGreaterThan(names.size / 4);
      expect(finals().filter(({ status: verdict }) => verdict === 'passed').length).toBeGreaterThan(0);
      await stillWorks(peer);
    } finally {
      for (const way of ways) await way.close();
    }
  });

  test('of the service: the agent goes on when they are whole again', { timeout: 300_000 }, async () => {
    // A peer of its own: damaged ids make calls that a strict peer would call wrong.
    const service = await startProtocolPeer();
    const way = await startDamagingWay(service.port);
    await startPeer();
    const agent = await startAgent({ SERVICE_URL: `http://127.0.0.1:${way.port}`, API_KEY: peerKey });
    const finalsOf = () => service.results.filter(({ resultType }) => resultType === 'FINAL');
    try {
      await stillWorks(service, finalsOf);
      const port = await target();
      for (let seed = 0; seed < seeds; seed++) {
        way.setMask(maskOf(seed));
        const before = service.calls.length;
        service.add(tcpJob(port));
        const end = Date.now() + 1_000;
        await until(() => service.calls.length > before + 3 || Date.now() > end, 'some calls', 10_000);
      }
      way.setMask(null);
      expect(await status('/-/liveness')).toBe(200);
      await stillWorks(service, finalsOf);
    } finally {
      await agent.stop();
      await way.close();
      await service.close();
    }
  });
});
