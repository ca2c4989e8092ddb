import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createArtifactKeeper } from '../../src/agent/artifacts/keep.ts';
import { createLanes } from '../../src/agent/run/lanes.ts';
import { createLeases, type Leases } from '../../src/agent/run/leases.ts';
import { createMetrics } from '../../src/agent/metrics/counters.ts';
import { jobScrubbers } from '../../src/agent/scrubbing/own-secrets.ts';
import { parseJob } from '../../src/agent/claiming/parse-job.ts';
import { runJob, type RunParts } from '../../src/agent/run/run-job.ts';
import { createServiceClient } from '../../src/agent/link/client.ts';
import { createTransport } from '../../src/agent/link/transport.ts';
import { createWorkDirs } from '../../src/agent/folders/work-dir.ts';
import type { JobAborted } from '../../src/errors.ts';
import type { Executor } from '../../src/executors/interface/executor.ts';
import { executePlaywright } from '../../src/executors/playwright.ts';
import { createNetwork } from '../../src/executors/system-network.ts';
import { executeTcp } from '../../src/executors/tcp.ts';
import { createLog } from '../../src/log.ts';
import type { JobType } from '../../src/protocol/check-types.ts';
import type { Job } from '../../src/protocol/job.ts';
import { reasonOf } from '../../src/protocol/reasons.ts';
import type { Result } from '../../src/protocol/result.ts';
import type { RequestOf } from '../../src/protocol/routes.ts';
import type { Scripts } from '../../src/script/interface/scripts.ts';
import type { SuiteDetails, SuiteOptions, SuiteRun } from '../../src/script/interface/suite-run.ts';
import { createScrubber } from '../../src/secrets/scrubber/scrubber.ts';
import {
  peerKey,
  startProtocolPeer,
  suiteJob,
  tcpJob,
  type PeerJob,
  type ProtocolPeer,
} from './link/protocol-peer.ts';
import { details, passed, totals } from './suite-outcomes.ts';

/**
 * What an agent makes of suites: their live log, their cancellation, their files. Leases, lanes, folders and the executor are
 * the agent's, the service is a strict peer; what a suite does is the test's own.
 */

let folder: string;
let peer: ProtocolPeer;
let leases: Leases;
let parts: RunParts;
let run: (options: SuiteOptions) => Promise<SuiteRun>;
let results: Result[];
let faults: string[];
let closers: (() => unknown)[];

const secrets = [{ name: 'TOKEN', value: 'very-secret-word' }];
const log = createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } });

async function start(options: { renewSeconds?: number; leaseSeconds?: number; limitBytes?: number } = {}) {
  const { renewSeconds = 0.03, leaseSeconds = 30 } = options;
  peer = await startProtocolPeer({ renewSeconds, leaseSeconds });
  const transport = await createTransport({
    serviceUrl: peer.url,
    proxy: { httpProxy: null, httpsProxy: null, noProxy: '' },
    extraCaFile: null,
    headers: { authorization: `Bearer ${peerKey}` },
  });
  const client = createServiceClient({
    transport,
    serviceUrl: peer.url,
    now: Date.now,
    onKeyRefused: (error) => faults.push(error.message),
  });
  const metrics = createMetrics();
  leases = createLeases({ client, log, metrics, random: () => 0 });
  const hello = await client.call(
    'hello',
    {
      instanceId: 'i',
      version: '1',
      protocolMinor: 3,
      host: { hostname: 'h', platform: 'linux', arch: 'x64', nodeVersion: 'v20', cores: 1, memoryBytes: 1 },
      checkTypes: ['PLAYWRIGHT'],
      runtimes: [],
      engines: ['node 22.23.3'],
      lanes: { suite: 1 },
    },
    { timeoutMs: 5000 },
  );
  leases.begin({ agentId: hello?.agentId ?? '', renewSeconds, leaseSeconds });
  const workDirs = createWorkDirs(join(folder, 'runs'), 'instance');
  const network = createNetwork({ useOsDnsResolver: false });
  const unused = () => Promise.reject(new Error('no part of this test'));
  const scripts: Scripts = {
    runtimes: [],
    openApiScripts: unused,
    runPlaywright: unused,
    runSuite: (given) => run(given),
    close: () => Promise.resolve(),
  };
  parts = {
    version: '1',
    lanes: createLanes({ uptime: 2, suite: 1 }),
    leases,
    metrics,
    network,
    executorOf: (type) => (type === 'TCP' ? executeTcp : executePlaywright) as Executor<JobType>, // of that type
    scrubberOf: jobScrubbers(secrets, createScrubber(secrets)),
    forFiles: {
      scripts,
      workDirs,
      keepArtifacts: createArtifactKeeper({
        metrics,
        limitBytes: () => options.limitBytes ?? Infinity,
        place: {
          place: (_bytes, name) => Promise.resolve(join(folder, `kept-${name}`)),
          keep: () => Promise.resolve({ state: 'pending', url: null }),
        },
      }),
    },
    deliver: (json) => {
      results.push(JSON.parse(json) as Result); // what runJob has just serialised
      return Promise.resolve();
    },
    resultBytes: () => 2 * 1024 * 1024,
    clockSkewMs: () => 0,
    fault: (error, message) => faults.push(`${message}: ${error.message}`),
    now: Date.now,
  };
  closers.push(
    () => leases.stop(),
    () => client.close(),
    () => network.close(),
    () => workDirs.close(),
    () => peer.close(),
  );
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'suite-jobs-'));
  results = [];
  faults = [];
  closers = [];
});
afterEach(async () => {
  for (const close of closers) await close();
  rmSync(folder, { recursive: true, force: true });
  expect(peer.violations).toEqual([]);
});

