import { toError } from '../../errors.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { MissedRuns } from './held-checks.ts';

/**
 * Reports runs that did not take place. While there is no room for more results, the reports wait here as stretches of
 * moments: one report for each run would push measured results out of the outbox.
 */
export type MissedReports = {
  add: (missed: MissedRuns) => void;
  /** The first moment that waits to be reported; null = none waits. */
  earliest: () => number | null;
  /** What waits stays unreported. */
  stop: () => void;
};

/** A new report is looked at again when so much time has passed, in milliseconds. */
const fullMs = 1_000;
const turnMs = 20;
/** Reports of one turn. After an outage there are thousands, and runs that are due must not wait for them. */
const perTurn = 100;
/** Of one check. More become one: the service records none of the moments for which it has a result. */
const mostStretches = 50;

/** `load` rejects if reports cannot be written now; then they wait. */
export function createMissedReports(options: {
  isFull: () => boolean;
  load: () => Promise<(missed: MissedRuns) => void>;
  fault: (error: Error, message: string) => void;
}): MissedReports {
  const { isFull, load, fault } = options;
  const waiting = new Map<string, MissedRuns[]>();
  let timer: NodeJS.Timeout | undefined;
  let isBusy = false;
  let isStopped = false;

  const plan = (ms: number): void => {
    if (isBusy || isStopped || waiting.size === 0) return;
    timer ??= setTimeout(() => void turn(), ms);
  };
  const turn = async (): Promise<void> => {
    timer = undefined;
    if (isFull()) return plan(fullMs);
    isBusy = true;
    let nextMs = turnMs;
    try {
      const report = await load();
      let left = isStopped ? 0 : perTurn;
      for (const [key, stretches] of waiting) {
        if (left <= 0) break;
        left -= stretches.length;
        waiting.delete(key);
        for (const missed of stretches) for (const part of partsOf(missed)) report(part);
      }
    } catch (error) {
      nextMs = fullMs;
      fault(toError(error), 'runs that were missed are not reported yet');
    }
    isBusy = false;
    plan(nextMs);
  };

  return {
    add: (missed) => {
      const key = `${missed.check.checkId} ${missed.check.locationId}`;
      const stretches = waiting.get(key) ?? [];
      extend(stretches, missed);
      waiting.set(key, stretches);
      plan(0);
    },
    earliest: () => {
      let first: number | null = null;
      for (const stretches of waiting.values())
        for (const { from } of stretches) first = Math.min(first ?? from, from);
      return first;
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function extend(stretches: MissedRuns[], missed: MissedRuns): void {
  const known = stretches.find((each) => isFollowed(each, missed));
  if (known !== undefined) {
    known.to = missed.to;
    known.count += missed.count;
    return;
  }
  const wide = stretches.find(({ check }) => isSameSchedule(check, missed.check));
  if (stretches.length < mostStretches || wide === undefined) stretches.push({ ...missed });
  else {
    wide.from = Math.min(wide.from, missed.from);
    wide.to = Math.max(wide.to, missed.to);
    wide.count = Math.round((wide.to - wide.from) / (wide.check.intervalSeconds * 1000)) + 1;
  }
}

/** The service records only so many moments of one report. */
function* partsOf(missed: MissedRuns): Generator<MissedRuns> {
  const intervalMs = missed.check.intervalSeconds * 1000;
  let { from, count: left } = missed;
  while (left > 0) {
    const count = Math.min(left, protocolLimits.missedMoments);
    left -= count;
    const to = left === 0 ? missed.to : from + (count - 1) * intervalMs;
    yield { ...missed, from, to, count };
    from = to + intervalMs;
  }
}

function isFollowed({ check, to, count, code }: MissedRuns, next: MissedRuns): boolean {
  return (
    code === next.code &&
    isSameSchedule(check, next.check) &&
    // A run that was to be made at once was due between two moments of the schedule, and stays a stretch of its own.
    next.from - to === check.intervalSeconds * 1000 &&
    count + next.count <= protocolLimits.missedMoments
  );
}

function isSameSchedule(a: MissedRuns['check'], b: MissedRuns['check']): boolean {
  return a.intervalSeconds === b.intervalSeconds && a.offsetSeconds === b.offsetSeconds;
}
