import { useMemo } from 'preact/hooks';
import { setQuery, usePlace } from '../base/router.ts';
import { milliseconds } from '../base/words.ts';
import { Chart } from '../charts/chart.tsx';
import type { PlotContent, Series, ShownMark } from '../charts/plot.ts';
import { showRange } from '../charts/range.tsx';
import type { Bucket, Timeline } from './timeline.ts';

const views = [
  { id: 'time', title: 'Response time' },
  { id: 'phases', title: 'By phase' },
  { id: 'locations', title: 'By location' },
] as const;

/** Response times: percentiles, phases, or locations; the view is part of the address. */
export function ResponseCharts({ timeline, places }: { timeline: Timeline; places: Timeline | null }) {
  const { query } = usePlace();
  const view = views.find(({ id }) => id === query.get('chart'))?.id ?? 'time';
  const content = useMemo(
    () => contentOf(view === 'locations' ? (places ?? timeline) : timeline, view),
    [timeline, places, view],
  );
  const last = content.series.map(
    ({ name, values }) => `${name} ${milliseconds([...values].reverse().find(isNumber))}`,
  );
  return (
    <section class="card" aria-label="Response time">
      <div class="card-head">
        <h2>Response time</h2>
        <div class="buttons" role="group" aria-label="View of the chart">
          {views.map(({ id, title }) => (
            <button
              key={id}
              type="button"
              aria-pressed={view === id}
              onClick={() => setQuery({ chart: id === 'time' ? null : id })}
            >
              {title}
            </button>
          ))}
        </div>
      </div>
      <Chart
        title={views.find(({ id }) => id === view)?.title ?? ''}
        summary={`Latest values: ${last.join(', ') || 'none'}. Drag over the chart to zoom.`}
        content={content}
      />
    </section>
  );
}

const isNumber = (value: number | null): value is number => value !== null;
const seconds = (iso: string) => Date.parse(iso) / 1000;
const markColours: { readonly [kind: string]: string } = {
  alert: 'failed',
  recovery: 'passed',
  maintenance: 'accent',
  incident: 'errored',
  deployment: 'accent',
};
const lines = ['accent', 'errored', 'passed', 'degraded', 'failed', 'idle'];
const colourAt = (at: number) => lines[at % lines.length] ?? 'accent';

function contentOf(timeline: Timeline, view: (typeof views)[number]['id']): PlotContent {
  const range = { from: seconds(timeline.from), to: seconds(timeline.to) };
  const buckets = timeline.series.flatMap((one) => one.buckets);
  const times = [...new Set(buckets.map(({ from }) => seconds(from)))].sort((a, b) => a - b);
  const values = (own: readonly Bucket[], of: (bucket: Bucket) => number | null | undefined) => {
    const byTime = new Map(own.map((bucket) => [seconds(bucket.from), of(bucket) ?? null]));
    return times.map((time) => byTime.get(time) ?? null);
  };
  const [first] = timeline.series;
  const own = first?.buckets ?? [];
  const series: Series[] =
    view === 'locations'
      ? timeline.series.slice(0, 6).map(({ location, buckets: those }, at) => ({
          name: location ?? 'all',
          colour: colourAt(at),
          values: values(those, ({ p50 }) => p50),
        }))
      : view === 'phases'
        ? [...new Set(own.flatMap(({ phases }) => Object.keys(phases)))].slice(0, 8).map((name, at) => ({
            name,
            colour: colourAt(at),
            values: values(own, ({ phases }) => phases[name]),
          }))
        : [
            { name: 'p99', colour: 'idle', values: values(own, ({ p99 }) => p99) },
            { name: 'p95', colour: 'errored', values: values(own, ({ p95 }) => p95) },
            { name: 'Median', colour: 'accent', values: values(own, ({ p50 }) => p50) },
          ];
  return {
    times,
    series,
    range,
    marks: [...marksOf(timeline, range.to), ...badBuckets(own, timeline.bucketSeconds)],
    format: milliseconds,
    onZoom: (from, to) => showRange(from * 1000, to * 1000),
  };
}

const marksOf = ({ marks }: Timeline, end: number): ShownMark[] =>
  marks.map(({ at, until, kind }) => ({
    from: seconds(at),
    to: until === undefined ? seconds(at) : until === null ? end : seconds(until),
    colour: markColours[kind] ?? 'idle',
  }));

/** Times with failed or degraded runs. */
const badBuckets = (buckets: readonly Bucket[], width: number): ShownMark[] =>
  buckets
    .filter(({ failed, degraded, errored }) => failed + degraded + errored > 0)
    .map(({ from, failed, errored }) => ({
      from: seconds(from),
      to: seconds(from) + width,
      colour: failed > 0 ? 'failed' : errored > 0 ? 'errored' : 'degraded',
    }));
