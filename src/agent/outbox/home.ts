import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import { beatFolder, isOwnerGone, ownerFiles, signFolder, unsignFolder } from '../folders/owner.ts';
import { isOutOfSpace } from '../../system-errors.ts';

/**
 * The folder in which one agent process keeps its outbox. Every process has its own below `outbox/`, so that agents may
 * share a data directory (replicas on one volume, or an old agent that still drains beside a new one). What a dead
 * process left behind is adopted, file by file, by whichever living one comes first.
 */
export type OutboxHome = {
  readonly folder: string;
  /** Puts this process's name to the folder, once. Nothing may be kept in it before: it would be taken for abandoned. */
  sign: () => Promise<void>;
  /** Says that this process lives; must be called every few seconds. */
  beat: () => Promise<void>;
  /** Moves the segments of dead owners into `folder`; names of the files that came, oldest first. */
  adopt: () => Promise<string[]>;
  /** Keeps a result that the service refuses for good, for a person to look at; nothing above a bound. */
  setAside: (payload: Buffer) => Promise<void>;
  /** Gives the folder up: removed when empty, else free for the next agent. */
  close: () => Promise<void>;
};

const segmentEnding = '.seg';
const quarantineBytes = 16 * 1024 * 1024;

/** Opens the folder. On a full disk it is made and signed later: what older agents left must be sent for room to come. */
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
      // Another agent may adopt at the same moment: each file goes to exactly one of them.
      const won = await fs.rename(join(other, file), join(folder, file)).then(
        () => true,
        () => false,
      );
      if (won) moved.push(file);
    }
    await unsignFolder(other);
    // Quarantined results and damaged files stay for a person to look at.
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
        const gone = await isOwnerGone(join(root, entry.name), alive, holdsSegments).catch(() => false);
        if (gone) adopted.push(...(await adoptFrom(entry.name).catch(() => [])));
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
