import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import { dayMs, hourMs } from '../../durations.ts';
import { makeFolder } from '../folders/owner.ts';

/**
 * Keeps pieces of damaged segments and results that the service refuses, for a person to inspect, in a folder that all
 * agents of a data directory share. It is limited by bytes, files and age: the oldest files are removed first.
 */
export type Aside = {
  /** Writes a file. Rejects with the file system's error. */
  keep: (name: string, bytes: Buffer) => Promise<void>;
  /** The same for a result that the service refuses; its name says when and by which agent. */
  keepRefused: (instanceId: string, payload: Buffer) => Promise<void>;
  /** Removes files that are too old or too many. Never rejects. */
  prune: () => Promise<void>;
  /** The same, at most once an hour. */
  pruneHourly: () => Promise<void>;
};

/** Name of the folder, next to those of the agents. */
export const asideFolder = 'damaged';

export const asideLimits = {
  bytes: 16 * 1024 * 1024,
  files: 500,
  ageMs: 14 * dayMs,
  /** Of one file; the rest of a longer piece is not kept. */
  fileBytes: 1024 * 1024,
} as const;

/** `root`: the folder with one subfolder per agent. */
export function createAside(root: string, now: () => number): Aside {
  const folder = join(root, asideFolder);
  let prunedAt = -Infinity;
  const prune = async () => {
    const names = await fs.readdir(folder).catch(() => []);
    const files: { path: string; size: number; time: number }[] = [];
    for (const name of names) {
      const path = join(folder, name);
      const stats = await fs.stat(path).catch(() => null);
      if (stats !== null) files.push({ path, size: stats.size, time: stats.mtimeMs });
    }
    files.sort((a, b) => b.time - a.time);
    let bytes = 0;
    for (const [index, { path, size, time }] of files.entries()) {
      bytes += size;
      const keeps =
        bytes <= asideLimits.bytes && index < asideLimits.files && now() - time <= asideLimits.ageMs;
      if (!keeps) await fs.rm(path, { force: true }).catch(() => undefined);
    }
  };
  const keep = async (name: string, bytes: Buffer) => {
    await makeFolder(folder);
    const path = join(folder, name);
    await fs.writeFile(path, bytes.subarray(0, asideLimits.fileBytes), { mode: 0o600 });
    // Its age counts by the agent's clock.
    await fs.utimes(path, now() / 1000, now() / 1000);
    await prune();
  };
  let refused = 0;
  return {
    keep,
    keepRefused: (instanceId, payload) => {
      refused += 1;
      return keep(`refused-${now()}-${refused}-${instanceId.slice(0, 8)}.json`, payload);
    },
    prune,
    pruneHourly: async () => {
      if (now() - prunedAt <= hourMs) return;
      prunedAt = now();
      await prune();
    },
  };
}
