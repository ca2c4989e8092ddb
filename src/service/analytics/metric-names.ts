import type { CheckType } from '../../protocol/check-types.ts';
import { measured, type Unit } from './measures.ts';

/** Names of metrics. A bare name has one value per run; a name with a suffix has one value per interval. */

export const aggregations = [
  'avg',
  'max',
  'median',
  'min',
  'p50',
  'p90',
  'p95',
  'p99',
  'stddev',
  'sum',
] as const;
export type Aggregation = (typeof aggregations)[number];

export type Metric = {
  name: string;
  /** `measured`, or `retries`, whose rows count the runs. */
  measure: string;
  /** `none` = a value per run. `availability` and `retries` also have values per interval. */
  aggregation: Aggregation | 'availability' | 'none';
  label: string;
  unit: Unit;
};

const words: { readonly [A in Aggregation]: string } = {
  avg: 'average',
  max: 'maximum',
  median: 'median',
  min: 'minimum',
  p50: '50th percentile',
  p90: '90th percentile',
  p95: '95th percentile',
  p99: '99th percentile',
  stddev: 'standard deviation',
  sum: 'sum',
};

const ofRuns: readonly Metric[] = [
  {
    name: 'availability',
    measure: 'retries',
    aggregation: 'availability',
    label: 'Availability',
    unit: 'percentage',
  },
  { name: 'retries', measure: 'retries', aggregation: 'sum', label: 'Retries', unit: 'count' },
];

function metricsOfType(type: CheckType): readonly Metric[] {
  return [
    ...ofRuns,
    ...measured[type].measures.flatMap(({ name, label, unit }): Metric[] => [
      { name, measure: name, aggregation: 'none', label, unit },
      ...aggregations.map((aggregation) => ({
        name: `${name}_${aggregation}`,
        measure: name,
        aggregation,
        label: `${label} (${words[aggregation]})`,
        unit,
      })),
    ]),
  ];
}

/** Returns all metrics of a type, by name. */
const metrics = new Map<CheckType, ReadonlyMap<string, Metric>>();
export function metricsOf(type: CheckType): ReadonlyMap<string, Metric> {
  const known = metrics.get(type) ?? new Map(metricsOfType(type).map((metric) => [metric.name, metric]));
  metrics.set(type, known);
  return known;
}
