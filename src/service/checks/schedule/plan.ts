import { claimWindowSeconds, lastDue, nextDueAt } from './rules.ts';

/** What the scheduler does about one check that is due: a pure function of the check and the time. */

export type PlanInput = {
  intervalSeconds: number;
  offsetSeconds: number;
  /** Milliseconds since the epoch. */
  nextDueAt: number;
  /** Which location's turn it is. */
  rotation: number;
  runParallel: boolean;
  locationCount: number;
};

export type Plan = {
  /** The run to make, at these of the check's locations (by index); null = none. */
  run: { dueAt: number; expiresAt: number; locations: number[] } | null;
  /** Runs that nobody scheduled in time: never made up for, because after an outage they would come in one burst. */
  missed: { from: number; to: number; count: number; locations: number[] } | null;
  nextDueAt: number;
  rotation: number;
};

/**
 * Of the locations of a suite's run, those where it begins and those where it is left out, because the run before is still
 * going on there. Runs of other types go on side by side.
 */
export function splitRun<Place extends { id: string }>(
  places: readonly Place[],
  isGoingOn: (locationId: string) => boolean,
): { begins: Place[]; stillRunning: Place[] } {
  return {
    begins: places.filter(({ id }) => !isGoingOn(id)),
    stillRunning: places.filter(({ id }) => isGoingOn(id)),
  };
}

/** A run that is later than this is missed: a restart of the service may take as long and lose nothing. */
export const lateMs = 30_000;

/** Where a run takes place, as indexes of the check's locations: in all of them at once, or where it is the turn. */
export function locationsOfRun(
  check: Pick<PlanInput, 'rotation' | 'runParallel' | 'locationCount'>,
): number[] {
  const { rotation, runParallel, locationCount } = check;
  if (runParallel) return Array.from({ length: locationCount }, (_, index) => index);
  return locationCount === 0 ? [] : [rotation % locationCount];
}

export function planRuns(check: PlanInput, now: number): Plan {
  const interval = check.intervalSeconds * 1000;
  const last = Math.max(check.nextDueAt, lastDue(check, now));
  const inTime = now - last <= Math.min(lateMs, interval);
  const rotation = check.locationCount === 0 ? 0 : check.rotation % check.locationCount;
  const locations = locationsOfRun(check);
  // The moment that runs is no missed one.
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
