import { promises as fs } from 'node:fs';
import { dirname, join } from 'node:path';
import { isOutOfSpace } from '../../system-errors.ts';
import { DiskFull, reservedBytes } from './files.ts';

/**
 * Small files that are written once, at paths with a meaning: in a folder that all replicas share (this file) or in a
 * bucket (bucket-named.ts). Paths are relative, and their parts are separated by slashes.
 */
export type NamedFiles = {
  /** The file is complete and durable when this resolves. Until then, it is not there. */
  put: (path: string, bytes: Uint8Array) => Promise<void>;
  /**
   * Bytes from `start` (inclusive) to `end` (exclusive), fewer if the file ends before. Rejects with ENOENT if there is no
   * such file, and when `signal` is aborted.
   */
  read: (path: string, range: { start: number; end: number; signal?: AbortSignal }) => Promise<Uint8Array>;
  /** Every file, in no particular order. */
  list: () => AsyncIterable<{ path: string; bytes: number }>;
  remove: (path: string) => Promise<void>;
};

const partSuffix = '.part';
const isFull = 'the disk for results is full';

/** Stores files below `folder`. */
export function createNamedFiles(folder: string): NamedFiles {
  const pathOf = (path: string) => join(folder, path);

  async function put(path: string, bytes: Uint8Array): Promise<void> {
    const target = pathOf(path);
    const part = target + partSuffix;
    try {
      await makeFolders(dirname(path));
      const { bavail, bsize } = await fs.statfs(dirname(target));
      if (bavail * bsize - bytes.length < reservedBytes) throw new DiskFull(isFull);
      const handle = await fs.open(part, 'w', 0o600);
      try {
        await handle.writeFile(bytes);
        await handle.datasync();
      } finally {
        await handle.close();
      }
      await fs.rename(part, target);
      // The new name must be durable too, because the rows that it replaces are deleted next.
      const parent = await fs.open(dirname(target), 'r');
      await parent.sync().finally(() => parent.close());
    } catch (error) {
      await fs.rm(part, { force: true });
      throw isOutOfSpace(error) ? new DiskFull(isFull) : error;
    }
  }

  /** One by one, because `recursive` reports another error if there is no space. */
  async function makeFolders(path: string): Promise<void> {
    await fs.mkdir(folder, { recursive: true, mode: 0o700 });
    let made = folder;
    for (const name of path.split('/')) {
      made = join(made, name);
      await fs.mkdir(made, { mode: 0o700 }).catch(unlessThere);
    }
  }

  async function* filesBelow(below: string): ReturnType<NamedFiles['list']> {
    const entries = await fs.readdir(pathOf(below), { withFileTypes: true }).catch(nothing);
    for (const entry of entries) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) yield* filesBelow(path);
      else {
        const found = await fs.stat(pathOf(path)).catch(nothing);
        if (!Array.isArray(found)) yield { path, bytes: found.size };
      }
    }
  }

  return {
    put,
    read: async (path, { start, end, signal }) => {
      signal?.throwIfAborted();
      const handle = await fs.open(pathOf(path), 'r');
      try {
        const bytes = new Uint8Array(end - start);
        let length = 0;
        while (length < bytes.length) {
          const { bytesRead } = await handle.read(bytes, length, bytes.length - length, start + length);
          if (bytesRead === 0) break;
          length += bytesRead;
        }
        return bytes.subarray(0, length);
      } finally {
        await handle.close();
      }
    },
    list: () => filesBelow(''),
    remove: async (path) => {
      await fs.rm(pathOf(path), { force: true });
      // The folders of the path disappear with their last file.
      for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
        const removed = await fs.rmdir(pathOf(parent)).then(
          () => true,
          () => false,
        );
        if (!removed) break;
      }
    },
  };
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

function nothing(error: NodeJS.ErrnoException): never[] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
  throw error;
}
