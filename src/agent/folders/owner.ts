import { readFileSync, readlinkSync, promises as fs, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../../system-errors.ts';
import { dropLock, holdLock, isLockHeld } from './lock.ts';

/**
 * Folders that belong to one agent process, below a data directory that agents may share (replicas on one volume, or
 * an old agent that still drains next to a new one). The owner signs its folder, holds a lock in it and touches
 * a file in it every few seconds.
 */

/** Processes on another machine cannot be inspected; an owner there counts as dead after this silence. */
export const silentOwnerMs = 20_000;
/** How often an owner touches its folder. */
export const ownerBeatMs = 5000;

/** Names of the files that identify an owner. */
export const ownerFiles = { owner: 'owner.json', alive: 'alive', lock: 'lock' } as const;

type Owner = {
  boot: string;
  namespace: string;
  pid: number;
  startedAt: string;
  /** Device number (st_dev) of the file system on which the owner locked its folder; null = it could not. */
  lockedOn: number | null;
};

/** Creates the folder if it is missing and signs it as this process's. */
export async function signFolder(folder: string): Promise<void> {
  await makeFolder(folder);
  const file = join(folder, ownerFiles.owner);
  const owner: Owner = { ...currentProcess(), lockedOn: null };
  // First, because the system creates a socket's file on the caller's own thread: a disk that hangs must hang here, off
  // the event loop.
  await fs.writeFile(file, JSON.stringify(owner));
  if (!(await holdLock(join(folder, ownerFiles.lock)))) return;
  await fs.writeFile(file, JSON.stringify({ ...owner, lockedOn: await deviceOf(folder) }));
}

/** Records that the owner of `folder`, this process, is alive. */
export async function beatFolder(folder: string): Promise<void> {
  await fs.writeFile(join(folder, ownerFiles.alive), '');
}

/** Beats for a timer, one at a time: on a disk that hangs, each would hold a thread of Node's pool. */
export function beatsOf(folder: string): () => void {
  let isBeating = false;
  return () => {
    if (isBeating) return;
    isBeating = true;
    beatFolder(folder)
      .catch(() => undefined)
      .finally(() => (isBeating = false));
  };
}

/** Removes the signature from the folder, either this process's or a dead owner's. */
export async function unsignFolder(folder: string): Promise<void> {
  await fs.rm(join(folder, ownerFiles.alive), { force: true });
  await fs.rm(join(folder, ownerFiles.owner), { force: true });
  // Last, for the same reason: closing a socket removes its file on the caller's own thread.
  await dropLock(join(folder, ownerFiles.lock));
}

/**
 * Whether the owner of `folder` is dead. `ownBeat` is a file that this process has just touched on the same volume.
 * For a folder without a signature, `isAbandoned` decides from the names in it.
 */
export async function isOwnerGone(
  folder: string,
  ownBeat: string,
  isAbandoned: (names: readonly string[]) => boolean = () => false,
): Promise<boolean> {
  const silentMs = async (path: string) => (await fs.stat(ownBeat)).mtimeMs - (await fs.stat(path)).mtimeMs;
  const owner = await readOwner(join(folder, ownerFiles.owner));
  if (owner === null) {
    // The owner gave it up, or has just created it and not signed it yet.
    return isAbandoned(await fs.readdir(folder)) || (await silentMs(folder)) > silentOwnerMs;
  }
  const self = currentProcess();
  if (self.boot !== '' && owner.boot === self.boot && owner.namespace === self.namespace) {
    return processStart(owner.pid) !== owner.startedAt;
  }
  // In another container on this machine. On a network volume that was mounted a second time, sockets exist without
  // their owners.
  const isLockVisible = owner.lockedOn !== null && owner.lockedOn === (await deviceOf(folder));
  if (isLockVisible && self.boot !== '' && owner.boot === self.boot) {
    const held = await isLockHeld(join(folder, ownerFiles.lock));
    if (held !== null) return !held;
  }
  return (await silentMs(join(folder, ownerFiles.alive))) > silentOwnerMs;
}

/**
 * Creates a folder and its missing parents. mkdir's own `recursive` never returns if a parent exists but cannot hold
 * folders (/proc).
 */
export async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return;
  if (dirname(folder) !== folder) await makeFolder(dirname(folder));
  try {
    await fs.mkdir(folder, { mode: 0o700 });
  } catch (error) {
    // Another agent may have created it at the same time.
    if (!(await isFolder(folder))) throw error;
  }
}

/** Whether it is there; rejects with errors that do not answer the question. */
async function isFolder(path: string): Promise<boolean> {
  return (await statsOf(path))?.isDirectory() === true;
}

async function deviceOf(folder: string): Promise<number | null> {
  return (await statsOf(folder))?.dev ?? null;
}

function statsOf(path: string): Promise<Stats | null> {
  return fs.stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null;
    throw error;
  });
}

async function readOwner(file: string): Promise<Owner | null> {
  try {
    const owner = JSON.parse(await fs.readFile(file, 'utf8')) as Partial<Owner>; // checked below
    const { boot, namespace, pid, startedAt, lockedOn = null } = owner;
    if (typeof boot !== 'string' || typeof namespace !== 'string') return null;
    if (typeof pid !== 'number' || typeof startedAt !== 'string') return null;
    return { boot, namespace, pid, startedAt, lockedOn };
  } catch {
    return null;
  }
}

/** Names the running system, and its clock: also in containers, and until the next boot. Empty if it is not known. */
export function bootId(): string {
  return readOr('/proc/sys/kernel/random/boot_id');
}

function currentProcess(): Omit<Owner, 'lockedOn'> {
  return {
    boot: bootId(),
    namespace: readlinkOr('/proc/self/ns/pid'),
    pid: process.pid,
    startedAt: processStart(process.pid),
  };
}

/** Start time of a process in clock ticks since boot (field 22 of its stat); empty if the process does not exist. */
function processStart(pid: number): string {
  const stat = readOr(`/proc/${pid}/stat`);
  // The command's name, in parentheses, may contain spaces.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

function readlinkOr(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
