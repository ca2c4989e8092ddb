/**
 * Fills the outbox of an agent that is then gone, for bench/backlog.ts: one URL result per line of the jobs file, in its
 * order. Arguments: the outbox's folder, the jobs file (JSON lines). Prints the bytes on disk.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createMetrics } from '../../src/agent/metrics/counters.ts';
import { outboxLimits } from '../../src/agent/outbox/options.ts';
import { Outbox } from '../../src/agent/outbox/outbox.ts';
import { createLog } from '../../src/log.ts';

type BacklogJob = { id: string; token: string; checkId: string; runId: string; at: number; location: string };

const [, , folder = '', jobs = ''] = process.argv;
const outbox = await Outbox.open({
  folder,
  instanceId: 'backlog-of-an-agent',
  log: createLog({ level: 'WARN', scrub: (line) => line }),
  metrics: createMetrics(),
  fault: (error) => {
    throw error;
  },
  now: Date.now,
  limits: outboxLimits,
});

const headers = Object.fromEntries(
  Array.from({ length: 12 }, (_, n) => [`x-header-${n}`, `value of header ${n}`]),
);
let number = 0;
let waiting: Promise<void>[] = [];
for await (const line of createInterface({ input: createReadStream(jobs) })) {
  const job = JSON.parse(line) as BacklogJob; // written by the benchmark
  const result = {
    jobId: job.id,
    leaseToken: job.token,
    attempt: 1,
    sequenceId: job.runId,
    checkId: job.checkId,
    checkType: 'URL',
    resultType: 'FINAL',
    status: 'passed',
    hasFailures: false,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    // The place in the order.
    responseTime: number,
    startedAt: new Date(job.at).toISOString(),
    stoppedAt: new Date(job.at + 70).toISOString(),
    runLocation: job.location,
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
    },
    artifacts: [],
    log: [],
    agentVersion: '1.0.0',
  };
  waiting.push(outbox.add(JSON.stringify(result)));
  number += 1;
  if (waiting.length >= 1000) {
    await Promise.all(waiting);
    waiting = [];
  }
}
await Promise.all(waiting);
const { diskBytes, diskResults } = outbox.status();
await outbox.close();
console.log(JSON.stringify({ bytes: diskBytes, results: diskResults }));
