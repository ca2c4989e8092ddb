import { Worker } from 'node:worker_threads';
import type {
  ScrubAnswer,
  ScrubbedArtifact,
  ScrubbedFile,
  ScrubArtifactTask,
  ScrubFileTask,
} from './scrub-task.ts';

/** The one thread that scrubs files and artifacts, one after the other. */

// Beside this file, with this file's ending: .js in a build, .ts where sources run as they are.
const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
const workerUrl = new URL(`./scrub-worker${ending}`, import.meta.url);

/** Threads load .ts only where Node itself strips types; a test runner's loader does not reach into them. */
export const threadLoads = ending === '.js' || 'typescript' in process.features;

const maxHeapMegabytes = 96;
// What dies young, as most does here, then dies soon: a larger room for it would only be filled.
const youngMegabytes = 3;
const idleMs = 10_000;

// More threads at once would take memory and the processors from what is being measured.
let turn: Promise<unknown> = Promise.resolve();

/** Calls `work` when all earlier callers' work has ended. */
export async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const mine = turn.then(work);
  turn = mine.catch(() => undefined);
  return mine;
}

/** The thread, kept for the next task; it ends after a while without work, for it holds memory. */
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
 * What the thread makes of `task`; call it within `inTurn`. Rejects with what the file system or the scrubbing said, or
 * when the thread ends; an abort ends it at once, so that whatever it had begun stays behind in the target and the folder.
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
    reject(why instanceof Error ? why : new Error(`the scrubbing thread ended with code ${String(why)}`));
  };
  worker.on('message', hear).on('error', ended).on('exit', ended);
  signal?.addEventListener('abort', endThread, { once: true });
  try {
    worker.postMessage(task);
    return await promise;
  } finally {
    signal?.removeEventListener('abort', endThread);
    worker.off('message', hear).off('error', ended).off('exit', ended);
    // Nothing waits for a thread that has nothing to do.
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
