/**
 * A simulated agent for bench/service-results.ts, which starts it as a separate process. It claims jobs while it has free slots and
 * reports a result for each, in batches, with two result requests in flight.
 */
import { Agent, request } from 'undici';

const url = process.env['URL'] ?? '';
const key = process.env['KEY'] ?? '';
const runMs = Number(process.env['SECONDS']) * 1000;
const batch = 250;
const senders = 2;
const dispatcher = new Agent({ connections: 4, pipelining: 1 });

type ClaimedJob = {
  jobId: string;
  leaseToken: string;
  sequenceId: string;
  checkId: string;
  runLocation: string;
  attempt: number;
};

let bytes = 0;
async function call(path: string, body: unknown): Promise<unknown> {
  const text = JSON.stringify(body);
  if (path === 'results') bytes += text.length;
  const answer = await request(`${url}/agent/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: text,
    dispatcher,
  });
  if (answer.statusCode === 204) return null;
  const json: unknown = await answer.body.json();
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${JSON.stringify(json)}`);
  return json;
}

/** A URL check's result like the agent's: certificate, headers, phases. */
function resultOf(job: ClaimedJob): object {
  const startedAt = Date.now();
  const headers = Object.fromEntries(
    Array.from({ length: 12 }, (_, n) => [`x-header-${n}`, `value ${startedAt} of header ${n}`]),
  );
  return {
    jobId: job.jobId,
    leaseToken: job.leaseToken,
    attempt: job.attempt,
    sequenceId: job.sequenceId,
    checkId: job.checkId,
    checkType: 'URL',
    resultType: 'FINAL',
    status: 'passed',
    hasFailures: false,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime: 40 + (startedAt % 50),
    startedAt: new Date(startedAt - 100).toISOString(),
    stoppedAt: new Date(startedAt).toISOString(),
    runLocation: job.runLocation,
    attempts: 0,
    reason: null,
    assertions: [
      {
        source: 'STATUS_CODE',
        property: '',
        comparison: 'EQUALS',
        target: '200',
        regex: null,
        actual: '200',
        error: null,
      },
    ],
    timings: {
      dns: 1.2,
      connect: 10.5,
      tls: 22.1,
      firstByte: 31.4,
      download: 2.2,
      remainder: 0.4,
      total: 67.8,
    },
    details: {
      request: { method: 'GET', url: 'https://shop.example.com/api/v1/health?full=1' },
      response: { status: 200, statusText: 'OK', headers, bodyBytes: 1532 },
      addresses: [{ address: '10.1.2.3', family: 4 }],
      certificate: {
        subject: 'shop.example.com',
        issuer: 'Example CA',
        daysRemaining: 61,
        protocol: 'TLSv1.3',
        cipher: 'TLS_AES_128_GCM_SHA256',
      },
    },
    artifacts: [],
    log: [],
    agentVersion: '1.0.0',
  };
}

const { agentId } = (await call('hello', {
  instanceId: '0198c0de-0000-7000-8000-000000000001',
  version: '1.0.0',
  protocolMinor: 1,
  host: {
    hostname: 'bench',
    platform: 'linux',
    arch: 'x64',
    nodeVersion: process.version,
    cores: 2,
    memoryBytes: 1,
  },
  checkTypes: ['URL'],
  runtimes: [],
  lanes: { uptime: 500 },
})) as { agentId: string };

const started = performance.now();
const over = () => performance.now() - started > runMs;
const queue: ClaimedJob[] = [];
let claimed = 0;
let stored = 0;
let done = false;

async function claims(): Promise<void> {
  while (!over()) {
    if (queue.length > 2 * batch) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      continue;
    }
    const answer = (await call('jobs/claim', { agentId, free: { uptime: 500 }, waitSeconds: 1 })) as {
      jobs: ClaimedJob[];
    } | null;
    if (answer === null) break;
    claimed += answer.jobs.length;
    queue.push(...answer.jobs);
  }
  done = true;
}

async function reports(): Promise<void> {
  while (!done || queue.length > 0) {
    const jobs = queue.splice(0, batch);
    if (jobs.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      continue;
    }
    const { items } = (await call('results', { agentId, results: jobs.map(resultOf) })) as {
      items: { outcome: string }[];
    };
    stored += items.filter(({ outcome }) => outcome === 'stored').length;
  }
}

await Promise.all([claims(), ...Array.from({ length: senders }, reports)]);
process.send?.({ stored, claimed, bytes, seconds: (performance.now() - started) / 1000 });
await dispatcher.close();
process.disconnect?.();
