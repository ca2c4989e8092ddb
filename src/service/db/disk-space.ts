import { statfsSync } from 'node:fs';

/** The embedded engine does not survive a disk that fills up while it writes, so it stops before. */

/** Until there is room again no statement is begun. */
export class NoDiskSpace extends Error {}

/** More than is written between two looks at the disk, the engine's checkpoint included. */
const reserveBytes = 64 * 1024 * 1024;
const lookEveryMs = 1_000;

/** A function that throws NoDiskSpace while the disk of `folder` is all but full. It looks at most once a second. */
export function createSpaceCheck(
  folder: string,
  freeBytes: (folder: string) => number = freeBytesOf,
): () => void {
  let lookedAt = -Infinity;
  let free = Infinity;
  return () => {
    const now = performance.now();
    if (now - lookedAt >= lookEveryMs) {
      lookedAt = now;
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
