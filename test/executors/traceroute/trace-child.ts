/** Runs in a network namespace of its own (trace-lab.ts): one JSON list of orders in, one of answers out. */
import { execSync } from 'node:child_process';
import { JobAborted, toError, AgentError } from '../../../src/errors.ts';
import { traceroute, type TraceTarget } from '../../../src/executors/evidence/traceroute.ts';
import { createNetwork } from '../../../src/executors/system-network.ts';
import { executeTraceroute } from '../../../src/executors/traceroute.ts';
import { withoutScripts } from '../../../src/executors/without-scripts.ts';
import type { JobOf } from '../../../src/protocol/job.ts';

export type Order =
  /** `abortAfterMs`: the attempt's deadline passes then. */
  | { kind: 'job'; job: JobOf<'TRACEROUTE'>; abortAfterMs?: number }
  /** The trace that is made as evidence. */
  | { kind: 'evidence'; target: TraceTarget }
  | { kind: 'shell'; command: string };

const network = createNetwork({ useOsDnsResolver: false });

async function carryOut(order: Order): Promise<unknown> {
  if (order.kind === 'shell') return execSync(order.command, { encoding: 'utf8', stdio: 'pipe' });
  const signal = new AbortController();
  if (order.kind === 'evidence') return traceroute(order.target, { signal: signal.signal, now: Date.now });
  const { job, abortAfterMs } = order;
  const timer =
    abortAfterMs === undefined
      ? undefined
      : setTimeout(() => signal.abort(new JobAborted('deadline')), abortAfterMs);
  const context = { ...withoutScripts, signal: signal.signal, network, log: () => undefined, now: Date.now };
  return executeTraceroute(job, context).finally(() => clearTimeout(timer));
}

// Steps follow each other; the orders of one step run at once.
const steps = JSON.parse(process.argv[2] ?? '[]') as Order[][]; // what trace-lab.ts wrote
const answers: unknown[] = [];
for (const step of steps) {
  const found = step.map((order) =>
    carryOut(order).catch((error: unknown) => ({
      error: toError(error).message,
      code: error instanceof AgentError ? error.code : null,
    })),
  );
  answers.push(...(await Promise.all(found)));
}
network.close();
process.stdout.write(JSON.stringify(answers));
