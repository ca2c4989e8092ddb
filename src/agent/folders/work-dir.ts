import { existsSync, promises as fs } from 'node:fs';
import { join } from 'node:path';
import { removeOutside } from '../../script/process/outside-folder.ts';
import { removeTree } from '../../script/process/remove-tree.ts';
import { beatFolder, isOwnerGone, ownerBeatMs, ownerFiles, signFolder, unsignFolder } from './owner.ts';

/**
 * Folders in which scripts run, one per attempt (mode 0700), below `runs/<agent>` of the data directory. They are gone
 * when the attempt is; what a killed agent left goes at the next start, but never what belongs to a living one.
 */
export type WorkDirs = {
  /** Removes the folders of dead agents. Never rejects. */
  removeDead: () => Promise<void>;
  /** A new folder of an attempt. Rejects with what the file system says. */
  make: () => Promise<string>;
  /** Removes a folder with all that is in it, whatever its modes. */
  remove: (folder: string) => Promise<void>;
  /** Removes everything of this agent. */
  close: () => Promise<void>;
};

/** `root`: the folder that all agents of a data directory share. Nothing is made in it before the first attempt. */
export function createWorkDirs(root: string, instanceId: string): WorkDirs {
  // Short: sockets that browsers and tools make below it may have paths of 108 bytes only.
  const home = join(root, instanceId.slice(0, 13));
  let signing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  const sign = async () => {
    await signFolder(home);
    await beatFolder(home);
    timer ??= setInterval(() => void beatFolder(home).catch(() => undefined), ownerBeatMs);
    timer.unref();
  };

  return {
    removeDead: async () => {
      const entries = await fs.readdir(root, { withFileTypes: true }).catch(() => []);
      const others = entries.filter((entry) => entry.isDirectory() && join(root, entry.name) !== home);
      if (others.length === 0) return;
      const clock = join(root, `.clock-${instanceId}`);
      await fs.writeFile(clock, '').catch(() => undefined);
      for (const { name } of others) {
        const other = join(root, name);
        if (!(await isOwnerGone(other, clock).catch(() => false))) continue;
        for (const run of await fs.readdir(other).catch(() => [])) await removeOutside(join(other, run));
        await removeTree(other).catch(() => undefined);
      }
      await fs.rm(clock, { force: true }).catch(() => undefined);
    },
    make: async () => {
      // Whoever stood still for long enough was taken for dead, and its folder is gone.
      if (signing !== null && !existsSync(join(home, ownerFiles.owner))) signing = null;
      signing ??= sign();
      await signing.catch((error: unknown) => {
        signing = null;
        throw error;
      });
      return fs.mkdtemp(join(home, 'run-'));
    },
    remove: removeTree,
    close: async () => {
      clearInterval(timer);
      if (signing === null) return;
      await unsignFolder(home).catch(() => undefined);
      await removeTree(home).catch(() => undefined);
    },
  };
}
