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
  readonly figures?: { readonly [name: string]: number };
};
export type Mark = {
  readonly at: string;
  readonly until?: string | null;
  readonly kind: string;
  readonly text: string;
  readonly id: string;
  /** Of deployments of a project. */
  readonly project?: string;
};
export type Timeline = {
  readonly checkType: string;
  readonly from: string;
  readonly to: string;
  readonly bucketSeconds: number;
  readonly series: readonly { readonly location: string | null; readonly buckets: readonly Bucket[] }[];
  /** Of the whole time. */
  readonly percentiles: {
    readonly p50: number | null;
    readonly p95: number | null;
    readonly p99: number | null;
  };
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

/** A deployment that called a trigger has no page: its runs began within this time. */
const triggeredMs = 600_000;
const aroundMs = 12 * 3_600_000;

/** The page of what a mark stands for. */
export function linkOfMark({ kind, id, at, project }: Mark, checkId: string): string | undefined {
  if (kind === 'deployment') {
    if (project !== undefined) return `/projects/${encodeURIComponent(project)}?deployment=${id}`;
    const from = Date.parse(at);
    const to = new Date(from + triggeredMs).toISOString();
    return `/checks/${checkId}?tab=runs&from=${new Date(from).toISOString()}&to=${to}`;
  }
  if (kind === 'alert' || kind === 'recovery') {
    // The list of all alerts may be long, so the address names the time around this one as well.
    const [from, to] = [-aroundMs, aroundMs].map((by) => new Date(Date.parse(at) + by).toISOString());
    return `/checks/${checkId}?tab=alerts&alert=${id}&from=${from}&to=${to}`;
  }
  if (kind === 'incident') return `/incidents/${id}`;
  if (kind === 'route') return `/checks/${checkId}/runs/${id}`;
  return kind === 'maintenance' ? `/maintenance/${id}` : undefined;
}

/** Figures of the whole time. */
export function figuresOf({ series, percentiles }: Timeline) {
  const buckets = series.flatMap((one) => one.buckets);
  const sum = (of: (bucket: Bucket) => number) => buckets.reduce((total, bucket) => total + of(bucket), 0);
  const failed = sum((bucket) => bucket.failed);
  const known = sum((bucket) => bucket.passed + bucket.degraded) + failed;
  return {
    count: sum((bucket) => bucket.count),
    failed,
    retries: sum((bucket) => bucket.retries),
    availability: known === 0 ? null : ((known - failed) / known) * 100,
    ...percentiles,
  };
}
