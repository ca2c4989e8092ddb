import { randomUUID } from 'node:crypto';
import { promises as fs } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Log } from '../../log.ts';
import type { Artifact } from '../../protocol/result.ts';
import {
  beatFolder,
  isOwnerGone,
  ownerBeatMs,
  ownerFiles,
  signFolder,
  unsignFolder,
} from '../folders/owner.ts';
import type { AgentMetrics } from '../metrics/counters.ts';

/** A scrubbed file that waits to be sent to the service. */
export type StoredArtifact = {
  id: string;
  /** The file with its bytes. */
  path: string;
  jobId: string;
  attempt: number;
  leaseToken: string;
  name: string;
  type: Artifact['type'];
  contentType: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the complete file, in base64. */
  sha256: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
};

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

const binary = '.bin';
const about = '.about';
const adoptedPrefix = 'from-';
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
}): ArtifactStore {
  const { root, limits, log } = options;
  const home = join(root, options.instanceId);
  const known = new Map<string, StoredArtifact>();
  let filled: () => void = () => undefined;
  let signing: Promise<void> | null = null;
  let beat: NodeJS.Timeout | undefined;
  const timers: NodeJS.Timeout[] = [];

  const sign = async () => {
    await signFolder(home);
    await beatFolder(home);
    beat ??= setInterval(() => void beatFolder(home).catch(() => undefined), ownerBeatMs).unref();
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

  /** Moves a folder's files to this agent's folder. */
  const flatten = async (folder: string) => {
    const names = await fs.readdir(folder, { withFileTypes: true });
    for (const entry of names) {
      if (entry.isDirectory()) await flatten(join(folder, entry.name));
    }
    for (const { name } of names.filter((entry) => entry.name.endsWith(about))) {
      const artifact = await read(join(folder, name), home);
      // Move the bytes first: a description implies that the bytes exist.
      const bytes = name.slice(0, -about.length) + binary;
      // An adopter that was killed between the two moves has left the bytes one folder above.
      for (const source of [join(folder, bytes), join(dirname(folder), bytes)]) {
        if (artifact === null || (await sizeOf(source)) !== artifact.size) continue;
        await fs.rename(source, artifact.path);
        await fs.rename(join(folder, name), join(home, name));
        known.set(artifact.id, artifact);
        break;
      }
    }
    await fs.rm(folder, { recursive: true, force: true });
  };

  const adopt = async () => {
    const entries = await fs.readdir(root, { withFileTypes: true }).catch(() => []);
    const others = entries.filter((entry) => entry.isDirectory() && join(root, entry.name) !== home);
    if (others.length === 0) return;
    await signed();
    const clock = join(home, ownerFiles.alive);
    const before = known.size;
    for (const { name } of others) {
      if (!(await isOwnerGone(join(root, name), clock, holdsArtifacts).catch(() => false))) continue;
      // Another agent may adopt at the same moment; only one rename of a folder succeeds.
      const mine = join(home, adoptedPrefix + name);
      const won = await fs.rename(join(root, name), mine).then(
        () => true,
        () => false,
      );
      if (won) await flatten(mine);
    }
    if (known.size === before) return;
    log.info({ artifacts: known.size - before }, 'found artifacts of an earlier agent; sending them');
    await bound();
    filled();
  };
  const adoptQuietly = () =>
    adopt().catch((error: unknown) => log.warn({ err: error }, 'artifacts of earlier agents cannot be read'));
  timers.push(setInterval(() => void adoptQuietly(), adoptEveryMs).unref());

  return {
    place: async (bytes) => {
      await signed();
      const { bavail, bsize } = await fs.statfs(home);
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
      await fs.writeFile(`${file}.part`, JSON.stringify(written), { mode: 0o600 });
      await fs.rename(`${file}.part`, file);
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
      if (signing === null) return;
      await unsignFolder(home).catch(() => undefined);
      await fs.rmdir(home).catch(() => undefined);
    },
  };
}

function inOrder(artifacts: Iterable<StoredArtifact>): StoredArtifact[] {
  return [...artifacts].sort((a, b) => a.createdAt - b.createdAt);
}

function holdsArtifacts(names: readonly string[]): boolean {
  return names.some((name) => name.endsWith(about) || name.startsWith(adoptedPrefix));
}

async function sizeOf(path: string): Promise<number | null> {
  return fs.stat(path).then(
    ({ size }) => size,
    () => null,
  );
}

/** Reads the description of an artifact; null if it is damaged. The bytes will be in `home`. */
async function read(file: string, home: string): Promise<StoredArtifact | null> {
  try {
    const found = JSON.parse(await fs.readFile(file, 'utf8')) as Partial<StoredArtifact>; // checked below
    const { id, jobId, attempt, leaseToken, name, type, contentType, size, sha256, createdAt } = found;
    const texts = [jobId, leaseToken, name, type, contentType, sha256];
    if (typeof id !== 'string' || !/^[0-9a-f-]{36}$/.test(id)) return null;
    if (texts.some((text) => typeof text !== 'string')) return null;
    if (![attempt, size, createdAt].every((number) => Number.isSafeInteger(number))) return null;
    return { ...(found as StoredArtifact), path: join(home, id + binary) }; // every field has been checked
  } catch {
    return null;
  }
}
