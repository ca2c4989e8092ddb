import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLanes } from '../../../src/agent/run/lanes.ts';
import type { Hold } from '../../../src/agent/run/holds.ts';
import { createMetrics } from '../../../src/agent/metrics/counters.ts';
import { createNetworkEvidence, type NetworkEvidence } from '../../../src/agent/run/network-evidence.ts';
import { jobScrubbers } from '../../../src/agent/scrubbing/own-secrets.ts';
import { parseJob } from '../../../src/agent/claiming/parse-job.ts';
import { runJob, type RunParts } from '../../../src/agent/run/run-job.ts';
import { createWorkDirs } from '../../../src/agent/folders/work-dir.ts';
import { keepInFolder } from '../../../src/commands/run/artifacts.ts';
import { openCapture } from '../../../src/executors/evidence/capture.ts';
import type { Traceroute, Unavailable } from '../../../src/executors/evidence/traceroute.ts';
import type { Executor } from '../../../src/executors/interface/executor.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import { executeTcp } from '../../../src/executors/tcp.ts';
import type { JobType } from '../../../src/protocol/check-types.ts';
import type { Job } from '../../../src/protocol/job.ts';
import type { Result } from '../../../src/protocol/result.ts';
import { createScrubber } from '../../../src/secrets/scrubber/scrubber.ts';
import { retryStrategy, tcpJob } from '../link/protocol-peer.ts';
import { testLeases } from './test-leases.ts';

/** When network evidence is collected, and how results wait for it. */

const tried = await openCapture([]);
const canCapture = 'take' in tried;
if ('take' in tried) tried.discard();

const network = createNetwork({ useOsDnsResolver: false });
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'location-agent-evidence-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function parts(evidence: NetworkEvidence) {
  const results: Result[] = [];
  const lanes = createLanes({ uptime: 1 });
  const holds: Hold[] = [];
  const made: RunParts = {
    version: '1.2.3',
    lanes,
    leases: testLeases(holds),
    metrics: createMetrics(),
    executorOf: () => executeTcp as Executor<JobType>, // all jobs here are of its type
    network,
    evidence,
    forFiles: {
      scripts: null,
      workDirs: createWorkDirs(join(folder, 'runs'), 'test'),
      keepArtifacts: keepInFolder(join(folder, 'kept')),
    },
    scrubberOf: jobScrubbers([], createScrubber([])),
    deliver: (json) => {
      results.push(JSON.parse(json) as Result); // what runJob has just serialised
      return Promise.resolve();
    },
    resultBytes: () => 100_000,
    clockSkewMs: () => 0,
    fault: (error, message) => expect.fail(`${message}: ${error.message}`),
    now: Date.now,
  };
  return { made, results, holds, lanes };
}

function job(port: number, more: Record<string, unknown> = {}): Job {
  const parsed = parseJob(tcpJob(port, { checkId: '00000000-0000-4000-8000-000000000001', ...more }));
  if (parsed.job === null) throw parsed.error;
  return parsed.job;
}

const twice = { retryStrategy: retryStrategy({ baseBackoffSeconds: 0, maxRetries: 1 }) };
const itself = { unavailable: 'the target is this host itself' };

test('packets are captured in the attempt after a failed one: the second of a run, or the first of the next run', async () => {
  let time = Date.now();
  const evidence = createNetworkEvidence({ network, now: () => time });
  const { made, results } = parts(evidence);
  const captured = canCapture
    ? { packets: 2, syn: 1, resets: 1, artifact: 'packets.pcap' }
    : { unavailable: expect.any(String) as string };
  await runJob(job(1, twice), made);
  expect(results.map(({ resultType }) => resultType)).toEqual(['ATTEMPT', 'FINAL']);
  expect(results[0]?.details).toMatchObject({ traceroute: itself });
  expect(results[0]?.details).not.toHaveProperty('packetCapture');
  expect(results[1]?.details).toMatchObject({ traceroute: itself, packetCapture: captured });
  if (canCapture) {
    expect(results[1]?.artifacts).toMatchObject([{ name: '2-packets.pcap', type: 'pcap', state: 'stored' }]);
    expect(readdirSync(join(folder, 'kept'))).toEqual(['2-packets.pcap']);
  }

  // Once a minute.
  if (canCapture) {
    await runJob(job(1), made);
    expect(results.pop()?.details).not.toHaveProperty('packetCapture');
  }
  time += 60_000;
  await runJob(job(1), made);
  expect(results[2]?.details).toMatchObject({ packetCapture: captured });

  // Another check, and this one after it has passed, are no suspects.
  await runJob(job(1, { checkId: '00000000-0000-4000-8000-000000000002' }), made);
  expect(results[3]?.details).not.toHaveProperty('packetCapture');
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await runJob(job((server.address() as AddressInfo).port), made); // a TCP server's
  server.close();
  expect(results[4]).toMatchObject({ status: 'passed', artifacts: [] });
  expect(results[4]?.details).not.toHaveProperty('traceroute');
  await runJob(job(1), made);
  expect(results[5]?.details).not.toHaveProperty('packetCapture');
  evidence.close();
  const runs = join(folder, 'runs', 'test');
  if (existsSync(runs)) expect(readdirSync(runs).filter((name) => name.startsWith('run-'))).toEqual([]);
});

test('a check with shouldFail, and one with a wrong answer, have no network failure', async () => {
  const evidence = createNetworkEvidence({ network, now: Date.now });
  const { made, results } = parts(evidence);
  await runJob(job(1, { shouldFail: true }), made);
  expect(results[0]).toMatchObject({ status: 'passed' });
  expect(results[0]?.details).not.toHaveProperty('traceroute');
  evidence.close();
});

