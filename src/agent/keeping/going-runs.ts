import type { PackedCheck } from './packed.ts';

/**
 * The runs of held checks in progress. They are kept in the data folder, because a run may end its process: the next one makes it
 * again, but not for ever. As with jobs of the queue, a run during which two processes died ends with the reason AGENT_LOST.
 */

/** A run that is in progress, or that was when a process died. `dueAt`: milliseconds since the epoch. */
export type KeptRun = {
  checkId: string;
  locationId: string;
  dueAt: number;
  /** Processes that died while they made it. */
  deaths: number;
  /** This process makes it. */
  isGoing: boolean;
};

export type GoingRuns = {
  begin: (check: PackedCheck, dueAt: number) => void;
  end: (check: PackedCheck, dueAt: number) => void;
  has: (check: PackedCheck, dueAt: number) => boolean;
  /** It is not made again. */
  isSpent: (check: PackedCheck, dueAt: number) => boolean;
  /** Takes what dead processes have kept. */
  restore: (runs: readonly KeptRun[]) => void;
  /** What the next process must know. `isEnding`: this one stops, and is not charged with what it aborts. */
  kept: (isEnding: boolean) => KeptRun[];
};

/** Deaths after which a run is spent. */
const mostDeaths = 2;
/** A process that dies earlier in an attempt is not charged: some have always just begun. */
const chargedAfterMs = 5_000;
/** Nobody makes a run so long after its moment: it may begin within its interval, at most six minutes, and takes its time. */
const forgetMs = 3_600_000;
const mostKept = 500;

/** `since`: by the monotonic clock; null = this process does not make it. */
type Run = Omit<KeptRun, 'isGoing'> & { since: number | null };

const keyOf = ({ checkId, locationId }: Pick<KeptRun, 'checkId' | 'locationId'>, dueAt: number) =>
  `${checkId} ${locationId} ${dueAt}`;

/**
 * `now`: the service's clock; `clock`: milliseconds of a monotonic clock. `attemptSince`: by that clock, when the present attempt of a
 * run began; null = it waits for a slot or for its next attempt, and cannot be why its process dies.
 */
export function createGoingRuns({
  now,
  clock = () => performance.now(),
  attemptSince,
}: {
  now: () => number;
  clock?: () => number;
  attemptSince: (run: Pick<KeptRun, 'checkId' | 'locationId' | 'dueAt'>) => number | null;
}): GoingRuns {
  const isCharged = (run: Run, at: number): boolean => {
    if (run.since === null || at - run.since < chargedAfterMs) return false;
    const began = attemptSince(run);
    return began !== null && at - began >= chargedAfterMs;
  };
  const runs = new Map<string, Run>();
  return {
    begin: (check, dueAt) => {
      const { checkId, locationId } = check;
      const key = keyOf(check, dueAt);
      runs.set(key, { checkId, locationId, dueAt, deaths: runs.get(key)?.deaths ?? 0, since: clock() });
    },
    end: (check, dueAt) => void runs.delete(keyOf(check, dueAt)),
    has: (check, dueAt) => (runs.get(keyOf(check, dueAt))?.since ?? null) !== null,
    isSpent: (check, dueAt) => (runs.get(keyOf(check, dueAt))?.deaths ?? 0) >= mostDeaths,
    restore: (kept) => {
      for (const { isGoing: _, ...run } of kept) {
        const key = keyOf(run, run.dueAt);
        const known = runs.get(key);
        runs.set(key, {
          ...run,
          deaths: Math.max(run.deaths, known?.deaths ?? 0),
          since: known?.since ?? null,
        });
      }
    },
    kept: (isEnding) => {
      const [at, monotonic] = [now(), clock()];
      const kept: KeptRun[] = [];
      for (const [key, run] of runs) {
        const { since, ...known } = run;
        if (since === null && run.dueAt < at - forgetMs) {
          runs.delete(key);
          continue;
        }
        const isGoing = !isEnding && isCharged(run, monotonic);
        if (isGoing || run.deaths > 0) kept.push({ ...known, isGoing });
      }
      if (kept.length <= mostKept) return kept;
      // Any of those in progress may end this process.
      return kept
        .sort((a, b) => Number(b.isGoing) - Number(a.isGoing) || b.deaths - a.deaths)
        .slice(0, mostKept);
    },
  };
}

/** What is left of the runs of a process that has died: it is charged with those that it was making. */
export function afterDeath(runs: readonly KeptRun[]): KeptRun[] {
  return runs.map(({ deaths, isGoing, ...run }) => ({
    ...run,
    deaths: deaths + (isGoing ? 1 : 0),
    isGoing: false,
  }));
}

/** Those of several processes that shared a folder. */
export function mergedRuns(a: readonly KeptRun[], b: readonly KeptRun[]): KeptRun[] {
  const all = new Map<string, KeptRun>();
  for (const run of [...a, ...b]) {
    const key = keyOf(run, run.dueAt);
    const other = all.get(key);
    all.set(key, {
      ...run,
      deaths: Math.max(run.deaths, other?.deaths ?? 0),
      isGoing: run.isGoing || other?.isGoing === true,
    });
  }
  return [...all.values()];
}
