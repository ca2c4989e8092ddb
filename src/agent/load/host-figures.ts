import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ownCgroup, textOf } from './cgroup.ts';
import { pressureOf, throttlingOf, waitedMsOf } from './readings.ts';

/** What the host has taken from this process and its children, in milliseconds that only grow. Null = unknown here. */
export type HostFigures = {
  /** The quota of the cgroup stopped its tasks; the largest value of the cgroup and those above it. */
  throttledMs: number | null;
  /** No task of the cgroup could run although one wanted to. Needs cgroup v2 with pressure files. */
  stoppedMs: number | null;
  /** A child of the agent waited for a core: for each period, the longest wait among them. */
  childrenWaitedMs: number | null;
  /** Percent of the last 10 s in which some task waited for a core; of the cgroup, or else of the host. */
  pressurePercent: number | null;
};

export type FiguresReader = {
  /** Reads now. `withChildren`: also looks at the processes below this one, which costs about 10 µs for each. */
  read: (withChildren: boolean) => HostFigures;
};

/** `clock` is performance.now. The children's time counts from the first reading with children. */
export function createFiguresReader(clock: () => number = () => performance.now()): FiguresReader {
  const cgroup = ownCgroup('cpu');
  const unified = cgroup?.version === 2 ? cgroup.folders[0] : undefined;
  const children = createChildrenWatch(clock);
  return {
    read: (withChildren) => {
      const throttled = (cgroup?.folders ?? []).flatMap((folder) => {
        const text = textOf(join(folder, 'cpu.stat'));
        const throttling = text === null ? null : throttlingOf(text);
        return throttling === null ? [] : [throttling.throttledMs];
      });
      const ownText = unified === undefined ? null : textOf(join(unified, 'cpu.pressure'));
      const hostText = ownText === null ? textOf('/proc/pressure/cpu') : null;
      const own = ownText === null ? null : pressureOf(ownText);
      const host = hostText === null ? null : pressureOf(hostText);
      return {
        throttledMs: throttled.length === 0 ? null : Math.max(...throttled),
        stoppedMs: own?.full?.totalMs ?? null,
        childrenWaitedMs: withChildren ? children() : null,
        pressurePercent: (own ?? host)?.some.percent ?? null,
      };
    },
  };
}

/** Maximum number of processes that one reading looks at. */
const maxProcesses = 256;

/**
 * Sums up how long the children of this process waited for a core. Several wait at the same time, so that each period
 * counts the longest wait of one of them, and at most the period itself.
 */
function createChildrenWatch(clock: () => number): () => number | null {
  let before = new Map<string, number>();
  let readAt = clock();
  let total = 0;
  return () => {
    const now = clock();
    const found = descendants(String(process.pid));
    if (found === null) return null;
    const current = new Map<string, number>();
    let longest = 0;
    for (const pid of found) {
      const text = textOf(`/proc/${pid}/schedstat`);
      const waited = text === null ? null : waitedMsOf(text);
      if (waited === null) continue;
      current.set(pid, waited);
      longest = Math.max(longest, waited - (before.get(pid) ?? 0));
    }
    total += Math.min(longest, now - readAt);
    before = current;
    readAt = now;
    return total;
  };
}

/** Ids of all processes below `pid`; null if the kernel does not tell (CONFIG_PROC_CHILDREN). */
function descendants(pid: string): string[] | null {
  const found: string[] = [];
  const queue = [pid];
  let isKnown = false;
  for (let parent = queue.shift(); parent !== undefined; parent = queue.shift()) {
    for (const thread of threadsOf(parent)) {
      const text = textOf(`/proc/${parent}/task/${thread}/children`);
      if (text === null) continue;
      isKnown = true;
      for (const child of text.split(' ')) {
        if (child === '' || found.length >= maxProcesses) continue;
        found.push(child);
        queue.push(child);
      }
    }
  }
  return isKnown ? found : null;
}

function threadsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // it has just ended
  }
}
