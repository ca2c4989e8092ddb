import { existsSync, renameSync, rmSync } from 'node:fs';

/**
 * Replaces the folder `target` by `fresh`. `target` is missing only between two renames, so a program that runs from it finds either
 * the old or the new files. Both must be on the same file system; the old folder is deleted.
 */
export function swapFolder(fresh, target) {
  const old = `${fresh}.old`;
  rmSync(old, { recursive: true, force: true });
  if (existsSync(target)) renameSync(target, old);
  renameSync(fresh, target);
  rmSync(old, { recursive: true, force: true });
}
