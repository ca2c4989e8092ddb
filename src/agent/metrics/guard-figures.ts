import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import { within } from '../../time-limit.ts';
import { ownCgroup, textOf } from '../load/cgroup.ts';
import { fieldOf, numberOf, pressureOf } from '../load/readings.ts';

/** What the host leaves to this agent. Each is null if it cannot be measured now; a guard never stays raised for null. */
export type GuardFigures = {
  /** Memory of the cgroup that has a limit and is closest to it; page cache that the kernel can drop is not counted. */
  memory: { usedBytes: number; limitBytes: number } | null;
  /** Percent of the last 10 s in which some task of the cgroup (or else of the host) waited. */
  cpuPressure: number | null;
  /** Percent of the last 10 s in which all tasks waited for memory or for a disk. */
  memoryPressure: number | null;
  diskPressure: number | null;
  descriptors: { used: number; limit: number } | null;
  /** Processes and threads of the cgroup. */
  processes: { used: number; limit: number } | null;
  /** Free bytes and free inodes of the data folder; file systems without a fixed number of inodes have none to count. */
  disk: { freeBytes: number; freeInodes: number | null } | null;
};

/** A disk that does not answer within this time, such as that of a file server which is away, is not measured. */
const patienceMs = 2000;

/** Creates a function that reads all figures; it costs about 0.3 ms and never rejects. */
export function createFiguresOfGuards(
  dataDir: string,
  { freeSpaceOf = freeSpace, descriptorsOf = openDescriptors } = {},
): () => Promise<GuardFigures> {
  const disk = inTime(() => freeSpaceOf(dataDir));
  // A folder of the kernel never hangs, but other readings may hold all threads of the pool for file systems.
  const descriptors = inTime(descriptorsOf);
  return async () => figuresWith(...(await Promise.all([descriptors(), disk()])));
}

/** Makes a reading null if it takes too long. While it hangs no other is started: each would hold a thread of the pool. */
function inTime<T>(read: () => Promise<T | null>): () => Promise<T | null> {
  let reading: Promise<T | null> | null = null;
  return () => {
    reading ??= read()
      .catch(() => null)
      .finally(() => (reading = null));
    return within(reading, patienceMs);
  };
}

function figuresWith(descriptors: GuardFigures['descriptors'], disk: GuardFigures['disk']): GuardFigures {
  return {
    memory: closest(memoryOf),
    cpuPressure: pressure('cpu')?.some ?? null,
    memoryPressure: pressure('memory')?.full ?? null,
    diskPressure: pressure('io')?.full ?? null,
    descriptors,
    processes: processCount(),
    disk,
  };
}

function memoryOf(folder: string, version: 1 | 2): { used: number; limit: number } | null {
  const names =
    version === 2
      ? (['memory.current', 'memory.max', ''] as const)
      : (['memory.usage_in_bytes', 'memory.limit_in_bytes', 'total_'] as const);
  const used = numberIn(folder, names[0]);
  const limit = numberIn(folder, names[1]);
  if (used === null || limit === null) return null;
  // What the kernel drops as soon as somebody needs memory.
  const statistics = textOf(join(folder, 'memory.stat')) ?? '';
  const field = (name: string) => fieldOf(statistics, name) ?? 0;
  const cache =
    field(`${names[2]}inactive_file`) + field(`${names[2]}active_file`) + field('slab_reclaimable');
  return { used: Math.max(0, used - cache), limit };
}

/** The memory of the cgroup, or of one above it, whose limit is the closest. */
function closest(read: typeof memoryOf): GuardFigures['memory'] {
  const cgroup = ownCgroup('memory');
  let found: GuardFigures['memory'] = null;
  for (const folder of cgroup?.folders ?? []) {
    const one = read(folder, cgroup?.version ?? 2);
    // Version 1 writes "no limit" as a number beyond any memory.
    if (one === null || one.limit <= 0 || one.limit > Number.MAX_SAFE_INTEGER / 2) continue;
    if (found === null || one.used / one.limit > found.usedBytes / found.limitBytes)
      found = { usedBytes: one.used, limitBytes: one.limit };
  }
  return found;
}

function pressure(what: 'cpu' | 'memory' | 'io'): { some: number; full: number | null } | null {
  const cgroup = ownCgroup('cpu');
  const own = cgroup?.version === 2 ? cgroup.folders[0] : undefined;
  const text =
    (own === undefined ? null : textOf(join(own, `${what}.pressure`))) ?? textOf(`/proc/pressure/${what}`);
  const found = text === null ? null : pressureOf(text);
  return found === null ? null : { some: found.some.percent, full: found.full?.percent ?? null };
}

function processCount(): GuardFigures['processes'] {
  for (const folder of ownCgroup('pids')?.folders ?? []) {
    const [used, limit] = [numberIn(folder, 'pids.current'), numberIn(folder, 'pids.max')];
    if (used !== null && limit !== null && limit > 0) return { used, limit };
  }
  return null;
}

async function openDescriptors(): Promise<GuardFigures['descriptors']> {
  const limits = textOf('/proc/self/limits');
  const limit = /^Max open files +(\d+)/m.exec(limits ?? '')?.[1];
  if (limit === undefined) return null;
  try {
    return { used: (await fs.readdir('/proc/self/fd')).length, limit: Number(limit) };
  } catch {
    return null;
  }
}

async function freeSpace(folder: string): Promise<GuardFigures['disk']> {
  try {
    const { bavail, bsize, files, ffree } = await fs.statfs(folder);
    return { freeBytes: bavail * bsize, freeInodes: files === 0 ? null : ffree };
  } catch {
    return null;
  }
}

function numberIn(folder: string, name: string): number | null {
  const text = textOf(join(folder, name));
  return text === null ? null : numberOf(text);
}
