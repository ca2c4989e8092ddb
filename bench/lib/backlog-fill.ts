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
import { urlResult } from './url-result.ts';

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

let number = 0;
let waiting: Promise<void>[] = [];
for await (const line of createInterface({ input: createReadStream(jobs) })) {
  const job = JSON.parse(line) as BacklogJob; // written by the benchmark
  const result = urlResult(
    {
      jobId: job.id,
      leaseToken: job.token,
      attempt: 1,
      sequenceId: job.runId,
      checkId: job.checkId,
      runLocation: job.location,
    },
    // The response time is the place in the order.
    { responseTime: number, startedAt: job.at, stoppedAt: job.at + 70, headerText: 'value' },
  );
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
