import { rounded } from '../../rounding.ts';
import { measured } from '../analytics/measures.ts';
import type { TimeRange } from '../analytics/ranges.ts';
import { rolledUpHours, spansOf } from '../analytics/spans.ts';
import { dueHours, figures, type AnalysedCheck } from '../analytics/statements.ts';
import type { Queryable } from '../db/database.ts';
import type { Percentiles } from './schema.ts';
import type { RunRow } from './statements.ts';

/** Percentiles of the response times of a whole range. Those of its buckets cannot be added up. */

const timed: readonly string[] = ['passed', 'degraded', 'failed'];

const none: Percentiles = { p50: null, p95: null, p99: null };
const short = (value: number | null | undefined) => (typeof value === 'number' ? rounded(value, 2) : null);

/** Exact percentiles, if each run is known. */
export function percentilesOf(runs: readonly RunRow[]): Percentiles {
  const times = runs
    .filter(({ status }) => timed.includes(status))
    .map(({ responseTime }) => responseTime)
    .sort((a, b) => a - b);
  const at = (share: number) => short(times[Math.max(0, Math.ceil(times.length * share) - 1)]);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Percentiles from the histograms of the rollups, and from raw results where there is no rollup yet. */
export async function readPercentiles(
  db: Queryable,
  options: { check: AnalysedCheck; range: TimeRange; now: number; oldestRaw: number },
): Promise<Percentiles> {
  const { check, range } = options;
  const { id: checkId, checkType } = check;
  if (!measured[checkType].measures.some(({ name }) => name === 'responseTime')) return none;
  const hours = rolledUpHours(range, options);
  const due = hours === null ? [] : await dueHours(db, { checkId, ...hours });
  const [whole] = await figures(db, {
    checkId,
    checkType,
    range,
    measures: ['responseTime'],
    statuses: ['passed', 'degraded', 'failed'],
    groupBy: null,
    limit: 1,
    offset: 0,
    spans: spansOf(range, hours, due),
    origin: range.from,
    intervalSeconds: null,
    withPercentiles: true,
  });
  return whole === undefined ? none : { p50: short(whole.p50), p95: short(whole.p95), p99: short(whole.p99) };
}
