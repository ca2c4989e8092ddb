import { parentPort, workerData } from 'node:worker_threads';
import { createCoverage } from './coverage.ts';
import { keptInputs, keepInput } from './kept.ts';
import { runLoop } from './loop.ts';
import { defaultMaxMs, type Target } from './target.ts';

/** The thread that runs one target. Its current input is in memory that the main thread sees (run.ts). */

export type WorkerTask = {
  /** The bundle of the target. */
  module: string;
  seed: number;
  seconds: number;
  /** Whether only the input in the memory is run. */
  replay: boolean;
  /** The folder of inputs that reached new code; null = they are not kept. */
  corpus: string | null;
  shared: SharedArrayBuffer;
};

export type WorkerReport =
  | { kind: 'progress'; executions: number }
  | { kind: 'slow'; ms: number; input: Uint8Array }
  | {
      kind: 'end';
      executions: number;
      corpus: number;
      blocks: number;
      seedBlocks: number;
      slowestMs: number;
      failure: { input: Uint8Array; error: string } | null;
    };

const task = workerData as WorkerTask; // of run.ts
const words = new Int32Array(task.shared, 0, 2);
const bytes = new Uint8Array(task.shared, 8);
const report = (message: WorkerReport): void => parentPort?.postMessage(message);
/** Milliseconds since `start`: processor time, so that a busy machine makes no input slow, or a fifth of a long wait. */
const spentMs = (start: { wall: number; cpu: NodeJS.CpuUsage }): number => {
  const { user, system } = process.cpuUsage(start.cpu);
  return Math.max((user + system) / 1000, (performance.now() - start.wall) / 5);
};
const now = () => ({ wall: performance.now(), cpu: process.cpuUsage() });
const failureText = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : `thrown: ${String(error)}`;

const target = (await import(task.module)) as Target; // built from a file of test/fuzz/targets
if (task.replay) {
  const input = Buffer.from(bytes.slice(0, words[1]));
  const start = now();
  let failure: { input: Uint8Array; error: string } | null = null;
  try {
    await target.run(input);
  } catch (error) {
    failure = { input, error: failureText(error) };
  }
  const slowestMs = spentMs(start);
  if (slowestMs > (target.maxMs ?? defaultMaxMs)) report({ kind: 'slow', ms: slowestMs, input });
  report({ kind: 'end', executions: 1, corpus: 0, blocks: 0, seedBlocks: 0, slowestMs, failure });
} else {
  const coverage = createCoverage(
    // Our own code and the parsers of libraries, without the fuzzer and what Node brings along.
    (url) => url.startsWith('file:') && !url.includes('/build/fuzz/worker'),
  );
  const until = performance.now() + task.seconds * 1000;
  const maxMs = target.maxMs ?? defaultMaxMs;
  const { corpus } = task;
  let start = now();
  let slowestMs = 0;
  let reportedAt = 0;
  const end = await runLoop(target, {
    seed: task.seed,
    coverage,
    ...(corpus === null
      ? {}
      : { kept: keptInputs(corpus), onNew: (input: Buffer) => keepInput(corpus, input) }),
    goesOn: (executions) => {
      const at = performance.now();
      if (at - reportedAt > 1000) {
        reportedAt = at;
        report({ kind: 'progress', executions });
      }
      return at < until;
    },
    onInput: (input) => {
      bytes.set(input);
      words[1] = input.length;
      Atomics.add(words, 0, 1);
      start = now();
    },
    onDone: (input) => {
      const ms = spentMs(start);
      if (ms > slowestMs) {
        slowestMs = ms;
        if (ms > maxMs) report({ kind: 'slow', ms, input: new Uint8Array(input) });
      }
    },
  });
  const { executions, blocks, seedBlocks, failure } = end;
  report({
    kind: 'end',
    executions,
    corpus: end.corpus,
    blocks,
    seedBlocks,
    slowestMs,
    failure: failure === null ? null : { input: failure.input, error: failureText(failure.error) },
  });
}
await target.close?.();
