import { withQuery } from '../base/service.ts';
import { rangeOf } from '../charts/range.tsx';

/** The answer of GET /v1/checks/{id}/timeline. */
export type Bucket = {
  readonly from: string;
  readonly count: number;
  readonly passed: number;
  readonly degraded: number;
  readonly failed: number;
  readonly errored: number;
  readonly missed: number;
  readonly retries: number;
  readonly availability: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly avg: number | null;
  readonly phases: { readonly [phase: string]: number };
};
export type Mark = {
  readonly at: string;
  readonly until?: string | null;
  readonly kind: string;
  readonly text: string;
  readonly id: string;
};
export type Timeline = {
  readonly from: string;
  readonly to: string;
  readonly bucketSeconds: number;
  readonly series: readonly { readonly location: string | null; readonly buckets: readonly Bucket[] }[];
  readonly runs:
    | readonly { id: string; startedAt: string; status: string; responseTime: number; location: string }[]
    | null;
  readonly marks: readonly Mark[];
};

/** Where the charts of a check are read, for the time that the address names. */
export function timelinePath(checkId: string, query: URLSearchParams, groupBy?: 'location'): string {
  const { from, to } = rangeOf(query);
  const span = { from: Math.floor(from / 1000), to: Math.ceil(to / 1000) };
  return withQuery(`/v1/checks/${encodeURIComponent(checkId)}/timeline`, { ...span, groupBy, points: 200 });
}

/** The page of what a mark stands for; deployments have none. */
export function linkOfMark({ kind, id }: Mark, checkId: string): string | undefined {
  if (kind === 'alert' || kind === 'recovery') return `/checks/${checkId}?tab=alerts&alert=${id}`;
  if (kind === 'incident') return `/incidents/${id}`;
  return kind === 'maintenance' ? `/maintenance/${id}` : undefined;
}

/** Figures of the whole time. Percentiles are exact if each run is known, and otherwise weighted means of the buckets. */
export function figuresOf({ series, runs }: Timeline) {
  const buckets = series.flatMap((one) => one.buckets);
  const sum = (of: (bucket: Bucket) => number) => buckets.reduce((total, bucket) => total + of(bucket), 0);
  const failed = sum((bucket) => bucket.failed);
  const known = sum((bucket) => bucket.passed + bucket.degraded) + failed;
  const times = (runs ?? [])
    .filter(({ status }) => ['passed', 'degraded', 'failed'].includes(status))
    .map(({ responseTime }) => responseTime)
    .sort((a, b) => a - b);
  const at = (share: number, of: (bucket: Bucket) => number | null): number | null => {
    if (times.length > 0)
      return times[Math.min(times.length - 1, Math.ceil(times.length * share) - 1)] ?? null;
    const withTimes = buckets.filter((bucket) => of(bucket) !== null);
    const weight = withTimes.reduce((total, bucket) => total + bucket.count, 0);
    if (weight === 0) return null;
    return withTimes.reduce((total, bucket) => total + (of(bucket) ?? 0) * bucket.count, 0) / weight;
  };
  return {
    count: sum((bucket) => bucket.count),
    failed,
    retries: sum((bucket) => bucket.retries),
    availability: known === 0 ? null : ((known - failed) / known) * 100,
    p50: at(0.5, ({ p50 }) => p50),
    p95: at(0.95, ({ p95 }) => p95),
    p99: at(0.99, ({ p99 }) => p99),
  };
}
