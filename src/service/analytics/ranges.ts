import { dayMs } from '../../durations.ts';

/** Named time ranges in UTC; weeks begin on Monday (specification, "Analytics"). */

export const quickRanges = [
  'last24Hours',
  'last7Days',
  'last30Days',
  'thisWeek',
  'thisMonth',
  'lastWeek',
  'lastMonth',
] as const;
export type QuickRange = (typeof quickRanges)[number];

/** From `from` (inclusive) to `to` (exclusive). */
export type TimeRange = { from: Date; to: Date };

/** Resolves a name at `now` (milliseconds since the epoch). A range that is not over ends now. */
export function quickRange(name: QuickRange, now: number): TimeRange {
  const day = Math.floor(now / dayMs) * dayMs;
  const time = new Date(now);
  // getUTCDay counts from Sunday.
  const monday = day - ((time.getUTCDay() + 6) % 7) * dayMs;
  const month = (months: number) => Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months, 1);
  const ranges: { readonly [N in QuickRange]: readonly [number, number] } = {
    last24Hours: [now - dayMs, now],
    last7Days: [now - 7 * dayMs, now],
    last30Days: [now - 30 * dayMs, now],
    thisWeek: [monday, now],
    thisMonth: [month(0), now],
    lastWeek: [monday - 7 * dayMs, monday],
    lastMonth: [month(-1), month(0)],
  };
  const [from, to] = ranges[name];
  return { from: new Date(from), to: new Date(to) };
}
