import { dayMs, hourMs, minuteMs } from '../../durations.ts';
import { rounded, shareOf } from '../../rounding.ts';
import { measured } from '../analytics/measures.ts';
import type { TimeRange } from '../analytics/ranges.ts';
import { rolledUpHours, spansOf } from '../analytics/spans.ts';
import { dueHours, figures, type AnalysedCheck, type FigureRow } from '../analytics/statements.ts';
import type { Queryable } from '../db/database.ts';
import type { Bucket } from './schema.ts';
import { countRuns, listMissed, type MissedRow } from './statements.ts';

/** Widths of buckets. Those of whole hours are read from rollups. */
const widths = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minuteMs),
  ...[1, 2, 3, 6, 12].map((hours) => hours * hourMs),
  ...[1, 2, 7, 14, 28].map((days) => days * dayMs),
];

/** The narrowest width with which a range has at most `points` buckets. Old ranges have hours only. */
export function widthOf(range: TimeRange, points: number, oldestRaw: number): number {
  const from = range.from.getTime();
  const to = range.to.getTime();
  const least = from < oldestRaw ? hourMs : minuteMs;
  const fits = (width: number) => Math.ceil(to / width) - Math.floor(from / width) <= points;
  return (
    widths.find((width) => width >= least && fits(width)) ??
    Math.ceil((to - from) / points / dayMs + 1) * dayMs
  );
}

/** Measures in milliseconds that charts show as phases: those of a response time, latencies, and times of web vitals. */
const phaseNames: ReadonlySet<string> = new Set([
  'wait',
  'dns',
  'tcp',
  'connection',
  'firstByte',
  'data',
  'download',
  'total',
  'latencyMin',
  'latencyAvg',
  'latencyMax',
  'handshakeTimeMs',
  'TTFB',
  'FCP',
  'LCP',
  'TBT',
]);

/** Measures that are no times. */
const figureNames: ReadonlySet<string> = new Set(['packetLoss', 'daysUntilExpiry', 'CLS']);

/** The total is a phase of DNS checks only, whose response time is one lookup of it. */
const isPhase = (name: string, names: readonly string[]) =>
  phaseNames.has(name) && (name !== 'total' || !names.includes('connection'));

type Options = {
  check: AnalysedCheck;
  range: TimeRange;
  width: number;
  byLocation: boolean;
  now: number;
  oldestRaw: number;
};

/** Buckets of each series by its location; one series with the empty name if they are not grouped. */
export async function readBuckets(db: Queryable, options: Options): Promise<Map<string, Bucket[]>> {
  const { check, range, width, byLocation } = options;
  const hours = width % hourMs === 0 ? rolledUpHours(range, options) : null;
  const due = hours === null ? [] : await dueHours(db, { checkId: check.id, ...hours });
  const spans = spansOf(range, hours, due);
  const origin = new Date(Math.floor(range.from.getTime() / width) * width);
  const names = measured[check.checkType].measures.map(({ name }) => name);
  const selection = {
    checkId: check.id,
    checkType: check.checkType,
    range,
    statuses: ['passed', 'degraded', 'failed'],
    groupBy: byLocation ? ('runLocation' as const) : null,
    limit: 1_000,
    offset: 0,
    spans,
    origin,
    intervalSeconds: width / 1000,
  };
  const counts = await countRuns(db, { checkId: check.id, spans, origin, seconds: width / 1000 });
  const read = async (measures: string[], withPercentiles: boolean): Promise<FigureRow[]> =>
    measures.length === 0 ? [] : figures(db, { ...selection, measures, withPercentiles });
  const times = await read(names.includes('responseTime') ? ['responseTime'] : [], true);
  const shown = names.filter((name) => isPhase(name, names) || figureNames.has(name));
  const averages = await read(shown, false);
  const missed = await listMissed(db, { checkId: check.id, range });

  const series = new Map<string, Map<number, Bucket>>(byLocation ? [] : [['', new Map()]]);
  const at = (location: string, time: number): Bucket => {
    const name = byLocation ? location : '';
    const buckets = series.get(name) ?? new Map<number, Bucket>();
    series.set(name, buckets);
    const bucket = buckets.get(time) ?? emptyBucket(time);
    buckets.set(time, bucket);
    return bucket;
  };
  for (const { bin, location, status, count, retries } of counts) {
    const bucket = at(location, bin.getTime());
    bucket.count += count;
    bucket.retries += retries;
    if (status === 'passed' || status === 'degraded' || status === 'failed' || status === 'errored')
      bucket[status] += count;
  }
  for (const row of times) {
    const { p50, p95, p99 } = row;
    const avg = row.sum / row.count;
    const short = (value: number | null) => (value === null ? null : rounded(value, 2));
    Object.assign(at(row.group, row.bin.getTime()), {
      p50: short(p50),
      p95: short(p95),
      p99: short(p99),
      avg: short(avg),
    });
  }
  for (const { group, bin, metric, sum, count } of averages) {
    const bucket = at(group, bin.getTime());
    // Layout shifts are around 0.1.
    if (figureNames.has(metric)) bucket.figures = { ...bucket.figures, [metric]: rounded(sum / count, 4) };
    else bucket.phases[metric] = rounded(sum / count, 2);
  }
  for (const { location, time } of missed.flatMap((record) => momentsOf(record, range)))
    at(location, Math.floor((time - origin.getTime()) / width) * width + origin.getTime()).missed += 1;
  return new Map(
    [...series].map(([name, buckets]) => [
      name,
      [...buckets.values()]
        .map((bucket) => ({ ...bucket, availability: availabilityOf(bucket) }))
        .sort((a, b) => Date.parse(a.from) - Date.parse(b.from)),
    ]),
  );
}

const emptyBucket = (time: number): Bucket => ({
  from: new Date(time).toISOString(),
  count: 0,
  passed: 0,
  degraded: 0,
  failed: 0,
  errored: 0,
  missed: 0,
  retries: 0,
  availability: null,
  p50: null,
  p95: null,
  p99: null,
  avg: null,
  phases: {},
});

/** Cut to two places, so that 100 means all. */
function availabilityOf({ passed, degraded, failed }: Bucket): number | null {
  return shareOf(passed + degraded, passed + degraded + failed);
}

/** The moments of a record of missed runs that are in the range. */
function momentsOf({ location, from, to, count }: MissedRow, range: TimeRange) {
  const start = from.getTime();
  const step = count > 1 ? (to.getTime() - start) / (count - 1) : 0;
  const begin = range.from.getTime();
  const first = step > 0 && begin > start ? Math.ceil((begin - start) / step) : 0;
  const moments: { location: string; time: number }[] = [];
  for (let run = first; run < count; run++) {
    const time = start + run * step;
    if (time >= range.to.getTime()) break;
    if (time >= begin) moments.push({ location, time });
  }
  return moments;
}
