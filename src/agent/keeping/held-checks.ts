import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { KeepingAnswer } from '../../protocol/assignments.ts';
import { planRuns } from '../../protocol/plan-runs.ts';
import { claimWindowSeconds, firstOwed, nextDue } from '../../protocol/schedule.ts';
import { createDueQueue } from './due-queue.ts';
import type { PackedCheck } from './packed.ts';

/** The checks that this agent holds, and when each is due. All moments are by the service's clock. */

/** The agent was not running, or was busy. */
export type MissedCode = 'NO_AGENT' | 'NOT_CLAIMED';

/** Due moments of one check that nobody has run, evenly spaced. */
export type MissedRuns = { check: PackedCheck; from: number; to: number; count: number; code: MissedCode };

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
  /** Runs that were taken are reported as missed. `to`: the last of them; absent = there is one. */
  gaveUp: (check: PackedCheck, from: number, more?: { to?: number; code?: MissedCode }) => void;
  /** The service has answered this holder, which had reported every run up to `reportedTo` before it asked. */
  confirm: (holder: string, reportedTo: number) => void;
  /**
   * The first moment that was reported as missed, and is not confirmed; Infinity = there is none. If the service has given the check
   * to another agent meanwhile, it leaves such a report to that one, and may give the check back with the same moments.
   */
  unsureFrom: () => number;
};

type Held = {
  check: PackedCheck;
  nextDueAt: number;
  /** The first moment that this process or an earlier one of its data folder owed. Before it, others did. */
  toldFrom: number;
  /** What was reported as missed and is not confirmed. */
  unsure: readonly Range[];
  isGone: boolean;
};

type Range = Pick<MissedRuns, 'from' | 'to' | 'code'>;

/** Checks that were taken away are remembered for this long. */
const forgetMs = 5_000;
/** Of one check. More become one: what it contains besides is not recorded again. */
const mostRanges = 8;
const none: readonly Range[] = [];
/** A clock that goes back by more was set; due moments must not wait until it has caught up. */
const setBackMs = 5_000;

export function createHeldChecks(): HeldChecks {
  const held = new Map<string, Held>();
  const queue = createDueQueue<Held>();
  /** Checks that were taken away lately, the first one first; `at`: milliseconds of a monotonic clock. */
  const dropped = new Map<string, { check: PackedCheck; at: number }>();
  /** What was reported as missed, and is reported again. */
  let again: MissedRuns[] = [];
  /** The checks named since the first part of a complete list; null = no such list is being received. */
  let listed: Set<string> | null = null;
  let lastNow = -Infinity;

  const hold = (
    check: PackedCheck,
    nextDueAt: number,
    { toldFrom = check.from }: Partial<Pick<Held, 'toldFrom'>> = {},
  ): void => {
    remove(check.checkId);
    const item: Held = { check, nextDueAt, toldFrom, unsure: none, isGone: false };
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
    const { toldFrom } = known;
    // The service says that these are owed still.
    for (const { from, ...range } of known.unsure) {
      again.push(...outsidePauses(check, { ...range, from: Math.max(from, nextDue(check, check.from - 1)) }));
    }
    // It was held in the name of an earlier process, whose results of runs are taken.
    if (known.check.holder !== check.holder)
      return hold(check, Math.max(check.from, known.nextDueAt), { toldFrom });
    // What this agent has planned of a check already, it does not plan again. A run in between is an extra one.
    const lastPlanned = known.nextDueAt - check.intervalSeconds * 1000;
    const isExtra = check.from > lastPlanned && check.from < known.nextDueAt;
    hold(check, isExtra ? check.from : known.nextDueAt, { toldFrom });
  };
  const addUnsure = (item: Held | undefined, { from, to, code }: Range): void => {
    if (item === undefined) return;
    const all = [...item.unsure, { from, to, code }];
    const froms = all.map((range) => range.from);
    const tos = all.map((range) => range.to);
    item.unsure = all.length > mostRanges ? [{ from: Math.min(...froms), to: Math.max(...tos), code }] : all;
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
      const missed = again;
      again = [];
      for (const range of missed) addUnsure(held.get(range.check.checkId), range);
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
        if (plan.missed !== null) {
          const range = { ...plan.missed, code: 'NO_AGENT' as const };
          missed.push(...outsidePauses(check, range));
          addUnsure(item, range);
        }
        if (plan.run !== null && !isPaused(check, plan.run.dueAt)) {
          runs.push({ check, dueAt: plan.run.dueAt });
        }
      }
      runs.sort((a, b) => a.dueAt - b.dueAt);
      return { runs, missed };
    },
    earliest: () =>
      again.reduce<number | null>((first, { from }) => Math.min(first ?? from, from), queue.earliest()),
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
      again = [];
      listed = null;
    },
    restore: (checks, reportedTo) => {
      for (const check of checks) {
        hold(check, firstOwed(check.from, reportedTo, check));
      }
    },
    gaveUp: ({ checkId, holder }, from, { to = from, code = 'NOT_CLAIMED' } = {}) => {
      const item = held.get(checkId);
      if (item?.check.holder === holder) addUnsure(item, { from, to, code });
    },
    confirm: (holder, reportedTo) => {
      for (const item of held.values()) {
        if (item.unsure.length > 0 && item.check.holder === holder)
          item.unsure = item.unsure.filter(({ to }) => to > reportedTo);
      }
    },
    unsureFrom: () => {
      let first = Infinity;
      for (const { unsure } of held.values()) for (const { from } of unsure) first = Math.min(first, from);
      return first;
    },
  };

  function outsidePauses(check: PackedCheck, { from, to, code }: Range): MissedRuns[] {
    const found: MissedRuns[] = [];
    let current: MissedRuns | null = null;
    const stepMs = check.intervalSeconds * 1000;
    for (let at = from; at <= to; at = nextDue(check, at)) {
      if (isPaused(check, at)) current = null;
      // A run that was to be made at once was due between two moments of the schedule.
      else if (
        current === null ||
        current.count >= protocolLimits.missedMoments ||
        at - current.to !== stepMs
      )
        found.push((current = { check, from: at, to: at, count: 1, code }));
      else {
        current.to = at;
        current.count += 1;
      }
    }
    return found;
  }
}
