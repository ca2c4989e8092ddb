import { DateTime, IANAZone } from 'luxon';
import { dayMs, hourMs } from '../../durations.ts';

/**
 * When a maintenance window takes place: pure functions of its times. Each occurrence starts at the wall-clock time
 * of the first one in the window's time zone, and has the same length in real time. All moments are milliseconds
 * since the epoch.
 */

export const repeatUnits = ['DAY', 'WEEK', 'MONTH'] as const;
export type RepeatUnit = (typeof repeatUnits)[number];

export type Recurrence = {
  startsAt: number;
  endsAt: number;
  /** IANA name. */
  timezone: string;
  /** Null = the window takes place once. */
  repeat: {
    interval: number;
    unit: RepeatUnit;
    /** The last moment at which an occurrence starts; null = no end. */
    endsAt: number | null;
  } | null;
};

export type Occurrence = { startsAt: number; endsAt: number };

/** Largest difference between two zones, or between two offsets of one zone. */
const maxShiftMs = 26 * hourMs;

/** The shortest length of each unit. A day counts as 24 hours, whatever the clocks do. */
const shortestMs: { readonly [U in RepeatUnit]: number } = { DAY: dayMs, WEEK: 7 * dayMs, MONTH: 28 * dayMs };

/** Longest duration of an occurrence that cannot overlap the next one. */
export function longestOccurrenceMs({ interval, unit }: { interval: number; unit: RepeatUnit }): number {
  return interval * shortestMs[unit];
}

/** Whether this machine's IANA time zone database has this name. */
export function isTimezone(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name) && IANAZone.isValidZone(name);
}

/** The local time in the zone, as if it were UTC. */
function wallClock(at: number, timezone: string): number {
  return at + offsetMs(at, timezone);
}

function offsetMs(at: number, timezone: string): number {
  // UTC is the default. Asking the library costs microseconds, and happens a thousand times.
  return timezone === 'UTC' ? 0 : IANAZone.create(timezone).offset(at) * 60_000;
}

/**
 * The moment at which clocks in the zone show `wall` (given as if in UTC). Of a time that occurs twice, the first one
 * counts. A time that is skipped counts from the offset before, so that 02:30 becomes 03:30 (RFC 5545, section
 * 3.3.5).
 */
export function momentOf(wall: number, timezone: string): number {
  const before = wall - offsetMs(wall - maxShiftMs, timezone);
  if (wallClock(before, timezone) === wall) return before;
  const after = wall - offsetMs(wall + maxShiftMs, timezone);
  return wallClock(after, timezone) === wall ? after : before;
}

/** Local start time of the occurrence with this number, counted from 0. */
function wallOf({ startsAt, timezone, repeat }: Recurrence, index: number): number {
  const first = wallClock(startsAt, timezone);
  if (repeat === null || index === 0) return first;
  const steps = index * repeat.interval;
  if (repeat.unit !== 'MONTH') return first + steps * shortestMs[repeat.unit];
  // Always counted from the first one, so that after a short month it returns to the 31st.
  return DateTime.fromMillis(first, { zone: 'utc' }).plus({ months: steps }).toMillis();
}

/** The occurrence with this number, counted from 0; null after the last one. */
export function occurrence(recurrence: Recurrence, index: number): Occurrence | null {
  const { startsAt, endsAt, timezone, repeat } = recurrence;
  if (index === 0) return { startsAt, endsAt };
  if (repeat === null) return null;
  const begins = momentOf(wallOf(recurrence, index), timezone);
  if (repeat.endsAt !== null && begins > repeat.endsAt) return null;
  return { startsAt: begins, endsAt: begins + (endsAt - startsAt) };
}

/**
 * Number of the first occurrence that starts at `from` or later, whether or not it exists. Takes few steps for any
 * distance.
 */
function indexFrom(recurrence: Recurrence, from: number): number {
  const { startsAt, timezone, repeat } = recurrence;
  if (from <= startsAt) return 0;
  if (repeat === null) return 1;
  const first = wallClock(startsAt, timezone);
  const wall = from - maxShiftMs;
  const units =
    repeat.unit === 'MONTH'
      ? monthsBetween(first, wall) - 1
      : Math.floor((wall - first) / shortestMs[repeat.unit]);
  let index = Math.max(1, Math.floor(units / repeat.interval));
  while (momentOf(wallOf(recurrence, index), timezone) < from) index += 1;
  return index;
}

function monthsBetween(from: number, to: number): number {
  const [a, b] = [new Date(from), new Date(to)];
  return (b.getUTCFullYear() - a.getUTCFullYear()) * 12 + b.getUTCMonth() - a.getUTCMonth();
}

/** The first occurrence that starts at `from` or later. */
export function firstOccurrenceFrom(recurrence: Recurrence, from: number): Occurrence | null {
  return occurrence(recurrence, indexFrom(recurrence, from));
}

/** Occurrences that start at `from` or later and before `to`, at most `limit`. */
export function occurrencesBeginning(
  recurrence: Recurrence,
  { from, to, limit }: { from: number; to: number; limit: number },
): Occurrence[] {
  const found: Occurrence[] = [];
  for (let index = indexFrom(recurrence, from); found.length < limit; index++) {
    const next = occurrence(recurrence, index);
    if (next === null || next.startsAt >= to) break;
    // If a zone skips a whole day, that day's occurrence and the next day's are the same.
    if (next.startsAt !== found.at(-1)?.startsAt) found.push(next);
  }
  return found;
}

/** Occurrences that overlap the time from `from` (inclusive) to `to` (exclusive), at most `limit`. */
export function occurrencesWithin(
  recurrence: Recurrence,
  { from, to, limit }: { from: number; to: number; limit: number },
): Occurrence[] {
  const lasts = recurrence.endsAt - recurrence.startsAt;
  return occurrencesBeginning(recurrence, { from: from - lasts + 1, to, limit });
}

/** The occurrence in progress: its start is inclusive, its end exclusive. */
export function occurrenceAt(recurrence: Recurrence, at: number): Occurrence | null {
  return occurrencesWithin(recurrence, { from: at, to: at + 1, limit: 2 }).at(-1) ?? null;
}

/** The occurrence that starts exactly at this moment. */
export function occurrenceBeginning(recurrence: Recurrence, startsAt: number): Occurrence | null {
  const found = firstOccurrenceFrom(recurrence, startsAt);
  return found?.startsAt === startsAt ? found : null;
}

/** The end of the last occurrence; null = there is none. */
export function overAt(recurrence: Recurrence): number | null {
  const { startsAt, endsAt, repeat } = recurrence;
  if (repeat === null) return endsAt;
  if (repeat.endsAt === null) return null;
  // The first occurrence that starts too late has this number, so the one before is the last.
  const last = Math.max(0, indexFrom(recurrence, repeat.endsAt + 1) - 1);
  return (occurrence(recurrence, last)?.startsAt ?? startsAt) + (endsAt - startsAt);
}
