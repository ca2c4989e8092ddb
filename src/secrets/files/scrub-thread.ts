import { Worker } from 'node:worker_threads';
import type {
  ScrubAnswer,
  ScrubbedArtifact,
  ScrubbedFile,
  ScrubArtifactTask,
  ScrubFileTask,
} from './scrub-task.ts';

/** The thread that scrubs files and artifacts, one after the other. */

// In the same folder, with the same ending: .js in a build, .ts if the sources run uncompiled.
const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
const workerUrl = new URL(`./scrub-worker${ending}`, import.meta.url);

/** Threads load .ts only if Node itself strips types; a test runner's loader does not apply to them. */
export const threadLoads = ending === '.js' || 'typescript' in process.features;

const maxHeapMegabytes = 192;
// Most objects here are short-lived, so a small young generation frees them soon; a larger one would only fill up.
const youngMegabytes = 3;
const idleMs = 10_000;

// More concurrent threads would take memory and processor time from the measurements.
let turn: Promise<unknown> = Promise.resolve();

/** Calls `work` when the work of all earlier callers has finished. */
export async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const mine = turn.then(work);
  turn = mine.catch(() => undefined);
  return mine;
}

/** The thread, kept for the next task. It exits after a while without work, because it holds memory. */
let thread: Worker | null = null;
let idleTimer: NodeJS.Timeout | undefined;

function runningThread(): Worker {
  clearTimeout(idleTimer);
  thread ??= new Worker(workerUrl, {
    name: 'scrub',
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes, maxYoungGenerationSizeMb: youngMegabytes },
  });
  thread.ref();
  return thread;
}

function endThread(): void {
  void thread?.terminate();
  thread = null;
}

/**
 * Resolves with the thread's result for `task`; call it within `inTurn`. Rejects with errors of the file system or of
 * the scrubbing, or if the thread exits. An abort kills the thread at once, so partial output remains in the target and
 * the folder.
 */
export async function runOnThread(
  task: ScrubFileTask,
  signal: AbortSignal | undefined,
): Promise<ScrubbedFile>;
export async function runOnThread(
  task: ScrubArtifactTask,
  signal: AbortSignal | undefined,
): Promise<ScrubbedArtifact>;
export async function runOnThread(
  task: ScrubFileTask | ScrubArtifactTask,
  signal: AbortSignal | undefined,
): Promise<ScrubbedFile | ScrubbedArtifact> {
  const worker = runningThread();
  const { promise, resolve, reject } = withResolvers<ScrubbedFile | ScrubbedArtifact>();
  const hear = (answer: ScrubAnswer): void => {
    if ('scrubbed' in answer) resolve(answer.scrubbed);
    else reject(Object.assign(new Error(answer.error.message), answer.error));
  };
  const ended = (why: unknown): void => {
    if (thread === worker) thread = null;
    reject(why instanceof Error ? why : new Error(`the scrubbing thread exited with code ${String(why)}`));
  };
  worker.on('message', hear).on('error', ended).on('exit', ended);
  signal?.addEventListener('abort', endThread, { once: true });
  try {
    worker.postMessage(task);
    return await promise;
  } finally {
    signal?.removeEventListener('abort', endThread);
    worker.off('message', hear).off('error', ended).off('exit', ended);
    // A thread without work must not keep the process alive.
    worker.unref();
    idleTimer = setTimeout(endThread, idleMs).unref();
  }
}

function withResolvers<T>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (reason: Error) => void;
} {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: Error) => void = () => undefined;
  const promise = new Promise<T>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}
