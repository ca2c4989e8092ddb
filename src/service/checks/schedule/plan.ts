import { claimWindowSeconds, lastDue, nextDueAt } from './rules.ts';

/** The scheduler's plan for one due check: a pure function of the check and the time. */

export type PlanInput = {
  intervalSeconds: number;
  offsetSeconds: number;
  /** Milliseconds since the epoch. */
  nextDueAt: number;
  /** Index of the next location in turn. */
  rotation: number;
  runParallel: boolean;
  locationCount: number;
};

export type Plan = {
  /** The run to make, at these of the check's locations (by index); null = none. */
  run: { dueAt: number; expiresAt: number; locations: number[] } | null;
  /**
   * Runs that were not scheduled in time. They are never repeated, because after an outage they would arrive in one
   * burst.
   */
  missed: { from: number; to: number; count: number; locations: number[] } | null;
  nextDueAt: number;
  rotation: number;
};

/**
 * Splits the locations of a suite's run into those where it starts and those where it is skipped because the previous
 * run is still in progress. Runs of other types may overlap.
 */
export function splitRun<Place extends { id: string }>(
  places: readonly Place[],
  isInProgress: (locationId: string) => boolean,
): { begins: Place[]; stillRunning: Place[] } {
  return {
    begins: places.filter(({ id }) => !isInProgress(id)),
    stillRunning: places.filter(({ id }) => isInProgress(id)),
  };
}

/** A later run counts as missed. A restart of the service may take this long without losing runs. */
export const lateMs = 30_000;

/** The locations of a run, as indexes of the check's locations: all of them, or the one whose turn it is. */
export function locationsOfRun(
  check: Pick<PlanInput, 'rotation' | 'runParallel' | 'locationCount'>,
): number[] {
  const { rotation, runParallel, locationCount } = check;
  if (runParallel) return Array.from({ length: locationCount }, (_, index) => index);
  return locationCount === 0 ? [] : [rotation % locationCount];
}

/** Plans the runs of a check that is due. `now` is milliseconds since the epoch. */
export function planRuns(check: PlanInput, now: number): Plan {
  const interval = check.intervalSeconds * 1000;
  const last = Math.max(check.nextDueAt, lastDue(check, now));
  const inTime = now - last <= Math.min(lateMs, interval);
  const rotation = check.locationCount === 0 ? 0 : check.rotation % check.locationCount;
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
    nextDueAt: nextDueAt(check, Math.max(now, last)).getTime(),
    rotation: check.locationCount === 0 ? 0 : (rotation + 1) % check.locationCount,
  };
}
