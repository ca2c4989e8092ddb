import { randomUUID } from 'node:crypto';
import { promises as fs } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Log } from '../../log.ts';
import type { DiskDeadline } from '../folders/disk-deadline.ts';
import { beatFolder, beatsOf, ownerBeatMs, ownerFiles, signFolder, unsignFolder } from '../folders/owner.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { about, adoptDeadFolders, binary, foldersOfOthers, sizeOf } from './adoption.ts';
import type { StoredArtifact } from './stored-artifact.ts';

export type ArtifactLimits = {
  /** Maximum size of all files together, in bytes. Above it the oldest file is dropped, counted and reported. */
  capBytes: number;
  /** Free disk space that is reserved for results, in bytes. */
  reserveBytes: number;
};

export const artifactLimits: ArtifactLimits = {
  capBytes: 2 * 1024 ** 3,
  reserveBytes: 256 * 1024 ** 2,
};

/**
 * Scrubbed files of this agent on disk, each with a JSON file that describes it. Every process has its own folder
 * below `artifacts/`, created with its first file. A running agent adopts the folders of dead processes.
 */
export type ArtifactStore = {
  /** A path for a new file of about `bytes`. Rejects with an ENOSPC error if the disk has no room for it. */
  place: (bytes: number) => Promise<string>;
  /** Stores the file at a path that `place` returned. From then on it survives a crash. */
  keep: (path: string, about: Omit<StoredArtifact, 'id' | 'path' | 'createdAt'>) => Promise<void>;
  /** All files that wait, oldest first. */
  waiting: () => readonly StoredArtifact[];
  /** Removes a file from the list and from the disk. */
  remove: (artifact: StoredArtifact) => Promise<void>;
  /** Adopts the files of dead agents. Never rejects. */
  adopt: () => Promise<void>;
  onFilled: (listener: () => void) => void;
  close: () => Promise<void>;
};

const adoptEveryMs = 60_000;
/** Even small files take memory and a directory entry. */
const maxFiles = 20_000;

export function createArtifactStore(options: {
  /** The folder that all agents of a data directory share. */
  root: string;
  instanceId: string;
  limits: ArtifactLimits;
  metrics: AgentMetrics;
  log: Log;
  now: () => number;
  /** Called with files that were dropped because there were too many. */
  onDropped: (artifact: StoredArtifact) => void;
  /** Shared with everything else that uses the data folder. */
  disk: DiskDeadline;
}): ArtifactStore {
  const { root, limits, log, disk } = options;
  const home = join(root, options.instanceId);
  const known = new Map<string, StoredArtifact>();
  let filled: () => void = () => undefined;
  let signing: Promise<void> | null = null;
  let beat: NodeJS.Timeout | undefined;
  const timers: NodeJS.Timeout[] = [];

  const sign = async () => {
    await signFolder(home);
    await beatFolder(home);
    beat ??= setInterval(beatsOf(home), ownerBeatMs).unref();
  };
  const signed = async () => {
    // An agent that was suspended for a long time was considered dead, and its folder was adopted.
    if (signing !== null && (await sizeOf(join(home, ownerFiles.owner))) === null) signing = null;
    signing ??= sign();
    await signing.catch((error: unknown) => {
      signing = null;
      throw error;
    });
  };

  const remove = async (artifact: StoredArtifact) => {
    known.delete(artifact.id);
    // A file without its description cannot be sent; the next adoption removes it.
    await fs.rm(join(home, artifact.id + about), { force: true });
    await fs.rm(artifact.path, { force: true });
  };

  const bound = async () => {
    let bytes = 0;
    for (const { size } of known.values()) bytes += size;
    for (const artifact of inOrder(known.values())) {
      if (bytes <= limits.capBytes && known.size <= maxFiles) break;
      bytes -= artifact.size;
      await remove(artifact);
      options.onDropped(artifact);
    }
  };

  const adopt = async () => {
    const folders = await foldersOfOthers(root, home);
    if (folders.length === 0) return;
    await signed();
    const before = known.size;
    await adoptDeadFolders(folders, home, (artifact) => known.set(artifact.id, artifact));
    if (known.size === before) return;
    log.info({ artifacts: known.size - before }, 'found artifacts of an earlier agent; sending them');
    await bound();
    filled();
  };
  const adoptQuietly = async () => {
    if (disk.hangs) return;
    await adopt().catch((error: unknown) =>
      log.warn({ err: error }, 'artifacts of earlier agents cannot be read'),
    );
  };
  timers.push(setInterval(() => void adoptQuietly(), adoptEveryMs).unref());

  return {
    place: async (bytes) => {
      disk.check();
      await disk.within(signed());
      const { bavail, bsize } = await disk.within(fs.statfs(home));
      if (bavail * bsize - bytes < limits.reserveBytes) {
        throw Object.assign(new Error('the disk of this agent is full'), { code: 'ENOSPC' });
      }
      return join(home, randomUUID() + binary);
    },
    keep: async (path, facts) => {
      const id = path.slice(dirname(path).length + 1, -binary.length);
      const artifact: StoredArtifact = { ...facts, id, path, createdAt: options.now() };
      const { path: _path, ...written } = artifact;
      const file = join(home, id + about);
      disk.check();
      await disk.within(fs.writeFile(`${file}.part`, JSON.stringify(written), { mode: 0o600 }));
      await disk.within(fs.rename(`${file}.part`, file));
      known.set(id, artifact);
      await bound();
      filled();
    },
    waiting: () => inOrder(known.values()),
    remove,
    adopt: adoptQuietly,
    onFilled: (listener) => {
      filled = listener;
    },
    close: async () => {
      for (const timer of [beat, ...timers]) clearInterval(timer);
      if (signing === null || disk.hangs) return;
      await unsignFolder(home).catch(() => undefined);
      await fs.rmdir(home).catch(() => undefined);
    },
  };
}

function inOrder(artifacts: Iterable<StoredArtifact>): StoredArtifact[] {
  return [...artifacts].sort((a, b) => a.createdAt - b.createdAt);
}
