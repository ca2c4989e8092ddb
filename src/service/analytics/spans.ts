import type { TimeRange } from './ranges.ts';
import { hourMs } from '../../durations.ts';

/** Decides which part of a range is read from rollups, and which from raw results. */
export type Spans = {
  /** Whole hours; null = none. Outdated hours are in `raw` instead. */
  rollups: { from: Date; to: Date; except: Date[] } | null;
  /** In order, without overlaps. */
  raw: TimeRange[];
};

/**
 * Results of these last hours may not be marked yet, because a run may be in progress, so they are read from raw
 * results.
 */
const freshHours = 2;

const floorHour = (time: number) => Math.floor(time / hourMs) * hourMs;
const ceilHour = (time: number) => Math.ceil(time / hourMs) * hourMs;

/** Hours within the range that may have a rollup; null = none. */
export function rolledUpHours(
  { from, to }: TimeRange,
  { now, oldestRaw }: { now: number; oldestRaw: number },
): TimeRange | null {
  const begin = from.getTime();
  const end = to.getTime();
  // An hour whose raw results have been deleted can only be included completely or not at all.
  const first = begin < oldestRaw ? floorHour(begin) : ceilHour(begin);
  const last =
    end < oldestRaw ? ceilHour(end) : Math.min(floorHour(end), floorHour(now) - (freshHours - 1) * hourMs);
  return first < last ? { from: new Date(first), to: new Date(last) } : null;
}

/** `due`: hours among `hours` whose rollups are outdated. */
export function spansOf(range: TimeRange, hours: TimeRange | null, due: readonly Date[]): Spans {
  if (hours === null) return { rollups: null, raw: range.from < range.to ? [range] : [] };
  const raw: TimeRange[] = [];
  if (range.from < hours.from) raw.push({ from: range.from, to: hours.from });
  for (const hour of [...due].sort((a, b) => a.getTime() - b.getTime())) {
    const to = new Date(hour.getTime() + hourMs);
    const last = raw.at(-1);
    if (last?.to.getTime() === hour.getTime()) last.to = to;
    else raw.push({ from: hour, to });
  }
  const end = raw.at(-1);
  if (hours.to < range.to) {
    if (end?.to.getTime() === hours.to.getTime()) end.to = range.to;
    else raw.push({ from: hours.to, to: range.to });
  }
  return { rollups: { ...hours, except: [...due] }, raw };
}

/** The part of spans before `end`, which is not within an hour that is read from rollups. */
export function spansBefore({ rollups, raw }: Spans, end: Date): Spans {
  const earlier = (time: Date) => (time < end ? time : end);
  return {
    rollups: rollups === null || rollups.from >= end ? null : { ...rollups, to: earlier(rollups.to) },
    raw: raw.filter(({ from }) => from < end).map(({ from, to }) => ({ from, to: earlier(to) })),
  };
}