/** A job that the peer has handed out. */
function claimed(given: PeerJob): Job {
  peer.add(given);
  const entry = peer.jobs.get(given.jobId);
  if (entry !== undefined) entry.state = 'leased';
  const parsed = parseJob(given);
  if (parsed.job === null) throw parsed.error;
  return parsed.job;
}

/** Resolves when the signal fires, with its reason. */
const aborted = (signal: AbortSignal) =>
  new Promise<JobAborted>((resolve) =>
    signal.addEventListener('abort', () => resolve(signal.reason as JobAborted)),
  );

const renewals = () =>
  peer.calls
    .flatMap(({ route, body }) => (route === 'renew' ? [body as RequestOf<'renew'>] : []))
    .flatMap(({ leases: held }) => held);
const toldLines = () => renewals().flatMap((lease) => lease.log ?? []);

test('stage and log lines ride along with the renewals, scrubbed; the result has the whole log', async () => {
  await start();
  run = async ({ log: say, onStage, addSecret }) => {
    onStage('install');
    say('info', 'added 3 packages with very-secret-word');
    await expect.poll(toldLines, { timeout: 10_000 }).toEqual(['added 3 packages with *********']);
    onStage('test');
    addSecret('session', 'a-session-of-the-run');
    say('info', 'authorization: Bearer of-somebody');
    say('warn', 'logged in as a-session-of-the-run');
    await expect.poll(toldLines, { timeout: 10_000 }).toHaveLength(3);
    return passed();
  };
  await runJob(claimed(suiteJob()), parts);
  expect(toldLines().slice(1)).toEqual(['authorization: *********', 'logged in as *********']);
  const stages = renewals().flatMap(({ stage, log: lines }) => (lines === undefined ? [] : [stage]));
  expect(new Set(stages)).toEqual(new Set(['install', 'test']));
  expect(results).toMatchObject([{ status: 'passed', responseTime: 40_000, details: { totals } }]);
  expect(results[0]?.log.map(({ msg }) => msg)).toEqual(toldLines());
  expect(faults).toEqual([]);
});

