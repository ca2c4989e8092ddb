import { spawn } from 'node:child_process';
import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { toError } from '../../../errors.ts';

/** File trees of the dependency cache: finds what an install has added, copies and counts it. */

/** The content of a folder, by relative path; a folder's own size and times are ignored. */
export type Listing = ReadonlyMap<string, { content: string; mode: number }>;

/** Number of entries and bytes of files: enough to verify that a copy is complete. */
export type Count = { entries: number; bytes: number };

/** Lists a folder. Rejects with errors of the file system. */
export async function listTree(root: string): Promise<Listing> {
  const listing = new Map<string, { content: string; mode: number }>();
  await walk(root, [''], (path, stats) => {
    listing.set(path, { content: contentOf(stats), mode: stats?.mode ?? 0 });
    return true;
  });
  return listing;
}

const contentOf = (stats: Stats | null): string =>
  stats === null ? 'folder' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;

/**
 * The differences between a folder and `before`: the topmost new paths, the paths that are gone or have other content,
 * and those that have only become executable. Rejects with errors of the file system.
 */
export async function changesSince(
  root: string,
  before: Listing,
): Promise<{ added: string[]; changed: string[]; executable: string[] }> {
  const added: string[] = [];
  const executable: string[] = [];
  const same = new Set<string>();
  await walk(root, [''], (path, stats) => {
    const was = before.get(path);
    if (was === undefined) added.push(path);
    else if (was.content === contentOf(stats)) same.add(path);
    const mode = stats?.mode ?? 0;
    if (same.has(path) && mode !== was?.mode && (mode & 0o111) !== 0) executable.push(path);
    return same.has(path);
  });
  const changed = [...before.keys()].filter((path) => !same.has(path));
  return { added: added.sort(), changed: changed.sort(), executable: executable.sort() };
}

/** Counts the entries below these paths of `root`, themselves included. Rejects if one is missing. */
export async function countTree(root: string, paths: readonly string[]): Promise<Count> {
  const count = { entries: 0, bytes: 0 };
  const add = (stats: Stats | null): boolean => {
    count.entries += 1;
    if (stats?.isFile() === true) count.bytes += stats.size;
    return true;
  };
  const folders: string[] = [];
  for (const path of paths) {
    const stats = await lstat(join(root, path));
    add(stats);
    if (stats.isDirectory()) folders.push(path);
  }
  await walk(root, folders, (_, stats) => add(stats));
  return count;
}

const atOnce = 64;

/**
 * Walks through these folders of `root`. `visit` gets each entry, null for a folder, and returns for a folder whether
 * to descend. Links are not followed.
 */
async function walk(
  root: string,
  folders: readonly string[],
  visit: (path: string, stats: Stats | null) => boolean,
): Promise<void> {
  const left = [...folders];
  for (let folder = left.pop(); folder !== undefined; folder = left.pop()) {
    const prefix = folder === '' ? '' : `${folder}/`;
    const others: string[] = [];
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const path = `${prefix}${entry.name}`;
      if (!entry.isDirectory()) others.push(path);
      else if (visit(path, null)) left.push(path);
    }
    for (let at = 0; at < others.length; at += atOnce) {
      const some = others.slice(at, at + atOnce);
      const stats = await Promise.all(some.map((path) => lstat(join(root, path))));
      some.forEach((path, index) => visit(path, stats[index] ?? null));
    }
  }
}

/** Bytes of arguments for one `cp`; the kernel's limit is 2 MiB in total, and 128 KiB each. */
const maxArguments = 96 * 1024;

/**
 * Copies these paths of `from` to the same paths of `to`, where their parent folders exist. Contents are shared if the
 * file system supports it (never by hard links); modes, times and links are kept. Rejects with the output of `cp`, or
 * the signal's reason.
 */
export async function copyTree(options: {
  from: string;
  to: string;
  paths: readonly string[];
  signal: AbortSignal;
}): Promise<void> {
  let group: string[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (group.length > 0) await cp(options, group);
    group = [];
    bytes = 0;
  };
  for (const path of options.paths) {
    const length = Buffer.byteLength(path) + 16;
    if (bytes + length > maxArguments) await flush();
    group.push(path);
    bytes += length;
  }
  await flush();
}

function cp(
  options: { from: string; to: string; signal: AbortSignal },
  paths: readonly string[],
): Promise<void> {
  const { from, to, signal } = options;
  signal.throwIfAborted();
  const args = ['-a', '--reflink=auto', '--parents', '--', ...paths, to];
  // `cp` needs no environment, so it gets none of the agent's.
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' };
  const child = spawn('cp', args, { cwd: from, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const stop = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', stop);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(0, 2000)));
  return new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`cp cannot be started: ${error.message}`)));
    child.once('close', (code) => {
      if (signal.aborted) return reject(toError(signal.reason));
      if (code === 0) return resolve();
      reject(new Error(said.split('\n', 1)[0] ?? `cp exited with ${code}`));
    });
  }).finally(() => signal.removeEventListener('abort', stop));
}
