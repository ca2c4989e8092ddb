import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, promises as fs } from 'node:fs';
import { dirname, join } from 'node:path';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { uploadBody } from './upload-body.ts';
import { isOutOfSpace } from '../../system-errors.ts';

/**
 * Bytes of artifacts or of code bundles, in a folder that all replicas of the service share (this file) or in a
 * bucket (bucket.ts).
 */
export type ArtifactFiles = {
  /** Bytes stored so far of an incomplete file. */
  partLength: (id: string) => Promise<number>;
  /**
   * Writes `body` from byte `at` on and drops any bytes after that place; at most `size` bytes in all. Received bytes
   * are kept if the body breaks off. Resolves with the length, and with the SHA-256 of the complete content if it
   * began at 0. Rejects with DiskFull, with TooLong, with WrongPlace if it cannot begin at `at`, with WrongBeginning
   * if it does not begin with `beginning`, with the body's error, or with `signal.reason`.
   */
  write: (
    id: string,
    part: { at: number; size: number; body: Readable; signal: AbortSignal; beginning?: Buffer },
  ) => Promise<{ length: number; sha256: Buffer | null }>;
  /** SHA-256 of the bytes stored so far. */
  digest: (id: string) => Promise<Buffer>;
  /** Turns the part into the file, which is on disk when this resolves. */
  finish: (id: string) => Promise<void>;
  /**
   * `range`: first and last byte, both inclusive; the stream returns only these. `size` is the size of the complete
   * file.
   */
  open: (
    id: string,
    range?: (size: number) => ByteRange | null,
  ) => Promise<{ stream: Readable; size: number }>;
  /** A URL that gives access to a stored file for some minutes; null = the service sends the file itself. */
  urlOf?: (
    id: string,
    file: { size: number; contentType: string; disposition: string },
  ) => Promise<string | null>;
  exists: (id: string) => Promise<boolean>;
  /** Every file, in no particular order. `modifiedAt` is milliseconds since the epoch. */
  list: () => AsyncIterable<{ id: string; isPart: boolean; modifiedAt: number }>;
  /** Removes a file and its part. */
  remove: (id: string) => Promise<void>;
};

export type ByteRange = { start: number; end: number };

/** The disk is full. */
export class DiskFull extends Error {}
/** The bytes stored before this place differ from the expected ones. `length` is where to continue. */
export class WrongPlace extends Error {
  readonly length: number;
  constructor(length: number) {
    super(`the upload can only continue at byte ${length}`);
    this.length = length;
  }
}

/** Space kept free for the database, which must not run into a full disk. */
export const reservedBytes = 128 * 1024 * 1024;
const writeBytes = 1024 * 1024;

/** Stores files below `folder` as `<end of the id>/<id>`, with the suffix `.part` while they are incomplete. */
export function createArtifactFiles(
  folder: string,
  { reserveBytes = reservedBytes }: { reserveBytes?: number } = {},
): ArtifactFiles {
  // The end of a UUIDv7 is random, so no folder grows large.
  const pathOf = (id: string) => join(folder, id.slice(-2), id);
  const partOf = (id: string) => `${pathOf(id)}.part`;

  const checkRoom = async (bytes: number) => {
    const { bavail, bsize } = await fs.statfs(folder);
    if (bavail * bsize - bytes < reserveBytes) throw new DiskFull('the disk for artifacts is full');
  };

  const partLength = async (id: string) => (await fs.stat(partOf(id)).catch(missing))?.size ?? 0;

  return {
    partLength,
    write: async (id, { at, size, body, signal, beginning = Buffer.alloc(0) }) => {
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
          hash?.update(chunk);
          yield chunk;
        }
      };
      try {
        await pipeline(uploadBody(body, { at, size, beginning, signal }), counted, target, { signal });
      } catch (error) {
        // The pending write belongs to this attempt. The next attempt reads the length.
        await closed.catch(() => undefined);
        if (!isOutOfSpace(error)) throw error;
        // A partial file would keep the disk full and block smaller files.
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
    open: async (id, rangeOf) => {
      const handle = await fs.open(pathOf(id), 'r');
      try {
        const { size } = await handle.stat();
        const range = rangeOf?.(size) ?? null;
        const options = { highWaterMark: 256 * 1024, ...range };
        return { stream: handle.createReadStream(options), size };
      } catch (error) {
        await handle.close();
        throw error;
      }
    },
    exists: async (id) => (await fs.stat(pathOf(id)).catch(missing)) !== null,
    list: async function* () {
      for (const branch of await fs.readdir(folder).catch(noNames)) {
        for (const name of await fs.readdir(join(folder, branch)).catch(noNames)) {
          const found = await fs.stat(join(folder, branch, name)).catch(missing);
          if (found === null) continue;
          const isPart = name.endsWith('.part');
          yield { id: isPart ? name.slice(0, -'.part'.length) : name, isPart, modifiedAt: found.mtimeMs };
        }
      }
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

function noNames(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
  throw error;
}
