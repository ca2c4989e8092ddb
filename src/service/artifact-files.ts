import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, promises as fs, type ReadStream } from 'node:fs';
import { dirname, join } from 'node:path';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/**
 * Bytes of artifacts below one folder: `<end of the id>/<id>`, with `.part` as long as something is missing. Replicas of
 * the service share the folder.
 */
export type ArtifactFiles = {
  /** Bytes that are there so far of a file that is not complete. */
  partLength: (id: string) => Promise<number>;
  /**
   * Writes `body` from byte `at` on, what lay beyond is gone; at most `size` in all. What came stays also when the body
   * breaks off. Resolves with the length, and with the SHA-256 of the whole where it began at 0. Rejects with DiskFull, with
   * TooLong, with the body's error, or with `signal.reason`.
   */
  write: (
    id: string,
    part: { at: number; size: number; body: Readable; signal: AbortSignal },
  ) => Promise<{ length: number; sha256: Buffer | null }>;
  /** SHA-256 of what is there so far. */
  digest: (id: string) => Promise<Buffer>;
  /** Makes the part the file: it is on disk when this resolves. */
  finish: (id: string) => Promise<void>;
  open: (id: string) => Promise<{ stream: ReadStream; size: number }>;
  /** Removes a file and its part. */
  remove: (id: string) => Promise<void>;
};

/** The disk takes no more. */
export class DiskFull extends Error {}
/** More bytes came than were announced. */
export class TooLong extends Error {}

/** Left free for the database, which must not meet a full disk. */
const reservedBytes = 128 * 1024 * 1024;
const writeBytes = 1024 * 1024;

export function createArtifactFiles(
  folder: string,
  { reserveBytes = reservedBytes }: { reserveBytes?: number } = {},
): ArtifactFiles {
  // The end of a UUIDv7 is random, so that no folder grows large.
  const pathOf = (id: string) => join(folder, id.slice(-2), id);
  const partOf = (id: string) => `${pathOf(id)}.part`;

  const checkRoom = async (bytes: number) => {
    const { bavail, bsize } = await fs.statfs(folder);
    if (bavail * bsize - bytes < reserveBytes) throw new DiskFull('the disk for artifacts is full');
  };

  const partLength = async (id: string) => (await fs.stat(partOf(id)).catch(missing))?.size ?? 0;

  return {
    partLength,
    write: async (id, { at, size, body, signal }) => {
      const path = partOf(id);
      try {
        await fs.mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await checkRoom(size - at);
        const handle = await fs.open(path, 'a', 0o600);
        await handle.truncate(at).finally(() => handle.close());
      } catch (error) {
        throw isOutOfSpace(error) ? new DiskFull('the disk for artifacts is full') : error;
      }
      const hash = at === 0 ? createHash('sha256') : null;
      const target = createWriteStream(path, { flags: 'r+', start: at, highWaterMark: writeBytes });
      const closed = once(target, 'close');
      let length = at;
      const counted = async function* (source: AsyncIterable<Buffer>) {
        for await (const chunk of source) {
          length += chunk.length;
          if (length > size) throw new TooLong(`more than the ${size} bytes that were announced`);
          hash?.update(chunk);
          yield chunk;
        }
      };
      try {
        await pipeline(body, counted, target, { signal });
      } catch (error) {
        // What is still being written belongs to this attempt: the next one looks at the length.
        await closed.catch(() => undefined);
        if (!isOutOfSpace(error)) throw error;
        // Half a file would keep the disk full for whatever is smaller.
        await fs.rm(path, { force: true });
        throw new DiskFull('the disk for artifacts is full');
      }
      return { length, sha256: hash?.digest() ?? null };
    },
    digest: async (id) => {
      const hash = createHash('sha256');
      await pipeline(createReadStream(partOf(id), { highWaterMark: writeBytes }), hash);
      return hash.digest();
    },
    finish: async (id) => {
      const handle = await fs.open(partOf(id), 'r+');
      await handle.datasync().finally(() => handle.close());
      await fs.rename(partOf(id), pathOf(id));
    },
    open: async (id) => {
      const handle = await fs.open(pathOf(id), 'r');
      const { size } = await handle.stat();
      return {
        stream: handle.createReadStream({ highWaterMark: 256 * 1024 }) as unknown as ReadStream,
        size,
      };
    },
    remove: async (id) => {
      await fs.rm(pathOf(id), { force: true });
      await fs.rm(partOf(id), { force: true });
    },
  };
}

function missing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

function isOutOfSpace(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException; // absent on anything that is no system error
  return code === 'ENOSPC' || code === 'EDQUOT';
}
