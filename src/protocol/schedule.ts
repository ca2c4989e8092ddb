import { createHash } from 'node:crypto';

/**
 * When checks are due, which runs that makes, and at which location each takes place. The service's scheduler and
 * agents that hold checks compute it with these functions, so both name the same runs. All moments are milliseconds
 * since the epoch.
 */

/** Due moments are epoch-aligned multiples of the interval, moved by the offset. */
export type Schedule = { intervalSeconds: number; offsetSeconds: number };

/** The last moment at or before `at` at which the check was due. */
export function lastDue({ intervalSeconds: interval, offsetSeconds: offset }: Schedule, at: number): number {
  const period = interval * 1000;
  const phase = Math.round(offset * 1000);
  return Math.floor((at - phase) / period) * period + phase;
}

/** The first moment after `after` at which the check is due. */
export function nextDue(schedule: Schedule, after: number): number {
  return lastDue(schedule, after) + schedule.intervalSeconds * 1000;
}

/**
 * The first moment that a holder owes that has reported every run up to `reportedTo`; null = nothing yet. All are milliseconds since
 * the epoch. The first moment of all (`owedFrom`) may be one of no schedule: the check was to be run at once.
 */
export function firstOwed(owedFrom: number, reportedTo: number | null, schedule: Schedule): number {
  return reportedTo === null || reportedTo < owedFrom ? owedFrom : nextDue(schedule, reportedTo);
}

/** Seconds that a run may wait to be claimed before it counts as missed: its interval, at most 6 minutes. */
export function claimWindowSeconds(interval: number): number {
  return Math.min(interval, 360);
}

/** Whose turn it is: the index of the location of the next run, and how many locations there are. */
export type Turn = { rotation: number; runParallel: boolean; locationCount: number };

/** The locations of a run, as indexes of the check's locations: all of them, or the one whose turn it is. */
export function locationsOfRun({ rotation, runParallel, locationCount }: Turn): number[] {
  if (runParallel) return Array.from({ length: locationCount }, (_, index) => index);
  return locationCount === 0 ? [] : [rotation % locationCount];
}

/** The turn of the run after that one. */
export function nextRotation({ rotation, locationCount }: Omit<Turn, 'runParallel'>): number {
  return locationCount === 0 ? 0 : ((rotation % locationCount) + 1) % locationCount;
}

/** The id of a check's scheduled run at a given moment. */
export function scheduledRunId(checkId: string, dueAt: number): string {
  return derivedId(dueAt, `${checkId} ${dueAt}`);
}

/** The id of the part of that run at one location. Its results are known by it, whoever reports them. */
export function scheduledJobId(checkId: string, locationId: string, dueAt: number): string {
  return derivedId(dueAt, `${checkId} ${locationId} ${dueAt}`);
}

function derivedId(time: number, name: string): string {
  return uuidOfTime(time, createHash('sha256').update(name).digest('hex').slice(0, 20));
}

/** Largest time that fits into the 48 bits of a UUIDv7. */
export const maxUuidTime = 2 ** 48 - 1;

/** A UUIDv7 (RFC 9562, section 5.7) of a time and 20 hex digits. */
export function uuidOfTime(milliseconds: number, digits: string): string {
  if (!Number.isInteger(milliseconds) || milliseconds < 0 || milliseconds > maxUuidTime) {
    throw new RangeError(`not a time for an id: ${milliseconds}`);
  }
  const time = milliseconds.toString(16).padStart(12, '0');
  // Variant 10xx: the first hex digit of the fourth group is 8 to b.
  const variant = ((Number.parseInt(digits.charAt(3), 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${digits.slice(0, 3)}-${variant}${digits.slice(4, 7)}-${digits.slice(7, 19)}`;
}
