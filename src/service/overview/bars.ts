import { dayMs, hourMs } from '../../durations.ts';
import { rounded, shareOf } from '../../rounding.ts';
import { rolledUpHours } from '../analytics/spans.ts';
import type { Queryable } from '../db/database.ts';
import {
  countHours,
  missedSpans,
  readFigures,
  slowest,
  type Figures,
  type HourCounts,
  type MissedSpan,
} from './hour-statements.ts';
import type { Bar } from './schema.ts';

/** Number of bars of a check, one per hour; the last one is the hour in progress. */
export const barHours = 24;

/** The first moment of the bars at `now`. */
export const barsFrom = (now: number): number => Math.floor(now / hourMs) * hourMs - (barHours - 1) * hourMs;

export type DayFigures = { bars: Bar[]; availability: number | null; p95: number | null };

/** A p95 that was made with a rollup is shown until it lacks so many full hours. */
const freshHours = 3;

/** The bars, availability and p95 of checks over the last hours. */
export async function readDays(
  db: Queryable,
  { checkIds, now }: { checkIds: readonly string[]; now: number },
): Promise<(checkId: string) => DayFigures> {
  const from = barsFrom(now);
  const rolledUp = rolledUpHours({ from: new Date(from), to: new Date(now) }, { now, oldestRaw: 0 });
  const figures = await readFigures(db, checkIds);
  const span = {
    from: new Date(from),
    rolledUpTo: rolledUp?.to ?? new Date(from),
    // Results may begin a moment later than now, by the clocks of agents.
    to: new Date(from + barHours * hourMs),
  };
  const uncounted = checkIds.filter((id) => (figures.get(id)?.runs ?? null) === null);
  const counts = await countHours(db, { ...span, checkIds, fromRollups: uncounted });
  const fresh = from + (barHours - 1 - freshHours) * hourMs;
  const isStale = (id: string) => Date.parse(figures.get(id)?.hour ?? '1970-01-01') < fresh;
  const stale = checkIds.filter(isStale);
  const computed =
    stale.length === 0 ? null : await slowest(db, { ...span, checkIds: stale, fromRollups: stale });
  const missed = await missedSpans(db, { checkIds, since: new Date(from - dayMs), from: new Date(from) });
  return (checkId) => {
    const known = figures.get(checkId);
    const own = withFigures(from, known, counts.get(checkId) ?? []);
    const time = isStale(checkId) ? computed?.get(checkId) : known?.p95;
    return {
      bars: barsOf(
        from,
        own,
        missed.filter((span) => span.checkId === checkId),
      ),
      availability: availabilityOf(own),
      p95: time === undefined || time === null ? null : rounded(time, 2),
    };
  };
}

/** Hours from figures, and those that were counted: a late result is in these only. */
function withFigures(
  from: number,
  figures: Figures | undefined,
  counted: readonly HourCounts[],
): readonly HourCounts[] {
  if (figures === undefined || figures.runs === null) return counted;
  const hours = new Map<number, HourCounts>();
  const oldest = (Date.parse(figures.hour) - from) / hourMs - barHours + 1;
  for (let at = 0; at < barHours; at++) {
    const [passed = 0, degraded = 0, failed = 0, errored = 0] = figures.runs.slice(4 * at, 4 * at + 4);
    if (oldest + at >= 0 && passed + degraded + failed + errored > 0)
      hours.set(oldest + at, [oldest + at, passed, degraded, failed, errored]);
  }
  for (const hour of counted) hours.set(hour[0], hour);
  return [...hours.values()];
}

/** Percent of passed and degraded runs, cut to two places, so that 100 means all. */
function availabilityOf(hours: readonly HourCounts[]): number | null {
  let up = 0;
  let runs = 0;
  for (const [, passed, degraded, failed] of hours) {
    up += passed + degraded;
    runs += passed + degraded + failed;
  }
  return shareOf(up, runs);
}

/** Builds the bars. Missed runs of one record are spread evenly over its time. */
export function barsOf(from: number, hours: readonly HourCounts[], missed: readonly MissedSpan[]): Bar[] {
  const bars = Array.from({ length: barHours }, (_, hour): Bar => ({
    from: new Date(from + hour * hourMs).toISOString(),
    passed: 0,
    degraded: 0,
    failed: 0,
    errored: 0,
    missed: 0,
  }));
  for (const [hour, passed, degraded, failed, errored] of hours) {
    const bar = bars[hour];
    if (bar !== undefined) Object.assign(bar, { passed, degraded, failed, errored });
  }
  for (const span of missed) {
    const start = span.from.getTime();
    const step = span.count > 1 ? (span.to.getTime() - start) / (span.count - 1) : 0;
    const first = step > 0 ? Math.max(0, Math.ceil((from - start) / step)) : 0;
    for (let run = first; run < span.count; run++) {
      const bar = bars[Math.floor((start + run * step - from) / hourMs)];
      if (bar !== undefined) bar.missed += 1;
    }
  }
  return bars;
}
