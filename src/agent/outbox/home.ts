import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import { beatFolder, isOwnerGone, ownerFiles, signFolder, unsignFolder } from '../folders/owner.ts';
import { isOutOfSpace } from '../../system-errors.ts';

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
  /** Keeps a result that the service refuses permanently, for inspection; no more than a fixed size in total. */
  setAside: (payload: Buffer) => Promise<void>;
  /** Releases the folder: an empty one is removed, another is left to the next agent. */
  close: () => Promise<void>;
};

const segmentEnding = '.seg';
const quarantineBytes = 16 * 1024 * 1024;

/**
 * Opens the folder. On a full disk it is created and signed later, because results of older agents must be sent first
 * to free space.
 */
export async function openOutboxHome(root: string, instanceId: string): Promise<OutboxHome> {
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
  await beat().catch((error: unknown) => {
    if (!isOutOfSpace(error)) throw error;
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
    await unsignFolder(other);
    // Quarantined results and damaged files stay for inspection.
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
        if (!entry.isDirectory() || entry.name === instanceId) continue;
        const isDead = await isOwnerGone(join(root, entry.name), alive, holdsSegments).catch(() => false);
        if (isDead) adopted.push(...(await adoptFrom(entry.name).catch(() => [])));
      }
      return adopted.sort();
    },
    setAside: async (payload) => {
      const path = join(folder, 'quarantine.ndjson');
      const size = await fs.stat(path).then(
        (stats) => stats.size,
        () => 0,
      );
      if (size + payload.length > quarantineBytes) return;
      await fs.appendFile(path, Buffer.concat([payload, Buffer.from('\n')]), { mode: 0o600 });
    },
    close: async () => {
      await unsignFolder(folder);
      await fs.rmdir(folder).catch(() => undefined);
    },
  };
}

function holdsSegments(names: readonly string[]): boolean {
  return names.some((name) => name.endsWith(segmentEnding));
}
