import { randomUUID } from 'node:crypto';
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  statfs,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { existsSync, lstatSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { toError } from '../../../errors.ts';
import { removeTree } from '../../process/remove-tree.ts';
import { entriesToDrop } from './dependency-room.ts';
import { changesSince, copyTree, countTree, listTree, type Count, type Listing } from './dependency-tree.ts';
import { lockFileNames } from './package-manager.ts';
import { dayMs } from '../../../durations.ts';
import { codeOf } from '../../../system-errors.ts';

/**
 * Installed dependencies that outlive a run: one entry per key (dependency-key.ts) below `folder`. Only this process
 * writes entries, never a suite's programs. An entry is written to a draft folder, renamed into place and only read
 * afterwards, so any number of runs and agents may share a folder. A failure costs a run only the cache; the run itself
 * continues.
 */
export type DependencyCache = {
  /**
   * Copies the entry of `key` into the run's folders. False = there is no usable entry; the folders are then unchanged.
   * Rejects only with the signal's reason.
   */
  take: (key: string, to: CachedFolders, signal: AbortSignal) => Promise<boolean>;
  /** The content of the run's folders before the install; null = it cannot be listed. */
  before: (folders: CachedFolders) => Promise<BeforeInstall | null>;
  /**
   * Copies the files that the install has added to a draft; `replace` = it will replace an existing entry. Null = it
   * cannot be kept. Rejects only with the signal's reason.
   */
  draft: (
    key: string,
    options: { before: BeforeInstall; replace: boolean; signal: AbortSignal },
  ) => Promise<DependencyDraft | null>;
};

/** Folders of a run in which an install leaves files that tests need: the project, and the run's own programs. */
export type CachedFolders = { project: string; programs: string };
export type BeforeInstall = { folders: CachedFolders; project: Listing; programs: Listing };

export type DependencyDraft = {
  /** Stores the draft for later runs; call it for a run that has passed. Never rejects. */
  publish: () => Promise<void>;
  /** Never rejects. */
  discard: () => Promise<void>;
};

/** Paths that the install has added, and files of the bundle that it has made executable. */
type Manifest = Record<keyof CachedFolders, Count & { paths: string[]; executable: string[] }>;
const parts = ['project', 'programs'] as const;
const manifestName = 'manifest.json';

/** Above this number, copying file by file would take longer than the install. */
const maxPaths = 10_000;
/** Age of a draft whose run has ended, whichever process it belonged to. */
const draftMs = dayMs / 4;

/** Drafts of this process. In a container, the next process has the same id. */
const ownDrafts = new Set<string>();

export type DependencyCacheOptions = {
  folder: string;
  /** Logs to the run's log. */
  log: (line: string) => void;
  /** Default 10 GiB. */
  maxBytes?: number;
  /** Now, in milliseconds since the epoch. */
  now?: () => number;
};

const defaultMaxBytes = 10 * 1024 ** 3;

/** Opens the cache in `folder` and creates the folder. It is cheap; call it for each run. */
export function openDependencyCache(options: DependencyCacheOptions): DependencyCache {
  const cache: Cache = { maxBytes: defaultMaxBytes, now: Date.now, ...options };
  return {
    take: (key, to, signal) => takeEntry(cache, { key, to, signal }),
    before: (folders) => listBefore(cache, folders),
    draft: (key, { before, replace, signal }) => draftEntry(cache, { key, before, replace, signal }),
  };
}

type Cache = Required<DependencyCacheOptions>;

async function takeEntry(
  { folder, log, now }: Cache,
  { key, to, signal }: { key: string; to: CachedFolders; signal: AbortSignal },
): Promise<boolean> {
  const from = join(folder, key);
  let manifest: Manifest;
  try {
    manifest = readManifest(await readFile(join(from, manifestName), 'utf8'));
  } catch (error: unknown) {
    if (codeOf(error) !== 'ENOENT') {
      log(`Cached dependencies are not used: ${toError(error).message}`);
      await drop(folder, key);
    }
    return false;
  }
  const copied: string[] = [];
  try {
    // Before copying: an entry in use is the last to be deleted.
    const seconds = now() / 1000;
    await utimes(join(from, manifestName), seconds, seconds);
    for (const part of parts) {
      const { paths, executable, ...expected } = manifest[part];
      if (paths.length === 0 && executable.length === 0) continue;
      await mkdir(to[part], { recursive: true });
      await refuseOutside(to[part], { paths, executable });
      copied.push(...paths.map((path) => join(to[part], path)));
      await copyTree({ from: join(from, part), to: to[part], paths, signal });
      const count = await countTree(to[part], paths);
      if (count.entries !== expected.entries || count.bytes !== expected.bytes)
        throw new DamagedEntry('an entry differs from what was stored');
      for (const path of executable) await chmod(join(to[part], path), 0o755);
    }
    return true;
  } catch (error: unknown) {
    for (const path of copied) await removeTree(path).catch(() => undefined);
    if (signal.aborted) throw signal.reason;
    log(`Cached dependencies are not used: ${toError(error).message}`);
    if (error instanceof DamagedEntry) await drop(folder, key);
    return false;
  }
}

async function listBefore({ log }: Cache, folders: CachedFolders): Promise<BeforeInstall | null> {
  try {
    await mkdir(folders.programs, { recursive: true });
    const [project, programs] = [await listTree(folders.project), await listTree(folders.programs)];
    return { folders, project, programs };
  } catch (error: unknown) {
    log(`Dependencies will not be cached: ${toError(error).message}`);
    return null;
  }
}

async function draftEntry(
  cache: Cache,
  {
    key,
    before,
    replace,
    signal,
  }: { key: string; before: BeforeInstall; replace: boolean; signal: AbortSignal },
): Promise<DependencyDraft | null> {
  const { folder, log, now } = cache;
  const path = join(folder, `.draft-${process.pid}-${randomUUID()}`);
  ownDrafts.add(basename(path));
  const discard = async (): Promise<void> => {
    await removeTree(path).catch(() => undefined);
    ownDrafts.delete(basename(path));
  };
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await removeLeftovers(folder, now());
    const manifest = {} as Manifest; // both parts are set below
    for (const part of parts) {
      const from = before.folders[part];
      // Through a link, the agent would copy files that the suite itself must not read.
      if (!lstatSync(from).isDirectory()) throw new Error(`the install has replaced the folder ${part}`);
      const { added, changed, executable } = await changesSince(from, before[part]);
      if (added.length > maxPaths) throw new Error(`the install left files in ${added.length} places`);
      const count = await countTree(from, added);
      const room = await roomIn(cache);
      if (count.bytes > room)
        throw new Error(`the install left ${count.bytes} bytes, and there is room for ${room}`);
      // A suite's own files are in its bundle; package managers may rewrite a lock file without changing its
      // meaning.
      const foreign = changed.find((each) => !['package.json', ...lockFileNames].includes(basename(each)));
      if (foreign !== undefined) throw new Error(`the install changed a file of the bundle: ${foreign}`);
      manifest[part] = { ...count, paths: added, executable };
      await mkdir(join(path, part));
      await copyTree({ from, to: join(path, part), paths: added, signal });
    }
    await writeFile(join(path, manifestName), JSON.stringify(manifest));
    return { publish: () => publish(cache, path, { key, replace }).finally(discard), discard };
  } catch (error: unknown) {
    await discard();
    if (signal.aborted) throw signal.reason;
    log(`Dependencies are not cached: ${toError(error).message}`);
    return null;
  }
}

