import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { createDueQueue, type Due } from './due-queue.ts';
import type { PackedCheck } from './packed.ts';

/**
 * Runs that begin late, after a restart or because an agent has died. There may be thousands at once. They are made with the
 * time that is left, so that those that are due now do not wait for them.
 */
export type LateRuns = {
  /** A run that waits already is made in its new form. Returns false in that case. */
  add: (check: PackedCheck, dueAt: number) => boolean;
  /** Forgets those that wait. */
  clear: () => void;
};

/** `nextDueAt`: when it is too late. */
type Late = Due & { key: string; check: PackedCheck; dueAt: number };

const turnMs = 10;
/** Begun in one turn, if the process is not busy. */
const perTurn = 16;
/** A busy one begins one for each turn that should have come since the last, and not more than this. */
const perBusyTurn = 4;
/** Of the time of the last turn. */
const busyShare = 0.85;

/**
 * The run that is too late first begins first. `until`: when it is. `giveUp`: it has become too late for the run. `spare`: how
 * many may begin now. `mayRun`: false = nothing may begin, or be given up. `busy`: the share of the time since the last call in which
 * the process worked. `clock`: milliseconds of a monotonic clock.
 */
export function createLateRuns(options: {
  now: () => number;
  until: (check: PackedCheck, dueAt: number) => number;
  mayRun: () => boolean;
  spare: () => number;
  giveUp: (check: PackedCheck, dueAt: number) => void;
  run: (check: PackedCheck, dueAt: number) => void;
  busy?: () => number;
  clock?: () => number;
}): LateRuns {
  const { now, until, mayRun, spare, giveUp, run, busy = createBusy() } = options;
  const { clock = () => performance.now() } = options;
  const waiting = new Map<string, Late>();
  const queue = createDueQueue<Late>();
  let timer: NodeJS.Timeout | undefined;
  let lastAt = clock();

  const take = (latest: number): Late | null => {
    const item = queue.take(latest);
    if (item !== null) waiting.delete(item.key);
    return item;
  };
  const turn = (): void => {
    timer = undefined;
    if (mayRun()) {
      for (let item = take(now()); item !== null; item = take(now())) giveUp(item.check, item.dueAt);
      // One at least is begun in each turn, or a process that is always busy would begin none. Its turns are also late.
      const turns = Math.min(perBusyTurn, Math.max(1, Math.floor((clock() - lastAt) / turnMs)));
      const most = Math.min(busy() > busyShare ? turns : perTurn, spare());
      for (let begun = 0; begun < most; begun++) {
        const item = take(Infinity);
        if (item === null) break;
        run(item.check, item.dueAt);
      }
    }
    plan();
  };
  const plan = (): void => {
    if (waiting.size === 0 || timer !== undefined) return;
    lastAt = clock();
    timer = setTimeout(turn, turnMs);
  };

  return {
    add: (check, dueAt) => {
      const key = `${check.checkId} ${dueAt}`;
      const known = waiting.get(key);
      if (known === undefined) {
        const item = { key, check, dueAt, nextDueAt: until(check, dueAt), isGone: false };
        waiting.set(key, item);
        queue.add(item);
      } else known.check = check;
      plan();
      return known === undefined;
    },
    clear: () => {
      clearTimeout(timer);
      timer = undefined;
      waiting.clear();
      queue.clear();
    },
  };
}

function createBusy(): () => number {
  let last: EventLoopUtilization = performance.eventLoopUtilization();
  return () => {
    const current = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(current, last);
    last = current;
    return utilization;
  };
}
