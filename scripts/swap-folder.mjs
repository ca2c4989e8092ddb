import { existsSync, renameSync, rmSync } from 'node:fs';

/**
 * Puts the folder `fresh` where `target` is, if it is there: between two renames alone is there none, so that a program which
 * runs from it finds its files, of the one state or the other. All on one file system; what was there before is removed.
 */
export function swapFolder(fresh, target) {
  const old = `${fresh}.old`;
  rmSync(old, { recursive: true, force: true });
  if (existsSync(target)) renameSync(target, old);
  renameSync(fresh, target);
  rmSync(old, { recursive: true, force: true });
}
