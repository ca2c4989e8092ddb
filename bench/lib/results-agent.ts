/**
 * A simulated agent for bench/service-results.ts, which starts it as a separate process. It claims jobs while it has free slots and
 * reports a result for each, in batches, with two result requests in flight.
 */
import { Agent, request } from 'undici';
import { urlResult } from './url-result.ts';

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
  const certificate = {
    subject: 'shop.example.com',
    issuer: 'Example CA',
    daysRemaining: 61,
    protocol: 'TLSv1.3',
    cipher: 'TLS_AES_128_GCM_SHA256',
  };
  return urlResult(job, {
    responseTime: 40 + (startedAt % 50),
    startedAt: startedAt - 100,
    stoppedAt: startedAt,
    headerText: `value ${startedAt}`,
    details: { certificate },
  });
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
