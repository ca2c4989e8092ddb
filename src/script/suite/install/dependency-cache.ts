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
 * Installed dependencies that outlive a run: below `folder` an entry for each key (dependency-key.ts), written by this process
 * alone and never by what a suite runs. An entry is made apart and renamed into place, and only read after that, so that any
 * number of runs and agents may share a folder. Whatever fails here costs a run its cache, never its life.
 */
export type DependencyCache = {
  /**
   * Copies what is kept under `key` into the run's folders. False = nothing is, or it can't be used; the folders are then as
   * before. Rejects with the signal's reason alone.
   */
  take: (key: string, to: CachedFolders, signal: AbortSignal) => Promise<boolean>;
  /** What stands in the run's folders before the install; null = it can't be told. */
  before: (folders: CachedFolders) => Promise<BeforeInstall | null>;
  /** Copies aside what the install has added; `replace` = to be kept in the place of what is. Null = it can't be kept. Rejects with the signal's reason alone. */
  draft: (
    key: string,
    options: { before: BeforeInstall; replace: boolean; signal: AbortSignal },
  ) => Promise<DependencyDraft | null>;
};

/** Folders of a run in which an install leaves what tests need: the project, and programs of the run's own. */
export type CachedFolders = { project: string; programs: string };
export type BeforeInstall = { folders: CachedFolders; project: Listing; programs: Listing };

export type DependencyDraft = {
  /** Keeps it for later runs: for a run that has passed. Never rejects. */
  publish: () => Promise<void>;
  /** Never rejects. */
  discard: () => Promise<void>;
};

/** Paths that the install has added, and files of the bundle that it has made executable. */
type Manifest = Record<keyof CachedFolders, Count & { paths: string[]; executable: string[] }>;
const parts = ['project', 'programs'] as const;
const manifestName = 'manifest.json';

/** Beyond that, copying file by file would take longer than the install. */
const maxPaths = 10_000;
/** A draft whose run is over long since, by whatever process. */
const draftMs = dayMs / 4;

/** Drafts of this process, which has the same id as the one before it in a container. */
const ownDrafts = new Set<string>();

export type DependencyCacheOptions = {
  folder: string;
  /** What the run's log says about the cache. */
  log: (line: string) => void;
  /** Default 10 GiB. */
  maxBytes?: number;
  /** Now, in milliseconds since the epoch. */
  now?: () => number;
};

const defaultMaxBytes = 10 * 1024 ** 3;

/** Opens the cache in `folder`, which it makes; cheap, to be called for each run. */
export function openDependencyCache(options: DependencyCacheOptions): DependencyCache {
  const { folder, log, maxBytes = defaultMaxBytes, now = Date.now } = options;
  return {
    take: async (key, to, signal) => {
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
        // Before it is copied: what is used now is the last to go.
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
            throw new DamagedEntry('an entry is not what was stored');
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
    },

    before: async (folders) => {
      try {
        await mkdir(folders.programs, { recursive: true });
        const [project, programs] = [await listTree(folders.project), await listTree(folders.programs)];
        return { folders, project, programs };
      } catch (error: unknown) {
        log(`Dependencies will not be cached: ${toError(error).message}`);
        return null;
      }
    },

    draft: async (key, { before, replace, signal }) => {
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
          // A link in its place would have the agent copy what the suite itself must not read.
          if (!lstatSync(from).isDirectory()) throw new Error(`the install has replaced the folder ${part}`);
          const { added, changed, executable } = await changesSince(from, before[part]);
          if (added.length > maxPaths) throw new Error(`the install left files in ${added.length} places`);
          const count = await countTree(from, added);
          const room = await roomNow();
          if (count.bytes > room)
            throw new Error(`the install left ${count.bytes} bytes, and there is room for ${room}`);
          // What a suite's own files are comes with its bundle; managers rewrite a lock file that says the same.
          const foreign = changed.find(
            (each) => !['package.json', ...lockFileNames].includes(basename(each)),
          );
          if (foreign !== undefined) throw new Error(`the install changed a file of the bundle: ${foreign}`);
          manifest[part] = { ...count, paths: added, executable };
          await mkdir(join(path, part));
          await copyTree({ from, to: join(path, part), paths: added, signal });
        }
        await writeFile(join(path, manifestName), JSON.stringify(manifest));
        return { publish: () => publish(path, { key, replace }).finally(discard), discard };
      } catch (error: unknown) {
        await discard();
        if (signal.aborted) throw signal.reason;
        log(`Dependencies are not cached: ${toError(error).message}`);
        return null;
      }
    },
  };

  /** Bytes: never more than a fifth of what is free on the disk. */
  async function roomNow(): Promise<number> {
    const { bavail, bsize } = await statfs(folder);
    return Math.min(maxBytes, Math.floor((bavail * bsize) / 5));
  }

  async function publish(path: string, { key, replace }: { key: string; replace: boolean }): Promise<void> {
    try {
      const manifest = readManifest(await readFile(join(path, manifestName), 'utf8'));
      const size = parts.reduce((bytes, part) => bytes + manifest[part].bytes, 0);
      const room = await roomNow();
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
}

class DamagedEntry extends Error {}

/** Out of the way at once, so that nobody begins to copy what is being removed. */
async function drop(folder: string, key: string): Promise<void> {
  const away = join(folder, `.gone-${process.pid}-${randomUUID()}`);
  try {
    await rename(join(folder, key), away);
  } catch {
    // Another was quicker, or there is none.
    return;
  }
  await removeTree(away).catch(() => undefined);
}

/** What processes that were killed have left. */
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

/** Every path must be new, or a file that is there, and stand in a folder that really is one of `root`. */
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
