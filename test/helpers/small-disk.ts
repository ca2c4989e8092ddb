import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A disk of its own for a folder, so small that it can be filled. */
export type SmallDisk = {
  /** Mounts it on an empty folder, for a user when one is named. Throws without the right to mount. */
  mount: (folder: string, owner?: { uid: number; gid: number }) => void;
  /** Writes until not a byte is left. */
  fill: () => void;
  /** Removes what `fill` has written. */
  free: () => void;
  unmount: () => void;
};

/** A disk in memory of this size. Nothing is mounted yet. */
export function createSmallDisk(megabytes: number): SmallDisk {
  let mounted: string | null = null;
  const ballast = () => {
    if (mounted === null) throw new Error('the small disk is not mounted');
    return join(mounted, 'ballast');
  };
  return {
    mount: (folder, owner) => {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', folder], {
        stdio: 'ignore',
      });
      mounted = folder;
      if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
    },
    fill: () => {
      const chunk = Buffer.alloc(1024 * 1024);
      try {
        for (;;) writeFileSync(ballast(), chunk, { flag: 'a' });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    },
    free: () => rmSync(ballast(), { force: true }),
    unmount: () => {
      if (mounted !== null) spawnSync('umount', ['-l', mounted], { stdio: 'ignore' });
      mounted = null;
    },
  };
}
