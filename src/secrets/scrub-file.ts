import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Worker } from 'node:worker_threads';
import type { ScrubAnswer, ScrubbedFile, ScrubFileTask } from './scrub-file-here.ts';
import { createScrubber, scrubChunkBytes, type NamedSecret } from './scrubber.ts';

// Beside this file, with this file's ending: .js in a build, .ts where sources run as they are.
const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
const workerUrl = new URL(`./scrub-worker${ending}`, import.meta.url);
// Threads load .ts only where Node itself strips types; a test runner's loader does not reach into them.
const workerLoads = ending === '.js' || 'typescript' in process.features;

const maxHeapMegabytes = 64;
const idleMs = 10_000;

// One file after the other: more threads at once would take memory and the processors from what is being measured.
let turn: Promise<unknown> = Promise.resolve();

/**
 * Writes `source` to `target` with all `secrets` masked, on a thread of its own and of low priority, one file at a time.
 * `target` appears when it is complete (mode 0600), and may be `source` itself. Rejects with the signal's reason, or with
 * what the file system said; then `target` is as it was.
 */
export async function scrubFile(
  source: string,
  target: string,
  secrets: readonly NamedSecret[],
  { signal }: { signal?: AbortSignal } = {},
): Promise<ScrubbedFile> {
  const mine = turn.then(() => scrubInTurn(source, target, secrets, signal));
  turn = mine.catch(() => undefined);
  return mine;
}

async function scrubInTurn(
  source: string,
  target: string,
  secrets: readonly NamedSecret[],
  signal: AbortSignal | undefined,
): Promise<ScrubbedFile> {
  signal?.throwIfAborted();
  const part = `${target}.${randomUUID()}.part`;
  const task: ScrubFileTask = {
    source,
    target: part,
    secrets: secrets.map(({ name, value }) => ({ name, value })),
  };
  try {
    const scrubbed = workerLoads ? await scrubInThread(task, signal) : await scrubAsStream(task, signal);
    await rename(part, target);
    return scrubbed;
  } catch (error) {
    await rm(part, { force: true });
    signal?.throwIfAborted();
    throw error;
  }
}

/** The thread that scrubs, kept for the next file; it ends after a while without work, for it holds memory. */
let thread: Worker | null = null;
let idleTimer: NodeJS.Timeout | undefined;

function runningThread(): Worker {
  clearTimeout(idleTimer);
  thread ??= new Worker(workerUrl, {
    name: 'scrub',
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes, maxYoungGenerationSizeMb: 8 },
  });
  thread.ref();
  return thread;
}

function endThread(): void {
  void thread?.terminate();
  thread = null;
}

async function scrubInThread(task: ScrubFileTask, signal: AbortSignal | undefined): Promise<ScrubbedFile> {
  const worker = runningThread();
  const { promise, resolve, reject } = withResolvers<ScrubbedFile>();
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

async function scrubAsStream(task: ScrubFileTask, signal: AbortSignal | undefined): Promise<ScrubbedFile> {
  const scrubber = createScrubber(task.secrets);
  const input = createReadStream(task.source, { highWaterMark: scrubChunkBytes });
  const output = createWriteStream(task.target, { flags: 'wx', mode: 0o600 });
  await pipeline(input, scrubber.stream(), output, signal === undefined ? {} : { signal });
  return {
    bytesIn: input.bytesRead,
    bytesOut: (await stat(task.target)).size,
    maskedCount: scrubber.maskedCount,
  };
}
