import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Worker } from 'node:worker_threads';
import type { ScrubbedFile, ScrubFileTask } from './scrub-file-here.ts';
import { createScrubber, scrubChunkBytes, type NamedSecret } from './scrubber.ts';

// Beside this file, with this file's ending: .js in a build, .ts where sources run as they are.
const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
const workerUrl = new URL(`./scrub-worker${ending}`, import.meta.url);
// Threads load .ts only where Node itself strips types; a test runner's loader does not reach into them.
const workerLoads = ending === '.js' || 'typescript' in process.features;

const maxHeapMegabytes = 64;

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

async function scrubInThread(task: ScrubFileTask, signal: AbortSignal | undefined): Promise<ScrubbedFile> {
  const worker = new Worker(workerUrl, {
    name: 'scrub',
    workerData: task,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes, maxYoungGenerationSizeMb: 8 },
  });
  const stop = (): void => void worker.terminate();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await new Promise<ScrubbedFile>((resolve, reject) => {
      let scrubbed: ScrubbedFile | null = null;
      worker.once('message', (message: ScrubbedFile) => {
        scrubbed = message;
      });
      worker.once('error', reject);
      worker.once('exit', (code) => {
        if (scrubbed !== null) resolve(scrubbed);
        else reject(new Error(`the scrubbing thread ended with code ${code}`));
      });
    });
  } finally {
    signal?.removeEventListener('abort', stop);
  }
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
