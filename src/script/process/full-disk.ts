import { statfs } from 'node:fs/promises';
import { codeOf, isOutOfSpace } from '../../system-errors.ts';

/** Whether the disk has no room left. */
export async function isFull(folder: string): Promise<boolean> {
  const found = await statfs(folder).catch(() => null);
  if (found === null) return false;
  const { bavail, bsize, ffree, files } = found;
  return bavail * bsize < 65_536 || (files > 0 && ffree === 0);
}

/** Whether an error means that the disk refused the write: no room, no quota, or read-only. */
export function isRefusedByDisk(error: unknown): boolean {
  return isOutOfSpace(error) || codeOf(error) === 'EROFS';
}
