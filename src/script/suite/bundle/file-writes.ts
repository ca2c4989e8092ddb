import { open } from 'node:fs/promises';
import { toError } from '../../../errors.ts';

/** Writes new files, several at a time, because small files mostly wait for the disk. */
export type FileWrites = {
  /**
   * Starts to write a file that must not exist yet; resolves when there is room for another. Rejects with the first
   * error of any write.
   */
  add: (path: string, bytes: Uint8Array, mode: number) => Promise<void>;
  /** Resolves when no write is in progress; rejects with the first error of any write. */
  idle: () => Promise<void>;
};

const atOnce = 8;

export function createFileWrites(): FileWrites {
  const running = new Set<Promise<void>>();
  const errors: Error[] = [];
  const throwFirst = () => {
    if (errors[0] !== undefined) throw errors[0];
  };
  return {
    add: async (path, bytes, mode) => {
      const write = writeNew(path, [bytes], mode).catch((error: unknown) => void errors.push(toError(error)));
      const settled = write.then(() => void running.delete(settled));
      running.add(settled);
      if (running.size >= atOnce) await Promise.race(running);
      throwFirst();
    },
    idle: async () => {
      await Promise.all(running);
      throwFirst();
    },
  };
}

/** Writes a file that must not exist yet, chunk by chunk. */
export async function writeNew(
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mode: number,
): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    for await (const chunk of chunks) {
      for (let done = 0; done < chunk.length;) done += (await file.write(chunk, done)).bytesWritten;
    }
  } finally {
    await file.close();
  }
}
