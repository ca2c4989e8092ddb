import { lstat, mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toError } from '../../../errors.ts';
import { removeTree } from '../../process/remove-tree.ts';
import { codeOf } from '../../../system-errors.ts';
import { shortened } from '../../../shortened.ts';

/**
 * Playwright's own browser builds, kept across runs: one folder per browser and revision, renamed into place when it is
 * complete and read-only from then on. Agents of one data directory share it.
 */
export type BrowserStore = {
  /** The folder of a stored browser, marked as used; null = it is not stored. */
  find: (name: string) => Promise<string | null>;
  /**
   * Lets `install` fill a folder with these browsers, and stores the result. Concurrent requests for one of them wait.
   * Returns the reason if nothing was installed, immediately if an earlier attempt for the same browsers or the same
   * host has just failed. Rejects with the signal's reason, also while it waits for another run's install. No suite may
   * influence the files that `install` writes, because all runs use them.
   */
  add: (
    names: readonly string[],
    options: {
      from: string;
      /** Version of the Playwright that needs them. */
      version: string;
      install: (folder: string) => Promise<string | null>;
      signal: AbortSignal;
    },
  ) => Promise<string | null>;
};

/** How long a failed install is not tried again. */
const unreachableMs = 30 * 60_000;
/** Failures that would affect other installs too, whatever they need. */
export const unreachable =
  /\b(?:E(?:NOTFOUND|CONNREFUSED|CONNRESET|TIMEDOUT|AI_AGAIN|NETUNREACH|HOSTUNREACH)|getaddrinfo|timed out)\b|certificate/i;
/** An install refreshes its lock periodically; after this long without a refresh it is dead. */
const lockBeatMs = 5000;
const lockDeadMs = 30_000;
const lockPollMs = 500;
/** A revision that no run has used for this long is deleted. */
const unusedMs = 30 * 24 * 3600_000;

const complete = 'INSTALLATION_COMPLETE';
const folderName = /^[a-z][a-z0-9_]*-[\w.]{1,32}$/;

/** `now`: milliseconds since the epoch. */
export function createBrowserStore(folder: string, now: () => number = Date.now): BrowserStore {
  const noteFile = join(folder, '.unreachable.json');
  const lockFile = join(folder, '.lock');
  let last: Promise<unknown> = Promise.resolve();

  const find = async (name: string): Promise<string | null> => {
    const path = join(folder, name);
    if (!folderName.test(name) || !(await exists(join(path, complete)))) return null;
    const time = new Date(now());
    await utimes(path, time, time).catch(() => undefined);
    return path;
  };
  const addNow = async (...[names, { from, version, install, signal }]: Parameters<BrowserStore['add']>) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const unlock = await lock(lockFile, signal);
    try {
      const missing: string[] = [];
      // Another run may have installed them while this one waited.
      for (const name of names) if ((await find(name)) === null) missing.push(name);
      if (missing.length === 0) return null;
      const failed = await recentFailure(noteFile, { from, version, names: missing }, now());
      if (failed !== null) return failed;
      await removeOld(folder, now());
      const draft = join(folder, `.new-${process.pid}-${process.hrtime.bigint()}`);
      await mkdir(draft, { mode: 0o700 });
      try {
        const failure = await install(draft);
        for (const name of await readdir(draft)) {
          // The requested browsers, and those that come with them.
          const isMeant = names.includes(name) || /^(?:ffmpeg|winldd)-/.test(name);
          if (!folderName.test(name) || !isMeant || !(await isWhole(join(draft, name)))) continue;
          if ((await find(name)) === null) await rename(join(draft, name), join(folder, name));
        }
        if (failure === null) await rm(noteFile, { force: true });
        else {
          // A failure applies only to these browsers or this host: a missing WebKit build must not block Chromium.
          // The version comes from the project and may be any text.
          const all = unreachable.test(failure.replaceAll(version, '')) ? null : names;
          const note = { from, version, names: all, at: now(), failure: shortened(failure, 1000) };
          await writeFile(noteFile, JSON.stringify(note));
        }
        return failure;
      } finally {
        await removeTree(draft).catch(() => undefined);
      }
    } finally {
      await unlock();
    }
  };
  return {
    find,
    add: (names, options) => {
      // Within this process installs run one after the other; the lock is for other agents.
      const { signal } = options;
      let begun = false;
      const mine = last.then(() => {
        begun = true;
        return addNow(names, options);
      });
      last = mine.catch(() => undefined);
      return new Promise((resolve, reject) => {
        mine.then(resolve, reject);
        // A caller that only waits for others rejects at once; its own install stops first, with all of its programs.
        const leave = () => (begun ? undefined : reject(toError(signal.reason)));
        signal.addEventListener('abort', leave, { once: true });
        if (signal.aborted) leave();
      });
    },
  };
}

async function recentFailure(
  file: string,
  { from, version, names }: { from: string; version: string; names: readonly string[] },
  now: number,
): Promise<string | null> {
  try {
    const note = JSON.parse(await readFile(file, 'utf8')) as {
      from?: unknown;
      version?: unknown;
      names?: unknown;
      at?: unknown;
      failure?: unknown;
    };
    if (note.from !== from || typeof note.at !== 'number' || typeof note.failure !== 'string') return null;
    const failed = Array.isArray(note.names) ? (note.names as unknown[]) : null;
    // If a project requests builds that do not exist, other runs are not affected.
    const isSame = note.version === version && names.some((name) => failed?.includes(name));
    if (failed !== null && !isSame) return null;
    const age = now - note.at;
    return age >= 0 && age < unreachableMs ? note.failure : null;
  } catch {
    return null;
  }
}

/**
 * Removes revisions that no run has used for long, and leftovers of killed installs: the holder of the lock is the only
 * writer.
 */
async function removeOld(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const limit = name.startsWith('.new-') ? -Infinity : folderName.test(name) ? unusedMs : Infinity;
    const found = await stat(path).catch(() => null);
    if (found !== null && now - found.mtimeMs > limit) await removeTree(path).catch(() => undefined);
  }
}

/** Waits for the lock of all agents that share the folder. Rejects with the signal's reason. */
async function lock(file: string, signal: AbortSignal): Promise<() => Promise<void>> {
  for (;;) {
    signal.throwIfAborted();
    try {
      await (await open(file, 'wx')).close();
      break;
    } catch (error: unknown) {
      const code = codeOf(error);
      if (code !== 'EEXIST') throw error;
    }
    // By the clock of the folder's own file system, which other machines may share.
    const found = await stat(file).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > lockDeadMs) await rm(file, { force: true });
    else await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  }
  const beat = setInterval(() => {
    const time = new Date();
    void utimes(file, time, time).catch(() => undefined);
  }, lockBeatMs);
  beat.unref();
  return async () => {
    clearInterval(beat);
    await rm(file, { force: true });
  };
}

/** Later runs could read through a link, so links are refused. */
const isWhole = async (path: string): Promise<boolean> =>
  (await lstat(path)).isDirectory() && (await exists(join(path, complete)));

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
