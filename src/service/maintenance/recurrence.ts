import { DateTime, IANAZone } from 'luxon';
import { dayMs, hourMs } from '../../durations.ts';

/**
 * When a maintenance window takes place: pure functions of its times. Each occurrence begins at the wall-clock time of the first
 * one in the window's time zone and lasts as long in real time. All moments are milliseconds since the epoch.
 */

export const repeatUnits = ['DAY', 'WEEK', 'MONTH'] as const;
export type RepeatUnit = (typeof repeatUnits)[number];

export type Recurrence = {
  startsAt: number;
  endsAt: number;
  /** IANA name. */
  timezone: string;
  /** Null = it takes place once. */
  repeat: {
    interval: number;
    unit: RepeatUnit;
    /** The last moment at which one begins; null = for ever. */ endsAt: number | null;
  } | null;
};

export type Occurrence = { startsAt: number; endsAt: number };

/** No two zones, and no two offsets of one, are further apart. */
const mostShiftMs = 26 * hourMs;

/** A unit at its shortest; a day is taken for 24 hours, whatever the clocks do. */
const shortestMs: { readonly [U in RepeatUnit]: number } = { DAY: dayMs, WEEK: 7 * dayMs, MONTH: 28 * dayMs };

/** How long an occurrence may last so that the next one does not begin before its end. */
export function longestOccurrenceMs({ interval, unit }: { interval: number; unit: RepeatUnit }): number {
  return interval * shortestMs[unit];
}

/** Whether this is a name of the IANA time zone database that this machine knows. */
export function isTimezone(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name) && IANAZone.isValidZone(name);
}

/** What clocks in the zone show, as if they were in UTC. */
function wallClock(at: number, timezone: string): number {
  return at + offsetMs(at, timezone);
}

function offsetMs(at: number, timezone: string): number {
  // The default: asking costs microseconds, a thousand times over.
  return timezone === 'UTC' ? 0 : IANAZone.create(timezone).offset(at) * 60_000;
}

/**
 * The moment at which clocks in the zone show `wall` (given as if in UTC). Of a time that comes twice it is the first one; one
 * that is left out is counted from the clocks before, so that 02:30 is 03:30 (RFC 5545, section 3.3.5).
 */
export function momentOf(wall: number, timezone: string): number {
  const before = wall - offsetMs(wall - mostShiftMs, timezone);
  if (wallClock(before, timezone) === wall) return before;
  const after = wall - offsetMs(wall + mostShiftMs, timezone);
  return wallClock(after, timezone) === wall ? after : before;
}

/** Wall clock of the occurrence with this number, counted from 0. */
function wallOf({ startsAt, timezone, repeat }: Recurrence, index: number): number {
  const first = wallClock(startsAt, timezone);
  if (repeat === null || index === 0) return first;
  const steps = index * repeat.interval;
  if (repeat.unit !== 'MONTH') return first + steps * shortestMs[repeat.unit];
  // Always from the first one: after a short month it returns to the 31st.
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

/** Number of the first occurrence that begins at `from` or later, whether or not there is one. In a few steps, however far. */
function indexFrom(recurrence: Recurrence, from: number): number {
  const { startsAt, timezone, repeat } = recurrence;
  if (from <= startsAt) return 0;
  if (repeat === null) return 1;
  const first = wallClock(startsAt, timezone);
  const wall = from - mostShiftMs;
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

/** The first occurrence that begins at `from` or later. */
export function firstOccurrenceFrom(recurrence: Recurrence, from: number): Occurrence | null {
  return occurrence(recurrence, indexFrom(recurrence, from));
}

/** Occurrences that begin at `from` or later and before `to`, at most so many. */
export function occurrencesBeginning(
  recurrence: Recurrence,
  { from, to, limit }: { from: number; to: number; limit: number },
): Occurrence[] {
  const found: Occurrence[] = [];
  for (let index = indexFrom(recurrence, from); found.length < limit; index++) {
    const next = occurrence(recurrence, index);
    if (next === null || next.startsAt >= to) break;
    // Where a zone has left out a whole day, that day's occurrence and the next day's are the same.
    if (next.startsAt !== found.at(-1)?.startsAt) found.push(next);
  }
  return found;
}

/** Occurrences of which some part lies at `from` or later and before `to`, at most so many. */
export function occurrencesWithin(
  recurrence: Recurrence,
  { from, to, limit }: { from: number; to: number; limit: number },
): Occurrence[] {
  const lasts = recurrence.endsAt - recurrence.startsAt;
  return occurrencesBeginning(recurrence, { from: from - lasts + 1, to, limit });
}

/** The occurrence that is going on: its beginning belongs to it, its end does not. */
export function occurrenceAt(recurrence: Recurrence, at: number): Occurrence | null {
  return occurrencesWithin(recurrence, { from: at, to: at + 1, limit: 2 }).at(-1) ?? null;
}

/** The occurrence that begins at this very moment. */
export function occurrenceBeginning(recurrence: Recurrence, startsAt: number): Occurrence | null {
  const found = firstOccurrenceFrom(recurrence, startsAt);
  return found?.startsAt === startsAt ? found : null;
}

/** The end of the last occurrence; null = there is none. */
export function overAt(recurrence: Recurrence): number | null {
  const { startsAt, endsAt, repeat } = recurrence;
  if (repeat === null) return endsAt;
  if (repeat.endsAt === null) return null;
  // The first one that begins too late has a number of its own, so the one before is the last.
  const last = Math.max(0, indexFrom(recurrence, repeat.endsAt + 1) - 1);
  return (occurrence(recurrence, last)?.startsAt ?? startsAt) + (endsAt - startsAt);
}