test('lines of a renewal that failed come again; a service that refuses them keeps the lease alive without', async () => {
  await start();
  run = async ({ log: say }) => {
    let refused = 0;
    peer.misbehave('renew', (_request, response) => {
      refused += 1;
      response.writeHead(503).end();
      return true;
    });
    say('info', 'first');
    await expect.poll(() => refused, { timeout: 10_000 }).toBeGreaterThan(1);
    peer.behave();
    const before = peer.calls.length;
    say('info', 'second');
    const arrived = () =>
      peer.calls
        .slice(before)
        .flatMap(({ route, body }) => (route === 'renew' ? (body as RequestOf<'renew'>).leases : []))
        .flatMap((lease) => lease.log ?? []);
    await expect.poll(arrived, { timeout: 10_000 }).toEqual(['first', 'second']);

    peer.misbehave('renew', (_request, response, body) => {
      if ((body as RequestOf<'renew'>).leases.every((lease) => lease.log === undefined)) return false;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message: 'no lines', attributes: {} }));
      return true;
    });
    say('info', 'third');
    await expect.poll(arrived, { timeout: 10_000 }).toContain('third');
    const then = renewals().length;
    say('info', 'fourth');
    await expect.poll(() => renewals().length, { timeout: 10_000 }).toBeGreaterThan(then + 3);
    expect(arrived()).not.toContain('fourth');
    return passed();
  };
  await runJob(claimed(suiteJob()), parts);
  expect(results).toMatchObject([{ status: 'passed' }]);
});

test('other types send no lines', async () => {
  await start();
  parts.executorOf = () => async (_job, context) => {
    context.log('info', 'a line');
    const before = renewals().length;
    await expect.poll(() => renewals().length, { timeout: 10_000 }).toBeGreaterThan(before + 1);
    return { base: { ok: true }, responseTime: 1, timings: null, assertions: [], details: {} };
  };
  await runJob(claimed(tcpJob(1)), parts);
  expect(renewals().every((lease) => lease.stage === 'running' && lease.log === undefined)).toBe(true);
});

test('a cancelled suite tells what it did by then, with its files, and is not repeated', async () => {
  await start();
  const job = claimed(
    suiteJob({ environmentVariables: [{ key: 'A', value: 'secret-of-the-check', secret: true }] }),
  );
  let cancelledAt = 0;
  run = async ({ signal, workDir, log: say }) => {
    say('info', 'running 20 tests');
    peer.cancel.add(job.jobId);
    const reason = await aborted(signal);
    cancelledAt = performance.now();
    const path = join(workDir, 'trace.txt');
    writeFileSync(path, 'a trace with secret-of-the-check');
    say('warn', 'ended because it was cancelled');
    expect(reason.code).toBe('cancelled');
    // Longer than any other executor may take.
    await new Promise((resolve) => setTimeout(resolve, 5500));
    return passed({
      failure: reasonOf('CANCELLED', 'The run was cancelled.'),
      details: details({ runStatus: 'interrupted', totals: { ...totals, interrupted: 19 } }),
      files: [{ path, name: 'trace.txt', type: 'trace', contentType: 'text/plain' }],
    });
  };
  await runJob(job, parts);
  expect(performance.now() - cancelledAt).toBeLessThan(10_000);
  expect(results).toHaveLength(1);
  expect(results[0]).toMatchObject({
    status: 'cancelled',
    resultType: 'FINAL',
    isCancelled: true,
    hasErrors: false,
    hasFailures: false,
    reason: { code: 'CANCELLED', owner: 'ours' },
    details: { runStatus: 'interrupted', totals: { interrupted: 19 } },
    artifacts: [{ name: 'trace.txt', type: 'trace', state: 'pending' }],
  });
  expect(results[0]?.log.map(({ msg }) => msg)).toEqual([
    'running 20 tests',
    'ended because it was cancelled',
  ]);
  expect(readFileSync(join(folder, 'kept-trace.txt'), 'utf8')).toBe('a trace with *********');
  expect(faults).toEqual([]);
  expect(peer.releases).toEqual([]);
}, 20_000);

test('a suite that is cancelled before it has anything to tell is cancelled with its log', async () => {
  await start();
  const job = claimed(suiteJob());
  run = async ({ signal, log: say }) => {
    say('info', 'fetching the code bundle');
    peer.cancel.add(job.jobId);
    throw await aborted(signal);
  };
  await runJob(job, parts);
  expect(results).toMatchObject([
    { status: 'cancelled', isCancelled: true, log: [{ msg: 'fetching the code bundle' }], artifacts: [] },
  ]);
});

