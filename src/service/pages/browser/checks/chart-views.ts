import { milliseconds } from '../base/words.ts';
import type { Bucket, Timeline } from './timeline.ts';

/** The views of the chart of a check: which there are, and the lines of each. */

export type ViewId = 'time' | 'phases' | 'loss' | 'expiry' | 'shift' | 'locations' | 'retries';
export type View = { readonly id: ViewId; readonly title: string };

/** What the phases of a type are called. */
const phaseTitles: { readonly [type: string]: string } = {
  ICMP: 'Latency',
  BROWSER: 'Web vitals',
  SSL: 'Handshake',
  TRACEROUTE: 'Latency',
};
/** Views of figures that are no times. */
const figureViews = [
  { id: 'loss', title: 'Packet loss', figure: 'packetLoss', format: (value: number) => `${round(value)} %` },
  {
    id: 'expiry',
    title: 'Days until expiry',
    figure: 'daysUntilExpiry',
    format: (value: number) => `${round(value)} d`,
  },
  { id: 'shift', title: 'Layout shift', figure: 'CLS', format: (value: number) => value.toFixed(3) },
] as const;
const round = (value: number) => Math.round(value * 10) / 10;

const names: { readonly [measure: string]: string } = {
  latencyMin: 'Lowest',
  latencyAvg: 'Average',
  latencyMax: 'Highest',
  handshakeTimeMs: 'Handshake',
  finalHopLatencyAvg: 'Target',
  total: 'With all lookups',
};

/** The views that have something to show, and the one that the address names. */
export function viewsOf({ checkType, series }: Timeline, chosen: string | null): readonly View[] {
  const buckets = series.flatMap((one) => one.buckets);
  const views: (View & { has: boolean })[] = [
    { id: 'time', title: 'Response time', has: true },
    {
      id: 'phases',
      title: phaseTitles[checkType] ?? 'By phase',
      has: buckets.some(({ phases }) => Object.keys(phases).length > 0),
    },
    ...figureViews.map(({ id, title, figure }) => ({
      id,
      title,
      has: buckets.some(({ figures }) => figures?.[figure] !== undefined),
    })),
    { id: 'locations', title: 'By location', has: buckets.length > 0 },
    { id: 'retries', title: 'Retries', has: buckets.some(({ retries }) => retries > 0) },
  ];
  return views.filter(({ id, has }) => has || id === chosen);
}

/** The view that the address names. */
export const viewOf = (views: readonly View[], query: URLSearchParams): View =>
  views.find(({ id }) => id === query.get('chart')) ?? views[0] ?? { id: 'time', title: 'Response time' };

const colours = ['accent', 'errored', 'passed', 'degraded', 'failed', 'idle'];
const colourAt = (at: number) => colours[at % colours.length] ?? 'accent';

type Line = {
  readonly name: string;
  readonly colour: string;
  readonly buckets: readonly Bucket[];
  readonly of: (bucket: Bucket) => number | null | undefined;
};

/** More lines cannot be told apart. */
export const mostLocations = 6;

/** The lines of a view, and how their values are written. */
export function seriesOf(
  { series }: Timeline,
  view: ViewId,
): { lines: readonly Line[]; format: (value: number) => string } {
  const buckets = series[0]?.buckets ?? [];
  const line = (name: string, colour: string, of: Line['of']): Line => ({ name, colour, buckets, of });
  const shown = figureViews.find(({ id }) => id === view);
  if (shown !== undefined) {
    const { title, figure, format } = shown;
    return { lines: [line(title, 'accent', ({ figures }) => figures?.[figure])], format };
  }
  if (view === 'retries')
    return { lines: [line('Retries', 'degraded', ({ retries }) => retries)], format: String };
  const lines =
    view === 'locations'
      ? series.slice(0, mostLocations).map(({ location, buckets: own }, at) => ({
          name: location ?? 'all',
          colour: colourAt(at),
          buckets: own,
          of: ({ p50 }: Bucket) => p50,
        }))
      : view === 'phases'
        ? [...new Set(buckets.flatMap(({ phases }) => Object.keys(phases)))]
            .slice(0, 8)
            .map((name, at) => line(names[name] ?? name, colourAt(at), ({ phases }) => phases[name]))
        : [
            line('p99', 'idle', ({ p99 }) => p99),
            line('p95', 'errored', ({ p95 }) => p95),
            line('Median', 'accent', ({ p50 }) => p50),
          ];
  return { lines, format: milliseconds };
}