const refusedThere = {
  status: 'failed',
  reason: { code: 'ECONNREFUSED', owner: 'target', message: '' },
} as never;

test.each([
  ['192.0.2.1', 0, 'nothing can listen on port 0'],
  ['224.0.0.1', 80, 'the target is a multicast or broadcast address'],
  ['255.255.255.255', 80, 'the target is a multicast or broadcast address'],
  ['ff02::1%lo', 80, 'the target is a multicast or broadcast address'],
])('no probe is sent to %s, port %i', async (address, port, unavailable) => {
  const evidence = createNetworkEvidence({ network, now: Date.now });
  const watch = await evidence.watch(job(1));
  const family = address.includes(':') ? 6 : 4;
  watch?.network.connecting?.([{ address, family }], port);
  expect(await watch?.conclude(refusedThere)).toEqual({ traceTo: { unavailable } });
  evidence.close();
});

test('a traceroute that cannot start reports the reason and does not stop the agent', async () => {
  const evidence = createNetworkEvidence({ network, now: Date.now });
  const target = { address: '127.0.0.1', family: 4, port: 0, way: 'tcp' } as const;
  const { signal } = new AbortController();
  expect(await evidence.traces.to(target, signal)).toHaveProperty('unavailable');
  evidence.close();
});

test.skipIf(!canCapture)('few captures run at once; the others report that they were skipped', async () => {
  const evidence = createNetworkEvidence({ network, now: Date.now });
  const { made } = parts(evidence);
  await runJob(job(1), made);
  const watches = await Promise.all(Array.from({ length: 9 }, () => evidence.watch(job(1))));
  const verdict = {
    status: 'failed',
    reason: { code: 'ECONNREFUSED', owner: 'target', message: '' },
  } as never;
  const last = await watches.at(-1)?.conclude(verdict);
  expect(last?.capture).toEqual({ unavailable: '8 other captures were in progress' });
  for (const watch of watches) watch?.end();
  const next = await evidence.watch(job(1));
  expect((await next?.conclude(verdict))?.capture).toHaveProperty('pcap');
  for (const watch of [next, ...watches]) watch?.end();
  evidence.close();
});

/** Evidence whose traces end when the test says so, for a target that is elsewhere. */
function slowEvidence() {
  const real = createNetworkEvidence({ network, now: Date.now });
  const asked: string[] = [];
  let answer: (trace: Traceroute | Unavailable) => void = () => undefined;
  let isKnown = false;
  const evidence: NetworkEvidence = {
    ...real,
    watch: async (watched) => {
      const watch = await real.watch(watched);
      if (watch === null) return null;
      return {
        ...watch,
        conclude: async (verdict) => {
          const failure = await watch.conclude(verdict);
          const traceTo = { address: '192.0.2.1', family: 4, port: 1, way: 'tcp' } as const;
          return failure === null ? null : { ...failure, traceTo };
        },
      };
    },
    traces: {
      ...real.traces,
      has: () => isKnown,
      to: (target, signal) => {
        asked.push(target.address);
        return new Promise((resolve) => {
          answer = resolve;
          if (isKnown) resolve({ unavailable: 'known' });
          signal.addEventListener('abort', () => resolve({ unavailable: 'stopped' }), { once: true });
        });
      },
    },
  };
  return { evidence, asked, answer: () => answer({ unavailable: 'traced' }), know: () => (isKnown = true) };
}

async function until(what: () => boolean): Promise<void> {
  const end = Date.now() + 20_000;
  while (!what()) {
    if (Date.now() > end) throw new Error('it did not come to that');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('the slot is free during a traceroute, and the result waits for it while its lease is renewed', async () => {
  const slow = slowEvidence();
  const { made, results, holds, lanes } = parts(slow.evidence);
  const running = runJob(job(1), made);
  await until(() => slow.asked.length === 1 && lanes.free('uptime') === 1);
  expect(results).toEqual([]);
  expect(holds[0]?.phase).toBe('running'); // which a drain waits for
  slow.answer();
  await running;
  expect(results[0]).toMatchObject({
    resultType: 'FINAL',
    details: { traceroute: { unavailable: 'traced' } },
  });
});

test.each(['shutdown', 'cancelled', 'lease-lost'] as const)(
  'a result is not lost when its trace is cut off: %s',
  async (code) => {
    const slow = slowEvidence();
    const { made, results, holds } = parts(slow.evidence);
    const running = runJob(job(1), made);
    await until(() => slow.asked.length === 1);
    holds[0]?.abort(code);
    await running;
    expect(results).toMatchObject([
      { resultType: 'FINAL', status: 'failed', details: { traceroute: { unavailable: 'stopped' } } },
    ]);
  },
);

test('no trace outlasts the deadline of its job', async () => {
  const slow = slowEvidence();
  const { made, results } = parts(slow.evidence);
  await runJob(job(1, { deadline: new Date(Date.now() + 2000).toISOString() }), made);
  expect(results[0]?.details).toMatchObject({ traceroute: { unavailable: 'stopped' } });
});

test('a retry does not wait for a traceroute, but reports a finished one', async () => {
  const slow = slowEvidence();
  const { made, results } = parts(slow.evidence);
  const running = runJob(job(1, twice), made);
  await until(() => slow.asked.length === 1);
  expect(results.map(({ resultType }) => resultType)).toEqual(['ATTEMPT']);
  expect(results[0]?.details).not.toHaveProperty('traceroute');
  slow.answer();
  await running;
  slow.know();
  await runJob(job(1, twice), made);
  expect(results.slice(1).map(({ details }) => details['traceroute'])).toEqual([
    { unavailable: 'traced' },
    { unavailable: 'known' },
    { unavailable: 'known' },
  ]);
});