test('a suite whose time is over keeps its files and its details', async () => {
  await start();
  run = async ({ signal, workDir }) => {
    const reason = await aborted(signal);
    expect(reason.code).toBe('deadline');
    const path = join(workDir, 'output.log');
    writeFileSync(path, 'so far');
    return passed({
      failure: reasonOf('SCRIPT_TIMEOUT', 'too long'),
      details: details({ runStatus: 'interrupted' }),
      files: [{ path, name: 'output.log', type: 'log', contentType: 'text/plain' }],
    });
  };
  const deadline = new Date(Date.now() + 300).toISOString();
  await runJob(claimed(suiteJob({ deadline })), parts);
  expect(results).toMatchObject([
    {
      status: 'failed',
      reason: { code: 'SCRIPT_TIMEOUT' },
      details: { runStatus: 'interrupted' },
      artifacts: [{ name: 'output.log', state: 'pending' }],
    },
  ]);
});

test('a draining agent hands a suite back that does not end in time', async () => {
  await start();
  run = async ({ signal }) => {
    leases.drain();
    leases.cancel();
    signal.throwIfAborted();
    throw await aborted(signal);
  };
  const job = claimed(suiteJob());
  await runJob(job, parts);
  expect(results).toEqual([]);
  expect(peer.releases).toMatchObject([{ jobId: job.jobId, reason: 'draining', nextAttempt: 1 }]);
});

test('a suite that has ended by the end of a drain keeps its verdict, and the files that were taken by then', async () => {
  await start();
  const { keepArtifacts } = parts.forFiles ?? { keepArtifacts: () => Promise.resolve([]) };
  parts.forFiles = {
    ...(parts.forFiles as NonNullable<RunParts['forFiles']>), // start has just made it
    keepArtifacts: async (attempt, files, options) => {
      const kept = await keepArtifacts(attempt, files.slice(0, 1), options);
      leases.drain();
      leases.cancel();
      return [...kept, ...(await keepArtifacts(attempt, files.slice(1), options))];
    },
  };
  run = ({ workDir }) => {
    const files = ['report.txt', 'trace.txt', 'video.txt'].map((name) => {
      const path = join(workDir, name);
      writeFileSync(path, 'content');
      return { path, name, type: 'file' as const, contentType: 'text/plain' };
    });
    return Promise.resolve(passed({ files }));
  };
  await runJob(claimed(suiteJob()), parts);
  expect(peer.releases).toEqual([]);
  expect(results).toMatchObject([{ status: 'passed', resultType: 'FINAL' }]);
  expect(results[0]?.artifacts.map(({ name, state }) => [name, state])).toEqual([
    ['report.txt', 'pending'],
    ['trace.txt', 'lost'],
    ['video.txt', 'lost'],
  ]);
  expect(results[0]?.log.map(({ msg }) => msg)).toEqual([
    '2 files are not sent: the time for files was over',
  ]);
});

test('an oversized report is named with its size, and the rest arrives', async () => {
  await start({ limitBytes: 1000 });
  run = ({ workDir }) => {
    const files = [
      { name: 'report.zip', type: 'report' as const, bytes: 5000 },
      { name: 'output.log', type: 'log' as const, bytes: 10 },
      { name: 'screenshot.png', type: 'screenshot' as const, bytes: 1000 },
    ].map(({ name, type, bytes }) => {
      const path = join(workDir, name);
      writeFileSync(path, 'x'.repeat(bytes));
      return { path, name, type, contentType: 'text/plain' };
    });
    return Promise.resolve(passed({ files }));
  };
  await runJob(claimed(suiteJob()), parts);
  expect(results[0]?.artifacts.map(({ name, size, state }) => [name, size, state])).toEqual([
    ['report.zip', 5000, 'refused'],
    ['output.log', 10, 'pending'],
    ['screenshot.png', 1000, 'pending'],
  ]);
  expect(results[0]?.log.map(({ msg }) => msg)).toEqual([
    'report.zip is not sent: it has 5000 bytes, more than the 1000 that an artifact may have',
  ]);
  expect(results[0]?.status).toBe('passed');
});

