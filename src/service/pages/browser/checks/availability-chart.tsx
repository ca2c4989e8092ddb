import { useMemo } from 'preact/hooks';
import { go } from '../base/router.ts';
import { withQuery } from '../base/service.ts';
import { percent } from '../base/words.ts';
import { Chart } from '../charts/chart.tsx';
import type { PlotContent } from '../charts/plot.ts';
import { showRange } from '../charts/range.tsx';
import type { Timeline } from './timeline.ts';

const seconds = (iso: string) => Date.parse(iso) / 1000;

/** The availability over the shown time. A click on a time with failures lists them. */
export function AvailabilityChart({ checkId, timeline }: { checkId: string; timeline: Timeline }) {
  const content = useMemo(() => contentOf(timeline, checkId), [timeline, checkId]);
  const known = (content.series[0]?.values ?? []).filter((value): value is number => value !== null);
  if (known.length === 0) return null;
  const lowest = Math.min(...known);
  const bad = known.filter((value) => value < 100).length;
  return (
    <section class="card" aria-label="Availability">
      <h2>Availability</h2>
      <Chart
        title="Availability"
        summary={
          bad === 0
            ? 'No run failed in this time.'
            : `Failures in ${bad} of ${known.length} parts of this time; the lowest availability is ${percent(lowest)}.`
        }
        content={content}
      />
    </section>
  );
}

function contentOf(timeline: Timeline, checkId: string): PlotContent {
  const buckets = timeline.series.flatMap((one) => one.buckets);
  const iso = (time: number) => new Date(time * 1000).toISOString();
  return {
    times: buckets.map(({ from }) => seconds(from)),
    series: [
      {
        name: 'Availability',
        colour: 'passed',
        values: buckets.map(({ availability }) => availability),
        isFilled: true,
      },
    ],
    marks: buckets
      .filter(({ failed }) => failed > 0)
      .map(({ from }) => {
        const [start, end] = [seconds(from), seconds(from) + timeline.bucketSeconds];
        return {
          from: start,
          to: end,
          colour: 'failed',
          href: withQuery(`/checks/${checkId}`, {
            tab: 'runs',
            status: 'failed',
            from: iso(start),
            to: iso(end),
          }),
        };
      }),
    range: { from: seconds(timeline.from), to: seconds(timeline.to) },
    format: percent,
    max: 100.5,
    onOpen: go,
    onZoom: (from, to) => showRange(from * 1000, to * 1000),
  };
}
