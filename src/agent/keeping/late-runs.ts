import { performance, type EventLoopUtilization } from 'node:perf_hooks';
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

const turnMs = 10;
/** Begun in one turn, if the process is not busy. */
const perTurn = 16;
/** Of the time of the last turn. */
const busyShare = 0.85;
/** Between two looks for runs that have waited for too long. */
const sweepMs = 1_000;

/**
 * `spare`: how many may begin now. `isOver`: it is too late for a run. `giveUp`: the run will not be made. `run` gets how long
 * the run has waited, in milliseconds. `busy`: the share of the time since the last call in which the process worked.
 */
export function createLateRuns(options: {
  spare: () => number;
  isOver: (check: PackedCheck, dueAt: number) => boolean;
  giveUp: (check: PackedCheck, dueAt: number) => void;
  run: (check: PackedCheck, dueAt: number, waitedMs: number) => void;
  busy?: () => number;
}): LateRuns {
  const { spare, isOver, giveUp, run, busy = createBusy() } = options;
  const waiting = new Map<string, { check: PackedCheck; dueAt: number; since: number }>();
  let timer: NodeJS.Timeout | undefined;
  let sweptAt = -Infinity;

  const sweep = (): void => {
    sweptAt = performance.now();
    for (const [key, { check, dueAt }] of waiting) {
      if (!isOver(check, dueAt)) continue;
      waiting.delete(key);
      giveUp(check, dueAt);
    }
  };
  const turn = (): void => {
    timer = undefined;
    if (performance.now() - sweptAt >= sweepMs) sweep();
    // One at least is begun in each turn, or a process that is always busy would begin none.
    let left = Math.min(busy() > busyShare ? 1 : perTurn, spare());
    for (const [key, { check, dueAt, since }] of waiting) {
      if (left-- <= 0) break;
      waiting.delete(key);
      run(check, dueAt, performance.now() - since);
    }
    plan();
  };
  const plan = (): void => {
    if (waiting.size > 0) timer ??= setTimeout(turn, turnMs);
  };

  return {
    add: (check, dueAt) => {
      const key = `${check.checkId} ${dueAt}`;
      const known = waiting.get(key);
      waiting.set(key, { check, dueAt, since: known?.since ?? performance.now() });
      plan();
      return known === undefined;
    },
    clear: () => {
      clearTimeout(timer);
      timer = undefined;
      waiting.clear();
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
