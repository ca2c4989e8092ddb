import { statfs } from 'node:fs/promises';

/** Whether nothing more can be written there. */
export async function isFull(folder: string): Promise<boolean> {
  const found = await statfs(folder).catch(() => null);
  if (found === null) return false;
  const { bavail, bsize, ffree, files } = found;
  return bavail * bsize < 65_536 || (files > 0 && ffree === 0);
}

/** Whether it was the disk that refused to take something: no room, no quota, or read-only. */
export function isRefusedByDisk(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException; // absent on anything that is no system error
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EROFS';
}
