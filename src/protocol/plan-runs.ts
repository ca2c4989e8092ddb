import {
  claimWindowSeconds,
  lastDue,
  locationsOfRun,
  nextDue,
  nextRotation,
  type Schedule,
  type Turn,
} from './schedule.ts';

/** What to do for one check that is due: a pure function of the check and the time, for the service and for agents. */

export type PlanInput = Schedule &
  Turn & {
    /** The first moment that nobody has planned yet, in milliseconds since the epoch. */
    nextDueAt: number;
  };

export type Plan = {
  /** The run to make, at these of the check's locations (by index); null = none. */
  run: { dueAt: number; expiresAt: number; locations: number[] } | null;
  /**
   * Runs that were not planned in time. They are never repeated, because after an outage they would arrive in one
   * burst.
   */
  missed: { from: number; to: number; count: number; locations: number[] } | null;
  nextDueAt: number;
  rotation: number;
};

/** A later run counts as missed. A restart of the service may take this long without losing runs. */
export const lateMs = 30_000;

/**
 * Plans the runs of a check that is due. `now` is milliseconds since the epoch. `latestMs`: how late a run may begin, at
 * most its interval.
 */
export function planRuns(check: PlanInput, now: number, latestMs = lateMs): Plan {
  const interval = check.intervalSeconds * 1000;
  const last = Math.max(check.nextDueAt, lastDue(check, now));
  const inTime = now - last <= Math.min(latestMs, interval);
  const locations = locationsOfRun(check);
  // The moment of the current run is not a missed one.
  const missedUntil = inTime ? lastDue(check, last - 1) : last;
  return {
    run:
      inTime && locations.length > 0
        ? { dueAt: last, expiresAt: last + claimWindowSeconds(check.intervalSeconds) * 1000, locations }
        : null,
    missed:
      check.nextDueAt <= missedUntil && locations.length > 0
        ? {
            from: check.nextDueAt,
            to: missedUntil,
            count: Math.round((missedUntil - check.nextDueAt) / interval) + 1,
            locations,
          }
        : null,
    nextDueAt: nextDue(check, Math.max(now, last)),
    rotation: nextRotation(check),
  };
}
