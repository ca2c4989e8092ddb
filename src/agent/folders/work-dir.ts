import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../../errors.ts';
import { removeOutside } from '../../script/process/outside-folder.ts';
import { removeTree } from '../../script/process/remove-tree.ts';
import { isOutOfSpace } from '../../system-errors.ts';
import { dataDirTrouble } from './data-dir.ts';
import { DiskDeadline } from './disk-deadline.ts';
import {
  beatFolder,
  beatsOf,
  isOwnerGone,
  ownerBeatMs,
  ownerFiles,
  signFolder,
  unsignFolder,
} from './owner.ts';

/**
 * Folders in which scripts run, one per attempt (mode 0700), below `runs/<agent>` of the data directory. They are
 * removed after the attempt. The next agent start removes the folders of killed agents, but never those of running
 * ones.
 */
export type WorkDirs = {
  /** Removes the folders of dead agents. Never rejects. */
  removeDead: () => Promise<void>;
  /** Creates a folder for an attempt. Rejects with AgentError DISK_FULL or DISK_UNAVAILABLE. */
  make: () => Promise<string>;
  /** Removes a folder and its contents, whatever their modes. */
  remove: (folder: string) => Promise<void>;
  /** Removes all folders of this agent. */
  close: () => Promise<void>;
};

/**
 * `root`: the folder that all agents of a data directory share. It stays empty until the first attempt. `disk`: shared
 * with everything else that uses the data directory.
 */
export function createWorkDirs(root: string, instanceId: string, disk = new DiskDeadline()): WorkDirs {
  // Keep it short: browsers and tools create sockets below it, whose paths are limited to 108 bytes.
  const home = join(root, instanceId.slice(0, 13));
  let signing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  /** Folders of ended runs that the disk did not let go of. */
  const left = new Set<string>();

  const sign = async () => {
    await signFolder(home);
    await beatFolder(home);
    timer ??= setInterval(beatsOf(home), ownerBeatMs);
    timer.unref();
  };

  const make = async () => {
    // An agent that was suspended for a long time was considered dead, and its folder was removed.
    if (signing !== null && !(await exists(join(home, ownerFiles.owner)))) signing = null;
    signing ??= sign();
    await signing.catch((error: unknown) => {
      signing = null;
      throw error;
    });
    return fs.mkdtemp(join(home, 'run-'));
  };

  /** While the disk hangs, nothing is removed: each removal would hold threads of Node's pool. */
  const remove = async (folder: string) => {
    if (disk.hangs) return void left.add(folder);
    left.delete(folder);
    await removeTree(folder);
  };

  return {
    removeDead: async () => {
      if (disk.hangs) return;
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
      try {
        disk.check();
        // Nobody waits for a folder that comes late.
        const folder = await disk.within(make(), (late) => void left.add(late));
        for (const each of left) void remove(each).catch(() => undefined);
        return folder;
      } catch (error) {
        const code = isOutOfSpace(error) ? 'DISK_FULL' : 'DISK_UNAVAILABLE';
        const trouble = `no folder for the run: ${dataDirTrouble(root, error)}`;
        throw new AgentError(code, trouble, { cause: error });
      }
    },
    remove,
    close: async () => {
      clearInterval(timer);
      if (signing === null || disk.hangs) return;
      await unsignFolder(home).catch(() => undefined);
      await removeTree(home).catch(() => undefined);
    },
  };
}

function exists(path: string): Promise<boolean> {
  return fs.access(path).then(
    () => true,
    () => false,
  );
}
