import { chmodSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { join } from 'node:path';

/** Number of files and folders that one repair looks at, and how deep it looks. */
const maxEntries = 5000;
const maxDepth = 3;
/** Folders of runs are new in every run. */
const skipped = new Set(['runs', 'playwright']);

/**
 * Gives this user its own files below `root` back: where the host allows no mounts in namespaces, a script can change
 * their modes. Follows no links, and leaves files of other users alone. Returns the number of repaired paths. Never
 * throws: what cannot be repaired is reported when it is used.
 */
export function repairModes(root: string): number {
  const user = process.getuid?.();
  let left = maxEntries;
  let repaired = 0;
  const repair = (path: string, stats: Stats): void => {
    const needed = stats.isDirectory() ? 0o700 : 0o600;
    if (stats.uid !== user || (stats.mode & needed) === needed) return;
    chmodSync(path, (stats.mode & 0o777) | needed);
    repaired += 1;
  };
  const visit = (path: string, depth: number): void => {
    if (left-- <= 0) return;
    try {
      const stats = lstatSync(path);
      if (!stats.isDirectory() && !stats.isFile()) return;
      repair(path, stats);
      if (!stats.isDirectory() || depth === maxDepth) return;
      for (const name of readdirSync(path)) {
        if (depth > 0 || !skipped.has(name)) visit(join(path, name), depth + 1);
      }
    } catch {
      // Missing, or not ours to change.
    }
  };
  visit(root, 0);
  return repaired;
}
