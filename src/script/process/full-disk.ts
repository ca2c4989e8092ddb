import { statfs } from 'node:fs/promises';
import { codeOf, isOutOfSpace } from '../../system-errors.ts';

/** Whether nothing more can be written there. */
export async function isFull(folder: string): Promise<boolean> {
  const found = await statfs(folder).catch(() => null);
  if (found === null) return false;
  const { bavail, bsize, ffree, files } = found;
  return bavail * bsize < 65_536 || (files > 0 && ffree === 0);
}

/** Whether it was the disk that refused to take something: no room, no quota, or read-only. */
export function isRefusedByDisk(error: unknown): boolean {
  return isOutOfSpace(error) || codeOf(error) === 'EROFS';
}
