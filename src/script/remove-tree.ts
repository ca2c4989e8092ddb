import { chmod, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes of a path from which on what is below it moves up; the kernel takes 4095, and names have up to 255. */
const longPath = 2000;

/** Removes a folder with all that is in it, whatever its modes and however deep. Rejects with what the file system says. */
export async function removeTree(root: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 };
  try {
    await rm(root, options);
  } catch {
    await makeRemovable(root);
    await rm(root, options);
  }
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
