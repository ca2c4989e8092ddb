import { chmod, lstat, opendir, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { codeOf } from '../../system-errors.ts';

/** Bytes of a path from which on what is below it moves up; the kernel takes 4095, and names have up to 255. */
const longPath = 2000;
/** Names that are held at a time; a suite may leave a million of them, and `rm` of Node's holds them all. */
const atOnce = { files: 64, folders: 512, read: 128 };
/** Folders that are emptied side by side, of one removal. */
const sideBySide = 8;
/** Passes over a folder that find something again although nobody should write to it any more. */
const maxPasses = 10;

/**
 * Removes a folder with all that is in it, whatever its modes, however deep and however many files, in little memory. One that is
 * not there is no error. Rejects with what the file system says.
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

/** Removes what is no folder; names of folders, not always all. */
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
      // To move a folder, one must be able to write to it. The next pass over the root finds it there.
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

/** Lets `most` promises go on at a time. The first failure comes out at the end, so that none is nobody's. */
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

/** Of what is gone already. */
function orNothing(error: unknown): null {
  if (codeOf(error) === 'ENOENT') return null;
  throw error;
}

/**
 * Makes the folders below `root`, which nobody changes any more, such that an ordinary removal gets through: this user may
 * enter each, and no path is too long (a script can nest deeper than any path may name). Links are not followed. Rejects with
 * what the file system says.
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
      // To move a folder, one must be able to write to it.
      await chmod(below, 0o700);
      moved += 1;
      const higher = join(root, `.moved-${process.pid}-${moved}`);
      await rename(below, higher);
      left.push(higher);
    }
  }
}
