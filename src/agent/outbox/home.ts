import { constants, promises as fs } from 'node:fs';
import { join } from 'node:path';
import { isWrongFolder } from '../folders/data-dir.ts';
import type { DiskDeadline } from '../folders/disk-deadline.ts';
import {
  beatFolder,
  isOwnerGone,
  makeFolder,
  ownerFiles,
  signFolder,
  unsignFolder,
} from '../folders/owner.ts';
import { asideFolder } from './aside.ts';
import { segmentEnding } from './segment-file.ts';

/**
 * The folder in which one agent process keeps its outbox. Every process has its own below `outbox/`, so that agents
 * can share a data directory (replicas on one volume, or an old agent that still drains next to a new one). Running
 * agents adopt the files of dead processes, one file at a time.
 */
export type OutboxHome = {
  readonly folder: string;
  /**
   * Signs the folder for this process, once. Sign it before any file is written, or the folder would count as
   * abandoned.
   */
  sign: () => Promise<void>;
  /** Records that this process is alive; call it every few seconds. */
  beat: () => Promise<void>;
  /** Moves the segments of dead owners to `folder`; returns the names of the moved files, oldest first. */
  adopt: () => Promise<string[]>;
  /** Tries the disk: writes and removes a file of `bytes`. Rejects with the file system's error. */
  tryDisk: (bytes: number) => Promise<void>;
  /** Releases the folder: an empty one is removed, another is left to the next agent. */
  close: () => Promise<void>;
};

/** Names of a home's own files besides the owner's and the segments. */
const trialFile = 'disk-trial';

/**
 * Opens the folder. If the disk takes no files, the folder is created and signed later, and `onUnusable` is called. Rejects if
 * the path can never be used.
 */
export async function openOutboxHome(
  { folder: root, instanceId }: { folder: string; instanceId: string },
  disk: DiskDeadline,
  onUnusable: (error: unknown) => void,
): Promise<OutboxHome> {
  const folder = join(root, instanceId);
  const alive = join(folder, ownerFiles.alive);
  let signed = false;
  const sign = async () => {
    if (signed) return;
    await signFolder(folder);
    signed = true;
  };
  const beat = async () => {
    await sign();
    await beatFolder(folder);
  };
  await disk.within(beat()).catch((error: unknown) => {
    if (isWrongFolder(error)) throw error;
    onUnusable(error);
  });

  const adoptFrom = async (name: string): Promise<string[]> => {
    const other = join(root, name);
    const files = (await fs.readdir(other)).filter((file) => file.endsWith(segmentEnding)).sort();
    const moved: string[] = [];
    for (const file of files) {
      // Another agent may adopt at the same moment; only one rename of a file succeeds.
      const isMoved = await fs.rename(join(other, file), join(folder, file)).then(
        () => true,
        () => false,
      );
      if (isMoved) moved.push(file);
    }
    // From here on nothing may fail: what was moved must be returned.
    await unsignFolder(other).catch(() => undefined);
    await removeLeftovers(other);
    // What an earlier release set aside stays for inspection.
    await fs.rmdir(other).catch(() => undefined);
    return moved;
  };

  return {
    folder,
    sign,
    beat,
    adopt: async () => {
      const entries = await fs.readdir(root, { withFileTypes: true });
      const adopted: string[] = [];
      for (const entry of entries) {
        if (!entry.isDirectory() || entry.name === instanceId || entry.name === asideFolder) continue;
        const isDead = await isOwnerGone(join(root, entry.name), alive, holdsSegments).catch(() => false);
        if (isDead) adopted.push(...(await adoptFrom(entry.name).catch(() => [])));
      }
      return adopted.sort();
    },
    tryDisk: async (bytes) => {
      await makeFolder(folder);
      await beat();
      const path = join(folder, trialFile);
      const { O_CREAT, O_TRUNC, O_WRONLY, O_DSYNC } = constants;
      const file = await fs.open(path, O_CREAT | O_TRUNC | O_WRONLY | O_DSYNC, 0o600);
      try {
        await file.writeFile(Buffer.alloc(bytes));
      } finally {
        await file.close();
        await fs.rm(path, { force: true });
      }
    },
    close: async () => {
      await unsignFolder(folder).catch(() => undefined);
      await removeLeftovers(folder);
      await fs.rmdir(folder).catch(() => undefined);
    },
  };
}

/** Removes files that a kill or a bad disk has left, and that hold no result. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await fs.readdir(folder).catch(() => [])) {
    if (name !== trialFile && !name.endsWith(`${segmentEnding}.new`)) continue;
    await fs.rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}

function holdsSegments(names: readonly string[]): boolean {
  return names.some((name) => name.endsWith(segmentEnding));
}