test('a result of many tests that is too large keeps its totals and the tests that failed', async () => {
  await start();
  const one = (status: 'passed' | 'failed', index: number) => ({
    title: `test ${index}`,
    titlePath: ['a.spec.ts', `test ${index}`],
    file: 'a.spec.ts',
    line: index,
    project: 'chromium',
    tags: [],
    status,
    degraded: false,
    durationMs: 10,
    retries: 0,
    errors: status === 'failed' ? ['expected 1, received 2 '.repeat(100)] : [],
    steps: [{ title: 'step'.repeat(500) }] as never[],
    attachments: [],
  });
  const tests = Array.from({ length: 3000 }, (_, index) =>
    one(index % 100 === 0 ? 'failed' : 'passed', index),
  );
  parts.resultBytes = () => 200_000;
  run = () => Promise.resolve(passed({ details: details({ tests, testsLeftOut: 7 }) }));
  await runJob(claimed(suiteJob()), parts);
  const [result] = results;
  const kept = result?.details as unknown as SuiteDetails; // what went in, shorter
  expect(JSON.stringify(result).length).toBeLessThan(200_000);
  expect(kept.totals).toEqual(totals);
  expect(kept.tests.length + kept.testsLeftOut).toBe(3007);
  expect(kept.tests.filter(({ status }) => status === 'failed')).toHaveLength(30);
  expect(kept.tests.length).toBeGreaterThan(300);
  expect(parts.metrics.resultsTrimmed).toBe(1);
});

test('the result of 1,000 tests is scrubbed as a whole, and other work goes on meanwhile', async () => {
  await start();
  const tests = Array.from({ length: 1000 }, (_, index) => ({
    title: `test ${index} of very-secret-word`,
    steps: Array.from({ length: 8 }, (__, step) => ({
      title: `step ${step} with a longer title, as they are`,
    })),
    errors: [],
  })) as never[];
  run = ({ log: say }) => {
    for (let index = 0; index < 2000; index += 1)
      say('info', `line ${index} with very-secret-word `.repeat(3));
    return Promise.resolve(passed({ details: details({ tests, errors: ['very-secret-word'] }) }));
  };
  const running = runJob(claimed(suiteJob()), parts);
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  await running;
  clearInterval(timer);
  const text = JSON.stringify(results);
  expect(text).not.toContain('very-secret-word');
  expect(text.split('*********')).toHaveLength(1000 + 3 * 2000 + 1 + 1);
  expect(results[0]?.details['tests']).toHaveLength(1000);
  expect(results[0]?.details['totals']).toEqual(totals);
  expect(turns).toBeGreaterThan(10);
});

test('a suite that fills its lane holds up no other lane, and keeps its lease the while', async () => {
  await start({ leaseSeconds: 1 });
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  run = async () => {
    await ended;
    return passed();
  };
  const suites = [claimed(suiteJob()), claimed(suiteJob())].map((job) => runJob(job, parts));
  expect(parts.lanes.free('suite')).toBe(0);
  const from = Date.now();
  const probes = Array.from({ length: 20 }, () => runJob(claimed(tcpJob(1)), parts));
  await Promise.all(probes);
  expect(results.map(({ checkType }) => checkType)).toEqual(Array.from({ length: 20 }, () => 'TCP'));
  expect(Date.now() - from).toBeLessThan(5000);
  // Three leases long.
  const times: number[] = [];
  peer.misbehave('renew', () => {
    times.push(performance.now());
    return false;
  });
  await expect.poll(() => (times.at(-1) ?? 0) - (times[0] ?? 0), { timeout: 20_000 }).toBeGreaterThan(3000);
  expect(Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)))).toBeLessThan(1000);
  end();
  await Promise.all(suites);
  expect(results.slice(20).map(({ status }) => status)).toEqual(['passed', 'passed']);
}, 30_000);

test('metrics tell the stages of suites and where their dependencies came from', async () => {
  await start();
  run = () => Promise.resolve(passed());
  await runJob(claimed(suiteJob()), parts);
  const { suiteDependencies, histograms } = parts.metrics;
  expect(suiteDependencies).toEqual(new Map([['hit', 1]]));
  const { values: stages } = await histograms.suite_stage_seconds.get();
  const sums = stages.filter(({ metricName }) => metricName?.endsWith('_sum'));
  expect(sums.map(({ labels, value }) => [labels.stage, value])).toEqual([
    ['install', 0.4],
    ['test', 40],
  ]);
  const { values: attempts } = await histograms.attempt_duration_seconds.get();
  expect(attempts.find(({ metricName }) => metricName?.endsWith('_count'))).toMatchObject({
    labels: { type: 'PLAYWRIGHT' },
    value: 1,
  });
});
