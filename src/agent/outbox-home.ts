import { existsSync, mkdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { promises as fs } from 'node:fs';
import { dirname, join } from 'node:path';

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
  /** Gives the folder up: removed when empty, else free for the next agent. */
  close: () => Promise<void>;
};

/** Owners of another machine or container can't be looked at; they are dead after this silence. */
export const silentOwnerMs = 20_000;

const segmentEnding = '.seg';

type Owner = { boot: string; namespace: string; pid: number; startedAt: string };

/** Opens the folder. On a full disk it is made and signed later: what older agents left must be sent for room to come. */
export async function openOutboxHome(root: string, instanceId: string): Promise<OutboxHome> {
  const folder = join(root, instanceId);
  const alive = join(folder, 'alive');
  const ownerFile = join(folder, 'owner.json');
  let signed = false;
  const sign = async () => {
    if (signed) return;
    makeFolder(folder);
    await fs.writeFile(ownerFile, JSON.stringify(thisProcess()));
    signed = true;
  };
  const beat = async () => {
    await sign();
    await fs.writeFile(alive, '');
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
    await fs.rm(join(other, 'alive'), { force: true });
    await fs.rm(join(other, 'owner.json'), { force: true });
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
        const gone = await isGone(join(root, entry.name), alive).catch(() => false);
        if (gone) adopted.push(...(await adoptFrom(entry.name).catch(() => [])));
      }
      return adopted.sort();
    },
    close: async () => {
      await fs.rm(alive, { force: true });
      await fs.rm(ownerFile, { force: true });
      await fs.rmdir(folder).catch(() => undefined);
    },
  };
}

/**
 * Makes a folder and those above it that are missing. Not by mkdir's own `recursive`, which never returns where a parent
 * exists but holds no folders (/proc).
 */
export function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another agent may have made it meanwhile.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

export function isOutOfSpace(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException; // absent on anything that is no system error
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Whether the owner of `folder` is dead. `ownBeat` is a file that this process has just touched on the same volume. */
async function isGone(folder: string, ownBeat: string): Promise<boolean> {
  const silentMs = async (path: string) => (await fs.stat(ownBeat)).mtimeMs - (await fs.stat(path)).mtimeMs;
  const owner = readOwner(join(folder, 'owner.json'));
  if (owner === null) {
    // Given up by its owner; or made this very moment by one that has not signed it yet.
    const names = await fs.readdir(folder);
    return names.some((name) => name.endsWith(segmentEnding)) || (await silentMs(folder)) > silentOwnerMs;
  }
  const self = thisProcess();
  if (self.boot !== '' && owner.boot === self.boot && owner.namespace === self.namespace) {
    return processStart(owner.pid) !== owner.startedAt;
  }
  return (await silentMs(join(folder, 'alive'))) > silentOwnerMs;
}

function readOwner(file: string): Owner | null {
  if (!existsSync(file)) return null;
  try {
    const owner = JSON.parse(readFileSync(file, 'utf8')) as Partial<Owner>; // checked below
    const { boot, namespace, pid, startedAt } = owner;
    if (typeof boot !== 'string' || typeof namespace !== 'string') return null;
    if (typeof pid !== 'number' || typeof startedAt !== 'string') return null;
    return { boot, namespace, pid, startedAt };
  } catch {
    return null;
  }
}

function thisProcess(): Owner {
  return {
    boot: readOr('/proc/sys/kernel/random/boot_id'),
    namespace: linkOr('/proc/self/ns/pid'),
    pid: process.pid,
    startedAt: processStart(process.pid),
  };
}

/** When a process began, in clock ticks since boot (field 22 of its stat); empty when there is no such process. */
function processStart(pid: number): string {
  const stat = readOr(`/proc/${pid}/stat`);
  // The command's name, in parentheses, may hold blanks.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

function linkOr(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
