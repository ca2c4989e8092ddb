/**
 * CPU per probe of the URL executor only, over http and https. Compared with a bare undici loop with its own connector on the same
 * targets in the same process; 32 in flight, each on a new connection. Limit: 1.15 × the bare loop.
 */
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, createSecureContext } from 'node:tls';
import { Client } from 'undici';
import type { ExecutionContext } from '../src/executors/interface/executor.ts';
import { createNetwork } from '../src/executors/system-network.ts';
import { withoutScripts } from '../src/executors/without-scripts.ts';
import { executeUrl } from '../src/executors/url.ts';
import type { JobOf } from '../src/protocol/job.ts';
import {
  machine,
  makeCertificates,
  report,
  startChild,
  stopChild,
  temporaryFolder,
} from './lib/processes.ts';

const inFlight = 32;
const rounds = 4;
const limit = 1.15;

type Figures = { [name: string]: { bare: number; ours: number } };

if (process.argv[2] === 'loop') await loop(Number(process.argv[3]), Number(process.argv[4]));
else await main();

async function main(): Promise<void> {
  const folder = temporaryFolder();
  const certificates = makeCertificates(folder);
  const targets = await startChild<{ http: number; https: number }>(
    join(import.meta.dirname, 'lib', 'targets-process.js'),
    [certificates.cert, certificates.key],
  );
  try {
    const ports = [String(targets.hello.http), String(targets.hello.https)];
    const { child, hello } = await startChild<Figures>(import.meta.filename, ['loop', ...ports], {
      NODE_EXTRA_CA_CERTS: certificates.ca,
    });
    await stopChild(child);
    console.log(`CPU per probe, best of ${rounds} rounds, ${inFlight} in flight, ${machine}\n`);
    console.log('        executor  bare undici   ratio   limit');
    let worst = { name: '', ours: 0, peer: 0, ratio: 0 };
    for (const [name, { ours, bare }] of Object.entries(hello)) {
      const ratio = ours / bare;
      console.log(
        `${name.padEnd(6)} ${ours.toFixed(3).padStart(6)} ms    ${bare.toFixed(3).padStart(6)} ms ${ratio.toFixed(2).padStart(7)} ${limit.toFixed(2).padStart(7)}`,
      );
      if (ratio > worst.ratio) worst = { name, ours, peer: bare, ratio };
    }
    report({ ...worst, name: `http (${worst.name})`, unit: 'ms CPU per probe', limit });
  } finally {
    await stopChild(targets.child);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs in a separate process, which trusts the targets' certificate authority from its start. */
async function loop(httpPort: number, httpsPort: number): Promise<void> {
  const context: ExecutionContext = {
    signal: new AbortController().signal,
    log: () => undefined,
    ...withoutScripts,
    network: createNetwork({ useOsDnsResolver: false }),
    now: Date.now,
  };
  const shared = createSecureContext();
  const figures: Figures = {};
  for (const [name, port, count] of [
    ['http', httpPort, 6000],
    ['https', httpsPort, 2000],
  ] as const) {
    const job = jobFor(`${name}://${name === 'http' ? '127.0.0.1' : 'localhost'}:${port}/`);
    const ours = async () => {
      // As in the agent: one signal per attempt.
      const outcome = await executeUrl(job, { ...context, signal: new AbortController().signal });
      if (!outcome.base.ok) throw new Error(outcome.base.reason.message);
    };
    const bare = () => bareProbe(name === 'https' ? shared : null, port);
    const best = { bare: Number.POSITIVE_INFINITY, ours: Number.POSITIVE_INFINITY };
    await cpuPerProbe(bare, count / 4);
    await cpuPerProbe(ours, count / 4);
    for (let round = 0; round < rounds; round++) {
      best.bare = Math.min(best.bare, await cpuPerProbe(bare, count));
      best.ours = Math.min(best.ours, await cpuPerProbe(ours, count));
    }
    figures[name] = best;
  }
  console.log(JSON.stringify(figures));
}

/** CPU milliseconds per probe. */
async function cpuPerProbe(probe: () => Promise<void>, count: number): Promise<number> {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await probe();
  };
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: inFlight }, lane));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / count;
}

/** The least that undici costs: one Client, one request, no phases, no TLS facts. */
function bareProbe(
  secureContext: ReturnType<typeof createSecureContext> | null,
  port: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const client = new Client(`${secureContext === null ? 'http' : 'https'}://localhost:${port}`, {
      connect: (_options, callback) => {
        const socket =
          secureContext === null
            ? connect({ host: '127.0.0.1', port, noDelay: true })
            : connectTls({ host: '127.0.0.1', port, servername: 'localhost', secureContext });
        socket.once('error', reject);
        socket.once(secureContext === null ? 'connect' : 'secureConnect', () => callback(null, socket));
      },
    });
    client.dispatch(
      { path: '/', method: 'GET', headers: { accept: '*/*' }, reset: true },
      {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}

function jobFor(url: string): JobOf<'URL'> {
  const id = '00000000-0000-7000-8000-000000000000';
  return {
    jobId: id,
    runId: id,
    sequenceId: id,
    checkId: id,
    checkName: 'bench',
    leaseToken: id,
    lane: 'uptime',
    runLocation: 'bench',
    runSource: 'SCHEDULER',
    dueAt: '2026-01-01T00:00:00Z',
    attempt: 1,
    firstAttemptAt: null,
    leaseExpiresAt: '2026-01-01T00:00:30Z',
    deadline: '2026-01-01T00:01:00Z',
    shouldFail: false,
    degradedResponseTime: null,
    maxResponseTime: null,
    retryStrategy: null,
    environmentVariables: [],
    proxyUrl: null,
    checkType: 'URL',
    request: { method: 'GET', url, followRedirects: true, skipSSL: false, ipFamily: 'IPv4', assertions: [] },
  };
}