/** Free room in bytes: never more than a fifth of the free disk space. */
async function roomIn({ folder, maxBytes }: Cache): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return Math.min(maxBytes, Math.floor((bavail * bsize) / 5));
}

async function publish(
  cache: Cache,
  path: string,
  { key, replace }: { key: string; replace: boolean },
): Promise<void> {
  const { folder, log, now } = cache;
  try {
    const manifest = readManifest(await readFile(join(path, manifestName), 'utf8'));
    const size = parts.reduce((bytes, part) => bytes + manifest[part].bytes, 0);
    const room = await roomIn(cache);
    if (size > room) throw new Error(`they take ${size} bytes, and there is room for ${room}`);
    for (const each of await entriesToDrop({ folder, keep: key, room: room - size, now: now() }))
      await drop(folder, each);
    if (replace) await drop(folder, key);
    else if (existsSync(join(folder, key))) return;
    const seconds = now() / 1000;
    await utimes(join(path, manifestName), seconds, seconds);
    await rename(path, join(folder, key));
    log('Dependencies are cached for the next runs');
  } catch (error: unknown) {
    log(`Dependencies are not cached: ${toError(error).message}`);
  }
}

class DamagedEntry extends Error {}

/** Renames an entry away at once, so that nobody starts to copy files that are being removed. */
async function drop(folder: string, key: string): Promise<void> {
  const away = join(folder, `.gone-${process.pid}-${randomUUID()}`);
  try {
    await rename(join(folder, key), away);
  } catch {
    // Another process was faster, or there is no entry.
    return;
  }
  await removeTree(away).catch(() => undefined);
}

/** Removes leftovers of killed processes. */
async function removeLeftovers(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number(/^\.(?:draft|gone)-(\d+)-/.exec(name)?.[1] ?? 'NaN');
    if (Number.isNaN(pid) || ownDrafts.has(name)) continue;
    const path = join(folder, name);
    const madeMs = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    const alive = pid !== process.pid && isAlive(pid) && now - madeMs < draftMs;
    if (!alive) await removeTree(path).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error: unknown) {
    return codeOf(error) === 'EPERM';
  }
}

/** Every path must be new, or an existing file, in a folder that is really inside `root`. */
async function refuseOutside(
  root: string,
  { paths, executable }: { paths: readonly string[]; executable: readonly string[] },
): Promise<void> {
  const real = await realpath(root);
  const folders = new Set([...paths, ...executable].map((path) => dirname(path)));
  for (const folder of folders) {
    const expected = folder === '.' ? real : join(real, folder);
    if ((await realpath(join(root, folder))) !== expected)
      throw new Error(`the bundle has no folder of its own ${folder}`);
  }
  const there = (path: string) => lstatSync(join(root, path), { throwIfNoEntry: false });
  for (const path of paths) if (there(path) !== undefined) throw new Error(`the bundle has its own ${path}`);
  for (const path of executable)
    if (there(path)?.isFile() !== true) throw new Error(`the bundle has no file ${path}`);
}

function readManifest(text: string): Manifest {
  const value = JSON.parse(text) as Partial<Manifest> | null;
  for (const part of parts) {
    const { paths, executable, entries, bytes } = value?.[part] ?? {};
    if (!arePaths(paths) || !arePaths(executable) || typeof entries !== 'number' || typeof bytes !== 'number')
      throw new Error('an entry has no usable manifest');
  }
  return value as Manifest; // checked above
}

function arePaths(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (path) =>
        typeof path === 'string' &&
        path.split('/').every((name) => name !== '' && name !== '.' && name !== '..'),
    )
  );
}
