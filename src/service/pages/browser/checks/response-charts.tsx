import { useMemo } from 'preact/hooks';
import { go, setQuery, usePlace } from '../base/router.ts';
import { withQuery } from '../base/service.ts';
import { Chart } from '../charts/chart.tsx';
import type { PlotContent, Series, ShownMark } from '../charts/plot.ts';
import { showRange } from '../charts/range.tsx';
import { mostLocations, seriesOf, viewOf, viewsOf, type ViewId } from './chart-views.ts';
import { linkOfMark, type Bucket, type Timeline } from './timeline.ts';

/** Response times and what else the check measures. The view is part of the address. */
export function ResponseCharts({
  checkId,
  timeline,
  places,
}: {
  checkId: string;
  timeline: Timeline;
  places: Timeline | null;
}) {
  const { query } = usePlace();
  const views = viewsOf(timeline, query.get('chart'));
  const { id: view, title } = viewOf(views, query);
  const content = useMemo(
    () =>
      contentOf(view === 'locations' ? (places ?? timeline) : timeline, { whole: timeline, view, checkId }),
    [timeline, places, view, checkId],
  );
  const last = content.series.map(({ name, values }) => `${name} ${shownLast(content, values)}`);
  return (
    <section class="card" aria-label="Response time">
      <div class="card-head">
        <h2>Over time</h2>
        {views.length > 1 && (
          <div class="buttons" role="group" aria-label="View of the chart">
            {views.map((one) => (
              <button
                key={one.id}
                type="button"
                aria-pressed={view === one.id}
                onClick={() => setQuery({ chart: one.id === 'time' ? null : one.id })}
              >
                {one.title}
              </button>
            ))}
          </div>
        )}
      </div>
      <Chart
        title={title}
        summary={`Latest values: ${last.join(', ') || 'none'}. Drag over the chart to zoom, and click on a mark to open it.`}
        content={content}
      />
      {view === 'locations' && (places?.series.length ?? 0) > mostLocations && (
        <p class="hint">
          {mostLocations} of {places?.series.length} locations. The list of runs can be filtered by the
          others.
        </p>
      )}
    </section>
  );
}

function shownLast({ format }: PlotContent, values: readonly (number | null)[]): string {
  const last = [...values].reverse().find(isNumber);
  return last === undefined ? 'none' : format(last);
}

const isNumber = (value: number | null): value is number => value !== null;
const seconds = (iso: string) => Date.parse(iso) / 1000;
const markColours: { readonly [kind: string]: string } = {
  alert: 'failed',
  recovery: 'passed',
  maintenance: 'accent',
  incident: 'errored',
  deployment: 'accent',
  route: 'degraded',
};
/** `whole`: over all locations. Its failed and degraded times are marked in each view. */
function contentOf(
  timeline: Timeline,
  { whole, view, checkId }: { whole: Timeline; view: ViewId; checkId: string },
): PlotContent {
  const range = { from: seconds(timeline.from), to: seconds(timeline.to) };
  const buckets = timeline.series.flatMap((one) => one.buckets);
  const times = [...new Set(buckets.map(({ from }) => seconds(from)))].sort((a, b) => a - b);
  const values = (own: readonly Bucket[], of: (bucket: Bucket) => number | null | undefined) => {
    const byTime = new Map(own.map((bucket) => [seconds(bucket.from), of(bucket) ?? null]));
    return times.map((time) => byTime.get(time) ?? null);
  };
  const { lines, format } = seriesOf(timeline, view);
  const series: Series[] = lines.map(({ name, colour, buckets: those, of }) => ({
    name,
    colour,
    values: values(those, of),
  }));
  return {
    times,
    series,
    range,
    marks: [...marksOf(timeline, { end: range.to, checkId }), ...badBuckets(whole, checkId)],
    format,
    onOpen: go,
    onZoom: (from, to) => showRange(from * 1000, to * 1000),
  };
}

const marksOf = ({ marks }: Timeline, { end, checkId }: { end: number; checkId: string }): ShownMark[] =>
  marks.map((mark) => ({
    from: seconds(mark.at),
    to: mark.until === undefined ? seconds(mark.at) : mark.until === null ? end : seconds(mark.until),
    colour: markColours[mark.kind] ?? 'idle',
    href: linkOfMark(mark, checkId),
  }));

/** Times with failed or degraded runs. They lead to these runs, or to the only one. */
function badBuckets({ series, runs, bucketSeconds }: Timeline, checkId: string): ShownMark[] {
  return (series[0]?.buckets ?? [])
    .filter(({ failed, degraded, errored }) => failed + degraded + errored > 0)
    .map(({ from, failed, errored }) => {
      const [start, end] = [seconds(from), seconds(from) + bucketSeconds];
      const status = failed > 0 ? 'failed' : errored > 0 ? 'errored' : 'degraded';
      const those = (runs ?? []).filter(
        (run) => run.status === status && seconds(run.startedAt) >= start && seconds(run.startedAt) < end,
      );
      const [only] = those;
      const iso = (time: number) => new Date(time * 1000).toISOString();
      return {
        from: start,
        to: end,
        colour: status,
        href:
          only !== undefined && those.length === 1
            ? `/checks/${checkId}/runs/${only.id}`
            : withQuery(`/checks/${checkId}`, { tab: 'runs', status, from: iso(start), to: iso(end) }),
      };
    });
}
