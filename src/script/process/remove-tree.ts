import { chmod, lstat, opendir, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { codeOf } from '../../system-errors.ts';

/** Path length in bytes above which folders are moved up first; the kernel's limit is 4095, and names have up to 255. */
const longPath = 2000;
/** Number of names held at a time. A suite may leave a million of them, and Node's `rm` holds them all. */
const atOnce = { files: 64, folders: 512, read: 128 };
/** Number of folders that one removal empties concurrently. */
const sideBySide = 8;
/** Number of passes over a folder that find something again although nobody should write to it any more. */
const maxPasses = 10;

/**
 * Removes a folder and its content, whatever its modes, depth and number of files, in little memory. A missing folder
 * is not an error. Rejects with errors of the file system.
 */
export async function removeTree(root: string): Promise<void> {
  const state = await lstat(root).catch(orNothing);
  if (state === null) return;
  if (!state.isDirectory()) return void (await unlink(root).catch(orNothing));
  const tree = { root, moved: 0, busy: 0 };
  await removeFolder(root, tree);
}

type Tree = { readonly root: string; moved: number; busy: number };

async function removeFolder(folder: string, tree: Tree): Promise<void> {
  let opened = false;
  for (let passes = 1; ; passes++) {
    try {
      const below = await removeFiles(folder);
      if (below.length > 0) {
        await removeBelow(folder, below, tree);
        passes = 0;
        continue;
      }
      await rmdir(folder).catch(orNothing);
      return;
    } catch (error: unknown) {
      const code = codeOf(error);
      if ((code === 'EACCES' || code === 'EPERM') && !opened) {
        opened = true;
        await chmod(folder, 0o700);
      } else if (passes >= maxPasses || (code !== 'ENOTEMPTY' && code !== 'EBUSY' && code !== 'EMFILE')) {
        throw error;
      } else {
        await wait(passes * 10);
      }
    }
  }
}

/** Removes everything that is not a folder; returns names of folders, not always all. */
async function removeFiles(folder: string): Promise<string[]> {
  const below: string[] = [];
  const removals = several(atOnce.files);
  const directory = await opendir(folder, { bufferSize: atOnce.read }).catch(orNothing);
  if (directory === null) return below;
  for await (const entry of directory) {
    if (entry.isDirectory()) below.push(entry.name);
    else await removals.add(unlink(join(folder, entry.name)).catch(orNothing));
    if (below.length >= atOnce.folders) break;
  }
  await removals.end();
  return below;
}

async function removeBelow(folder: string, names: readonly string[], tree: Tree): Promise<void> {
  const removals = several(sideBySide);
  for (const name of names) {
    const path = join(folder, name);
    if (Buffer.byteLength(path) > longPath) {
      // Moving a folder requires write permission on it. The next pass over the root finds it there.
      await chmod(path, 0o700);
      tree.moved += 1;
      await rename(path, join(tree.root, `.moved-${process.pid}-${tree.moved}`));
      continue;
    }
    tree.busy += 1;
    const removal = removeFolder(path, tree).finally(() => (tree.busy -= 1));
    await removals.add(removal);
    if (tree.busy >= sideBySide) await removals.settled();
  }
  await removals.end();
}

/** Runs at most `most` promises at a time. The first failure is thrown at the end, so that no rejection is unhandled. */
function several(most: number) {
  let open: Promise<unknown>[] = [];
  const failures: unknown[] = [];
  const settled = async () => {
    await Promise.all(open);
    open = [];
  };
  return {
    settled,
    add: async (promise: Promise<unknown>) => {
      open.push(promise.catch((error: unknown) => failures.length === 0 && failures.push(error)));
      if (open.length >= most) await settled();
    },
    end: async () => {
      await settled();
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** Ignores errors of files that are already gone. */
function orNothing(error: unknown): null {
  if (codeOf(error) === 'ENOENT') return null;
  throw error;
}

/**
 * Prepares the folders below `root`, to which nobody writes any more, for an ordinary removal: this user may enter each
 * folder, and no path is too long (a script can nest deeper than the path limit). Links are not followed. Rejects with
 * errors of the file system.
 */
export async function makeRemovable(root: string): Promise<void> {
  const left = [root];
  let moved = 0;
  for (let folder = left.pop(); folder !== undefined; folder = left.pop()) {
    await chmod(folder, 0o700);
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      const below = join(folder, entry.name);
      if (Buffer.byteLength(below) <= longPath) {
        left.push(below);
        continue;
      }
      // Moving a folder requires write permission on it.
      await chmod(below, 0o700);
      moved += 1;
      const higher = join(root, `.moved-${process.pid}-${moved}`);
      await rename(below, higher);
      left.push(higher);
    }
  }
}
