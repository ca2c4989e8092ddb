import type { KeepingAnswer } from '../../protocol/assignments.ts';
import { planRuns } from '../../protocol/plan-runs.ts';
import { claimWindowSeconds, nextDue } from '../../protocol/schedule.ts';
import { createDueQueue } from './due-queue.ts';
import type { PackedCheck } from './packed.ts';

/** The checks that this agent holds, and when each is due. All moments are by the service's clock. */

/** Due moments of one check that nobody has run, evenly spaced. */
export type MissedRuns = { check: PackedCheck; from: number; to: number; count: number };

export type HeldChecks = {
  /** Takes the changes of one answer. Assignments have been validated. */
  apply: (answer: KeepingAnswer, checks: readonly PackedCheck[]) => void;
  /** What is due at `now`; each moment is returned once, as a run or as missed. */
  takeDue: (now: number) => { runs: { check: PackedCheck; dueAt: number }[]; missed: MissedRuns[] };
  /** The earliest moment that has not been taken; null = there are no checks. */
  earliest: () => number | null;
  size: () => number;
  all: () => PackedCheck[];
  /** In its present form, or in its last one if it was taken away less than `formerMs` before. */
  find: (checkId: string, formerMs: number) => PackedCheck | undefined;
  /** Forgets everything. */
  clear: () => void;
  /** Takes checks that an earlier process held. It had reported every run up to `reportedTo`. */
  restore: (checks: readonly PackedCheck[], reportedTo: number | null) => void;
};

type Held = {
  check: PackedCheck;
  nextDueAt: number;
  /** The first moment that was taken, or will be, in the name of its holder. */
  owedFrom: number;
  /** The first moment that this process or an earlier one of its data folder owed. Before it, others did. */
  toldFrom: number;
  isGone: boolean;
};

/** Checks that were taken away are remembered for this long. */
const forgetMs = 5_000;
/** A clock that goes back by more was set; due moments must not wait until it has caught up. */
const setBackMs = 5_000;

export function createHeldChecks(): HeldChecks {
  const held = new Map<string, Held>();
  const queue = createDueQueue<Held>();
  /** Checks that were taken away lately, the first one first; `at`: milliseconds of a monotonic clock. */
  const dropped = new Map<string, { check: PackedCheck; at: number }>();
  /** The checks named since the first part of a complete list; null = no such list is being received. */
  let listed: Set<string> | null = null;
  let lastNow = -Infinity;

  const hold = (
    check: PackedCheck,
    nextDueAt: number,
    { owedFrom = nextDueAt, toldFrom = check.from }: { owedFrom?: number; toldFrom?: number } = {},
  ): void => {
    remove(check.checkId);
    const item = { check, nextDueAt, owedFrom, toldFrom, isGone: false };
    held.set(check.checkId, item);
    queue.add(item);
  };
  const drop = (checkId: string): void => {
    const at = performance.now();
    for (const [id, lost] of dropped) {
      if (at - lost.at < forgetMs) break;
      dropped.delete(id);
    }
    const check = held.get(checkId)?.check;
    dropped.delete(checkId);
    if (check !== undefined) dropped.set(checkId, { check, at });
    remove(checkId);
  };
  const remove = (checkId: string): void => {
    const item = held.get(checkId);
    if (item !== undefined) item.isGone = true;
    held.delete(checkId);
  };

  const put = (check: PackedCheck): void => {
    const known = held.get(check.checkId);
    const isSameSchedule =
      known !== undefined &&
      known.check.intervalSeconds === check.intervalSeconds &&
      known.check.offsetSeconds === check.offsetSeconds;
    // An earlier moment than any that was owed here: another agent has left runs which nobody has made. Those that were made
    // here since then are taken again. A run that has a result by now has no effect.
    if (!isSameSchedule || check.from < known.toldFrom) return hold(check, check.from);
    const { owedFrom, toldFrom } = known;
    // It was held in the name of an earlier process. The service takes no reports of missed runs from that one any more, so
    // what was taken in its name is taken again.
    if (known.check.holder !== check.holder) return hold(check, Math.max(check.from, owedFrom), { toldFrom });
    // What this agent has planned of a check already, it does not plan again. A run in between is an extra one.
    const lastPlanned = known.nextDueAt - check.intervalSeconds * 1000;
    const isExtra = check.from > lastPlanned && check.from < known.nextDueAt;
    hold(check, isExtra ? check.from : known.nextDueAt, { owedFrom, toldFrom });
  };

  const isPaused = ({ pauses }: PackedCheck, at: number) =>
    pauses.some(([from, to]) => from <= at && at < to);

  return {
    apply: (answer, checks) => {
      if (answer.isFirst) listed = new Set();
      for (const check of checks) {
        put(check);
        listed?.add(check.checkId);
      }
      for (const id of answer.dropped) drop(id);
      if (answer.hasMore || listed === null) return;
      for (const id of held.keys()) if (!listed.has(id)) drop(id);
      listed = null;
    },
    takeDue: (now) => {
      if (now < lastNow - setBackMs) {
        for (const item of held.values()) {
          const nextDueAt = nextDue(item.check, now);
          if (nextDueAt >= item.nextDueAt) continue;
          item.nextDueAt = nextDueAt;
          queue.add(item);
        }
      }
      lastNow = now;
      const runs: { check: PackedCheck; dueAt: number }[] = [];
      const missed: MissedRuns[] = [];
      for (let item = queue.take(now); item !== null; item = queue.take(now)) {
        const { check } = item;
        const { intervalSeconds, offsetSeconds } = check;
        const plan = planRuns(
          {
            intervalSeconds,
            offsetSeconds,
            nextDueAt: item.nextDueAt,
            rotation: 0,
            runParallel: true,
            locationCount: 1,
          },
          now,
          claimWindowSeconds(intervalSeconds) * 1000,
        );
        item.nextDueAt = plan.nextDueAt;
        queue.add(item);
        if (plan.missed !== null) missed.push(...outsidePauses(check, plan.missed));
        if (plan.run !== null && !isPaused(check, plan.run.dueAt)) {
          runs.push({ check, dueAt: plan.run.dueAt });
        }
      }
      runs.sort((a, b) => a.dueAt - b.dueAt);
      return { runs, missed };
    },
    earliest: queue.earliest,
    size: () => held.size,
    all: () => [...held.values()].map(({ check }) => check),
    find: (checkId, formerMs) => {
      const lost = dropped.get(checkId);
      const isRecent = lost !== undefined && performance.now() - lost.at < formerMs;
      return held.get(checkId)?.check ?? (isRecent ? lost.check : undefined);
    },
    clear: () => {
      held.clear();
      queue.clear();
      listed = null;
    },
    restore: (checks, reportedTo) => {
      for (const check of checks) {
        const from = reportedTo === null ? check.from : Math.max(check.from, nextDue(check, reportedTo));
        hold(check, from);
      }
    },
  };

  function outsidePauses(check: PackedCheck, { from, to }: { from: number; to: number }): MissedRuns[] {
    const found: MissedRuns[] = [];
    let current: MissedRuns | null = null;
    for (let at = from; at <= to; at = nextDue(check, at)) {
      if (isPaused(check, at)) current = null;
      else if (current === null) found.push((current = { check, from: at, to: at, count: 1 }));
      else {
        current.to = at;
        current.count += 1;
      }
    }
    return found;
  }
}
