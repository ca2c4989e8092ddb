import {
  dueHours,
  figures,
  rawValues,
  type AnalysedCheck,
  type FigureRow,
  type GroupBy,
  type RawRow,
  type Selection,
} from './statements.ts';
import type { Queryable } from '../db/database.ts';
import { metricsOf, type Aggregation, type Metric } from './metric-names.ts';
import type { TimeRange } from './ranges.ts';
import { rolledUpHours, spansOf } from './spans.ts';
import { dayMs, minuteMs } from '../../durations.ts';
import { rounded } from '../../rounding.ts';

/** A query of one check's figures. */
export type Question = {
  range: TimeRange;
  /** Names of metrics; metrics that the check's type does not have are ignored. */
  metrics: readonly string[];
  /** Null = the whole range is one interval. */
  intervalMinutes: number | null;
  /** Null = both. */
  outcomes: readonly ('success' | 'failure')[] | null;
  groupBy: GroupBy | null;
  limit: number;
  page: number;
};

export type Point = { timestamp: string; [metric: string]: number | string | null };
export type Series = {
  data: Point[];
  runLocation?: string;
  statusCode?: number | null;
  pageIndex?: number | null;
};

/**
 * Degraded counts as up. Errored runs are excluded, because a fault of the service or an agent does not describe the
 * target.
 */
export function statusesOf(outcomes: Question['outcomes']): string[] {
  const statuses = { success: ['passed', 'degraded'], failure: ['failed'] };
  return (outcomes ?? (['success', 'failure'] as const)).flatMap((outcome) => statuses[outcome]);
}

function aggregated(row: FigureRow, aggregation: Aggregation | 'availability'): number | null {
  const mean = row.sum / row.count;
  switch (aggregation) {
    case 'availability':
      return (row.up / row.count) * 100;
    case 'avg':
      return mean;
    case 'max':
      return row.greatest;
    case 'min':
      return row.least;
    case 'median':
      return row.p50;
    case 'stddev':
      return Math.sqrt(Math.max(0, row.squares / row.count - mean ** 2));
    case 'sum':
      return row.sum;
    case 'p50':
    case 'p90':
    case 'p95':
    case 'p99':
      return row[aggregation];
  }
}

/**
 * Builds series of points, oldest first. An aggregated metric has one value per interval that contains a run; a bare
 * metric has one value per run. A page holds up to `limit` points of either kind.
 */
export async function analyse(
  db: Queryable,
  check: AnalysedCheck,
  question: Question & { now: number; oldestRaw: number },
): Promise<Series[]> {
  const known = metricsOf(check.checkType);
  const metrics = question.metrics.flatMap((name) => known.get(name) ?? []);
  const bare = metrics.filter(({ aggregation }) => aggregation === 'none');
  const ofIntervals = metrics.filter(({ aggregation }) => aggregation !== 'none');
  const { range, groupBy, limit, page } = question;
  const selection = {
    checkId: check.id,
    checkType: check.checkType,
    range,
    statuses: statusesOf(question.outcomes),
    groupBy,
    limit,
    offset: (page - 1) * limit,
  };
  const points = new Map<string, Point[]>();
  const add = (group: string, point: Point) => points.set(group, [...(points.get(group) ?? []), point]);
  if (ofIntervals.length > 0) await addIntervals(db, { selection, question, metrics: ofIntervals }, add);
  if (bare.length > 0) {
    const rows = await rawValues(db, { ...selection, measures: bare.map(({ measure }) => measure) });
    addRuns(rows, bare, add);
  }
  if (groupBy === null) return [{ data: ordered(points.get('') ?? []) }];
  return [...points.keys()]
    .sort()
    .map((group) => ({ ...groupOf(groupBy, group), data: ordered(points.get(group) ?? []) }));
}

type Add = (group: string, point: Point) => void;

async function addIntervals(
  db: Queryable,
  {
    selection,
    question,
    metrics,
  }: {
    selection: Omit<Selection, 'measures'>;
    question: Question & { now: number; oldestRaw: number };
    metrics: readonly Metric[];
  },
  add: Add,
): Promise<void> {
  const { range, intervalMinutes } = question;
  const { checkId } = selection;
  // Intervals of whole hours use rollups; other intervals use raw results.
  const hours =
    intervalMinutes === null || intervalMinutes % 60 === 0 ? rolledUpHours(range, question) : null;
  const due = hours === null ? [] : await dueHours(db, { checkId, ...hours });
  const from = range.from.getTime();
  const rows = await figures(db, {
    ...selection,
    measures: [...new Set(metrics.map(({ measure }) => measure))],
    spans: spansOf(range, hours, due),
    // Midnight UTC, so that intervals align with days and hours.
    origin: intervalMinutes === null ? range.from : new Date(Math.floor(from / dayMs) * dayMs),
    intervalSeconds: intervalMinutes === null ? null : (intervalMinutes * minuteMs) / 1000,
    withPercentiles: metrics.some(({ aggregation }) => /^p\d|^median$/.test(aggregation)),
  });
  const found = new Map<string, FigureRow[]>();
  for (const row of rows) {
    const key = `${row.bin.getTime()} ${row.group}`;
    found.set(key, [...(found.get(key) ?? []), row]);
  }
  for (const group of found.values()) {
    const [first] = group;
    if (first === undefined) continue;
    const values = metrics.map(({ name, measure, aggregation }) => {
      const row = group.find(({ metric }) => metric === measure);
      const value = row === undefined || aggregation === 'none' ? null : aggregated(row, aggregation);
      return [name, value === null ? null : rounded(value, 4)] as const;
    });
    add(first.group, { timestamp: first.bin.toISOString(), ...Object.fromEntries(values) });
  }
}

/** Builds one point per run, or per page for a browser check. */
function addRuns(rows: readonly RawRow[], metrics: readonly Metric[], add: Add): void {
  const found = new Map<string, RawRow[]>();
  for (const row of rows) {
    const key = `${row.id} ${row.key}`;
    found.set(key, [...(found.get(key) ?? []), row]);
  }
  for (const values of found.values()) {
    const [first] = values;
    if (first === undefined) continue;
    const named = metrics.flatMap(({ name, measure }) => {
      const row = values.find(({ metric }) => metric === measure);
      return row === undefined ? [] : [[name, row.shown ?? rounded(row.value, 4)] as const];
    });
    add(first.group, { timestamp: first.startedAt.toISOString(), ...Object.fromEntries(named) });
  }
}

const ordered = (points: Point[]) => points.sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp));

function groupOf(groupBy: GroupBy, group: string): Omit<Series, 'data'> {
  if (groupBy === 'runLocation') return { runLocation: group };
  return { [groupBy]: group === '' ? null : Number(group) };
}

/** The unit and kind of each metric's values. */
export function metadataOf(check: AnalysedCheck, names: readonly string[]) {
  const known = metricsOf(check.checkType);
  return Object.fromEntries(
    names
      .flatMap((name) => known.get(name) ?? [])
      .map(({ name, label, unit, aggregation }) => [name, { label, unit, aggregation }] as const),
  );
}
