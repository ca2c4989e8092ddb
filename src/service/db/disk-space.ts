import { statfsSync } from 'node:fs';

/** The embedded engine does not survive a disk that fills up during a write, so statements stop before that. */

/** Thrown for every statement until there is space again. */
export class NoDiskSpace extends Error {}

/** More than is written between two disk checks, including the engine's checkpoint. */
const reserveBytes = 64 * 1024 * 1024;
const checkEveryMs = 1_000;

/**
 * Returns a function that throws NoDiskSpace while the disk of `folder` is almost full. It checks at most once a
 * second.
 */
export function createSpaceCheck(
  folder: string,
  freeBytes: (folder: string) => number = freeBytesOf,
): () => void {
  let checkedAt = -Infinity;
  let free = Infinity;
  return () => {
    const now = performance.now();
    if (now - checkedAt >= checkEveryMs) {
      checkedAt = now;
      free = freeBytes(folder);
    }
    if (free >= reserveBytes) return;
    const megabytes = (bytes: number) => Math.floor(bytes / 1024 / 1024);
    throw new NoDiskSpace(
      `the disk of ${folder} is full (${megabytes(free)} MB left): the embedded database waits until ${megabytes(reserveBytes)} MB are free`,
    );
  };
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
