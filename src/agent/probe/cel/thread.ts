import { Worker } from 'node:worker_threads';
import { toError } from '../../../errors.ts';

/** The thread for expressions that may take long: on the main thread, they would delay every measurement. */

/** What the thread gets. Null = there is no such expression. */
export type CelTask = { matches: string | null; notMatches: string | null; body: Uint8Array };
/** What it answers: why the probe fails. */
export type CelAnswer = { failure: string | null };

export type CelThreadLimits = {
  /** Time of one body, in milliseconds. */
  timeMs: number;
  heapMegabytes: number;
  /** The thread is ended after this time without work, in milliseconds, because it holds memory. */
  idleMs: number;
};

// Probes usually come once or more in a minute.
const usual: CelThreadLimits = { timeMs: 2000, heapMegabytes: 256, idleMs: 90_000 };

// In the same folder, with the same ending: .js in a build, .ts if the sources run uncompiled.
const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
const workerUrl = new URL(`./worker${ending}`, import.meta.url);

/** Threads load .ts only if Node itself strips types. */
export const celThreadLoads = ending === '.js' || 'typescript' in process.features;

export type CelThread = {
  /** Why the probe fails; null = it does not. One body after the other. Rejects with the signal's reason. */
  failure: (task: CelTask, signal: AbortSignal) => Promise<string | null>;
};

export function createCelThread(limits: CelThreadLimits = usual): CelThread {
  let worker: Worker | null = null;
  let idle: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const started = (): Worker => {
    clearTimeout(idle);
    if (worker === null) {
      worker = new Worker(workerUrl, {
        name: 'cel',
        env: {},
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: limits.heapMegabytes },
      });
      // An error after the end of a task has nobody to tell.
      worker.on('error', () => undefined);
    }
    worker.ref();
    return worker;
  };
  const end = () => {
    void worker?.terminate();
    worker = null;
  };
  const run = (task: CelTask, signal: AbortSignal): Promise<string | null> =>
    new Promise((resolve) => {
      let thread: Worker;
      try {
        thread = started();
      } catch (error: unknown) {
        // The host allows no more threads.
        return resolve(`the thread of expressions cannot start: ${toError(error).message}`);
      }
      const settle = (failure: string | null, isReusable: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        thread.off('message', hear).off('error', fail).off('exit', exit);
        if (isReusable) {
          // A thread without work must not keep the process alive.
          thread.unref();
          idle = setTimeout(end, limits.idleMs).unref();
        } else end();
        resolve(failure);
      };
      const stop = () => settle('the probe ended before its expression', false);
      const late = () => settle(`the expression took longer than ${limits.timeMs} ms and was stopped`, false);
      const timer = setTimeout(late, limits.timeMs);
      const hear = ({ failure }: CelAnswer) => settle(failure, true);
      const fail = (error: Error) =>
        settle(
          'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
            ? `the expression needs more than ${limits.heapMegabytes} MB of memory`
            : `the thread of expressions failed: ${error.message}`,
          false,
        );
      const exit = () => settle('the thread of expressions exited', false);
      signal.addEventListener('abort', stop, { once: true });
      thread.on('message', hear).on('error', fail).on('exit', exit);
      thread.postMessage(task);
    });

  return {
    failure: (task, signal) => {
      const turn = last.then(() => {
        signal.throwIfAborted();
        return run(task, signal);
      });
      last = turn.catch(() => undefined);
      // Whoever waits leaves at once.
      return new Promise((resolve, reject) => {
        const leave = () => reject(toError(signal.reason));
        signal.addEventListener('abort', leave, { once: true });
        void turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
      });
    },
  };
}
