import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { ScrubbedFile, ScrubFileTask } from './scrub-task.ts';
import { inTurn, runOnThread, threadLoads } from './scrub-thread.ts';
import { createScrubber, scrubChunkBytes, type NamedSecret } from '../scrubber/scrubber.ts';

/**
 * Writes `source` to `target` with all `secrets` masked, on a separate thread of low priority, one file at a time.
 * `target` appears when it is complete (mode 0600), and may be `source` itself. Rejects with the signal's reason or
 * with errors of the file system; `target` is then unchanged.
 */
export async function scrubFile(
  source: string,
  target: string,
  secrets: readonly NamedSecret[],
  { signal }: { signal?: AbortSignal } = {},
): Promise<ScrubbedFile> {
  return inTurn(() => scrubNow(source, target, secrets, signal));
}

async function scrubNow(
  source: string,
  target: string,
  secrets: readonly NamedSecret[],
  signal: AbortSignal | undefined,
): Promise<ScrubbedFile> {
  signal?.throwIfAborted();
  const part = `${target}.${randomUUID()}.part`;
  const task: ScrubFileTask = {
    kind: 'file',
    source,
    target: part,
    secrets: secrets.map(({ name, value }) => ({ name, value })),
  };
  try {
    const scrubbed = threadLoads ? await runOnThread(task, signal) : await scrubAsStream(task, signal);
    await rename(part, target);
    return scrubbed;
  } catch (error) {
    await rm(part, { force: true });
    signal?.throwIfAborted();
    throw error;
  }
}

async function scrubAsStream(task: ScrubFileTask, signal: AbortSignal | undefined): Promise<ScrubbedFile> {
  const scrubber = createScrubber(task.secrets);
  const input = createReadStream(task.source, { highWaterMark: scrubChunkBytes });
  const output = createWriteStream(task.target, { flags: 'wx', mode: 0o600 });
  // After an abort the file may still be about to be created, and would stay.
  const closed = new Promise<void>((resolve) => output.once('close', () => resolve()));
  await pipeline(input, scrubber.stream(), output, signal === undefined ? {} : { signal }).finally(
    () => closed,
  );
  return {
    bytesIn: input.bytesRead,
    bytesOut: (await stat(task.target)).size,
    maskedCount: scrubber.maskedCount,
  };
}
