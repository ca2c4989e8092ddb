import type { TimeRange } from './ranges.ts';
import { hourMs } from '../../durations.ts';

/** Which part of a range is read from rollups, and which from raw results. */
export type Spans = {
  /** Whole hours; null = none. Those that are due are among `raw` instead. */
  rollups: { from: Date; to: Date; except: Date[] } | null;
  /** In order, without overlaps. */
  raw: TimeRange[];
};

/** Results of these last hours may not have been noted yet (a run goes on elsewhere): they are read from raw results. */
const freshHours = 2;

const floorHour = (time: number) => Math.floor(time / hourMs) * hourMs;
const ceilHour = (time: number) => Math.ceil(time / hourMs) * hourMs;

/** Hours of which a rollup may exist, within the range; null = there are none. */
export function rolledUpHours(
  { from, to }: TimeRange,
  { now, oldestRaw }: { now: number; oldestRaw: number },
): TimeRange | null {
  const begin = from.getTime();
  const end = to.getTime();
  // Of an hour that has no raw results any more there is the whole, or nothing.
  const first = begin < oldestRaw ? floorHour(begin) : ceilHour(begin);
  const last =
    end < oldestRaw ? ceilHour(end) : Math.min(floorHour(end), floorHour(now) - (freshHours - 1) * hourMs);
  return first < last ? { from: new Date(first), to: new Date(last) } : null;
}

/** `due`: hours among `hours` whose rollup lacks results. */
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
