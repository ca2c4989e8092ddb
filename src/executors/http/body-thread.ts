import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { AgentError, JobAborted, toError } from '../../errors.ts';
import type { Assertion, AssertionResult } from '../../protocol/assertions.ts';
import type { AssertedBody } from './body-sources.ts';

/**
 * Threads that evaluate assertions on large bodies. On the main thread such work would delay every measurement of the
 * agent: parsing 25 MB of JSON takes half a second, and each JSONPath looks at all of it.
 */

/** What a thread gets. */
export type BodyTask = { assertions: readonly Assertion[]; body: AssertedBody };
/** What it answers: first the kernel's id of the thread (null = unknown), then the results in order. */
export type BodyAnswer = { threadId: string | null } | { results: AssertionResult[] };

export type BodyThreadLimits = {
  /** Processor time of one task, in milliseconds. A thread that does not get any is not the check's fault. */
  timeMs: number;
  /** How often the processor time is read. */
  lookMs: number;
  /** Maximum number of threads; further tasks wait. */
  threads: number;
  heapMegabytes: number;
  /** A thread without work is ended after this time, in milliseconds, because it holds memory. */
  idleMs: number;
};

const usual: BodyThreadLimits = {
  timeMs: 10_000,
  lookMs: 250,
  threads: 2,
  heapMegabytes: 768,
  idleMs: 10_000,
};

// In the same folder, with the same ending: .js in a build, .ts if the sources run uncompiled.
const ending = new URL(import.meta.url).pathname.endsWith('.js') ? '.js' : '.ts';
const workerUrl = new URL(`./body-worker${ending}`, import.meta.url);

/** Threads load .ts only if Node itself strips types; a test runner's loader does not apply to them. */
export const bodyThreadLoads = ending === '.js' || 'typescript' in process.features;

export type BodyThreads = {
  /**
   * Results of the assertions, in order. If they take too long or too much memory, each has this as its error. Rejects
   * with the signal's reason. If that is the deadline, it rejects with AgentError AGENT_OVERLOADED, because the target
   * has answered by then.
   */
  evaluate: (task: BodyTask, signal: AbortSignal) => Promise<AssertionResult[]>;
};

export function createBodyThreads(limits: BodyThreadLimits = usual): BodyThreads {
  const idle: { worker: Worker; timer: NodeJS.Timeout }[] = [];
  const waiting: (() => void)[] = [];
  let busy = 0;

  const overdue = () =>
    new AgentError(
      'AGENT_OVERLOADED',
      'the deadline passed while the assertions waited for a free thread (docs/guards.md)',
    );
  const freeSlot = (signal: AbortSignal): Promise<void> => {
    if (busy < limits.threads) {
      busy += 1;
      return Promise.resolve();
    }
    if (signal.aborted) return Promise.reject(overdue());
    return new Promise((resolve, reject) => {
      const take = () => {
        signal.removeEventListener('abort', leave);
        resolve(); // the slot stays busy
      };
      const leave = () => {
        waiting.splice(waiting.indexOf(take), 1);
        reject(overdue());
      };
      signal.addEventListener('abort', leave, { once: true });
      waiting.push(take);
    });
  };
  const releaseSlot = () => {
    const next = waiting.shift();
    if (next === undefined) busy -= 1;
    else next();
  };
  const startedWorker = (): Worker => {
    const known = idle.pop();
    if (known !== undefined) clearTimeout(known.timer);
    const worker =
      known?.worker ??
      new Worker(workerUrl, {
        name: 'assertions',
        env: {},
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: limits.heapMegabytes },
      });
    // An error after the end of a task has nobody to tell.
    if (known === undefined) worker.on('error', () => undefined);
    worker.ref();
    return worker;
  };
  const keep = (worker: Worker) => {
    const entry = {
      worker,
      timer: setTimeout(() => {
        idle.splice(idle.indexOf(entry), 1);
        void worker.terminate();
      }, limits.idleMs).unref(),
    };
    // A thread without work must not keep the process alive.
    worker.unref();
    idle.push(entry);
  };

  const run = (task: BodyTask, signal: AbortSignal): Promise<AssertionResult[]> =>
    new Promise((resolve, reject) => {
      const worker = startedWorker();
      let spentMs: (() => number) | null = null;
      const settle = (isReusable: boolean) => {
        clearInterval(timer);
        signal.removeEventListener('abort', abort);
        worker.off('message', hear).off('error', fail).off('exit', exit);
        if (isReusable) keep(worker);
        else void worker.terminate();
      };
      const give = (why: string) => {
        settle(false);
        resolve(task.assertions.map((assertion) => unevaluated(assertion, why)));
      };
      const megabytes = (task.body.bytes.byteLength / 1024 ** 2).toFixed(1);
      const subject = `the assertions on a body of ${megabytes} MB`;
      const abort = () => {
        settle(false);
        const isLate = signal.reason instanceof JobAborted && signal.reason.code === 'deadline';
        const text = `${subject} had no result before the deadline, and less than ${limits.timeMs / 1000} s of processor time (docs/guards.md)`;
        reject(isLate ? new AgentError('AGENT_OVERLOADED', text) : toError(signal.reason));
      };
      const timer = setInterval(() => {
        if (spentMs !== null && spentMs() >= limits.timeMs)
          give(`${subject} took longer than ${limits.timeMs / 1000} s and were stopped`);
      }, limits.lookMs);
      signal.addEventListener('abort', abort, { once: true });
      const hear = (message: BodyAnswer) => {
        if ('threadId' in message) {
          spentMs = processorTimeOf(message.threadId);
          return;
        }
        settle(true);
        resolve(message.results);
      };
      const fail = (error: Error) => {
        if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY')
          return give(`${subject} need more than ${limits.heapMegabytes} MB of memory`);
        settle(false);
        reject(new AgentError('INTERNAL', `the thread of assertions failed: ${error.message}`));
      };
      const exit = (code: number) => {
        settle(false);
        reject(new AgentError('INTERNAL', `the thread of assertions exited with code ${code}`));
      };
      worker.on('message', hear).on('error', fail).on('exit', exit);
      worker.postMessage(task);
    });

  return {
    evaluate: async (task, signal) => {
      await freeSlot(signal);
      try {
        signal.throwIfAborted();
        return await run(task, signal);
      } finally {
        releaseSlot();
      }
    },
  };
}

function unevaluated(
  { source, property, comparison, target, regex }: Assertion,
  error: string,
): AssertionResult {
  return { source, property, comparison, target, regex, actual: null, error };
}

/** Reads the processor time since now of one thread, in milliseconds; elapsed time where the kernel does not tell. */
function processorTimeOf(threadId: string | null): () => number {
  const file = `/proc/self/task/${threadId}/schedstat`;
  const read = (): number | null => {
    try {
      return Number.parseInt(readFileSync(file, 'latin1'), 10) / 1e6;
    } catch {
      return null;
    }
  };
  const began = threadId === null ? null : read();
  const beganAt = performance.now();
  return () => (began === null ? performance.now() - beganAt : (read() ?? began) - began);
}
