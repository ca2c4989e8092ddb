import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { createArtifactKeeper } from '../../src/agent/artifacts/keep.ts';
import { createLanes } from '../../src/agent/run/lanes.ts';
import { createLeases } from '../../src/agent/run/leases.ts';
import { createMetrics } from '../../src/agent/metrics/counters.ts';
import { jobScrubbers } from '../../src/agent/scrubbing/own-secrets.ts';
import { parseJob } from '../../src/agent/claiming/parse-job.ts';
import type { RunParts } from '../../src/agent/run/run-job.ts';
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
import type { Result } from '../../src/protocol/result.ts';
import type { RequestOf } from '../../src/protocol/routes.ts';
import type { Scripts } from '../../src/script/interface/scripts.ts';
import type { SuiteOptions, SuiteRun } from '../../src/script/interface/suite-run.ts';
import { createScrubber } from '../../src/secrets/scrubber/scrubber.ts';
import { peerKey, startProtocolPeer, type PeerJob, type ProtocolPeer } from './link/protocol-peer.ts';

type StartOptions = { renewSeconds?: number; leaseSeconds?: number; limitBytes?: number };

const secrets = [{ name: 'TOKEN', value: 'very-secret-word' }];
const log = createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } });

/** Resolves with the reason of the signal when it fires. */
export const aborted = (signal: AbortSignal) =>
  new Promise<JobAborted>((resolve) =>
    signal.addEventListener('abort', () => resolve(signal.reason as JobAborted)),
  );

/**
 * The parts of an agent that runs suites: its own leases, lanes, folders and executor, with a strict peer for the service.
 * Each test sets `run`, which acts as the suite. Registers the hooks that close everything after each test.
 */
export function suiteJobsBench() {
  let folder: string;
  let peer: ProtocolPeer;
  const results: Result[] = [];
  const faults: string[] = [];
  let closers: (() => unknown)[];

  async function start(options: StartOptions = {}) {
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
    const leases = createLeases({ client, log, metrics, random: () => 0 });
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
      runSuite: (given) => bench.run(given),
      close: () => Promise.resolve(),
    };
    const parts: RunParts = {
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
    return { peer, leases, parts, folder };
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'suite-jobs-'));
    results.length = 0;
    faults.length = 0;
    closers = [];
  });
  afterEach(async () => {
    for (const close of closers) await close();
    rmSync(folder, { recursive: true, force: true });
    expect(peer.violations).toEqual([]);
  });

  const renewals = () =>
    peer.calls
      .flatMap(({ route, body }) => (route === 'renew' ? [body as RequestOf<'renew'>] : []))
      .flatMap(({ leases: held }) => held);

  const bench = {
    /** The suite of this test. */
    run: (_options: SuiteOptions): Promise<SuiteRun> => Promise.reject(new Error('the test sets no suite')),
    start,
    /** The results that the agent has delivered. */
    results,
    /** Messages of faults that the agent has reported. */
    faults,
    /** A job that the peer has handed out. */
    claimed(given: PeerJob): Job {
      peer.add(given);
      const entry = peer.jobs.get(given.jobId);
      if (entry !== undefined) entry.state = 'leased';
      const parsed = parseJob(given);
      if (parsed.job === null) throw parsed.error;
      return parsed.job;
    },
    /** The leases of all renewals so far. */
    renewals,
    /** The log lines of all renewals so far. */
    toldLines: () => renewals().flatMap((lease) => lease.log ?? []),
  };
  return bench;
}
