import { useMemo, useState } from 'preact/hooks';

/** Status over time as bars, with a sentence for people who cannot see them. */

export type Bar = {
  readonly from: string;
  readonly passed: number;
  readonly degraded: number;
  readonly failed: number;
  readonly errored: number;
  readonly missed?: number;
};

/** Each status has a height of its own, for people who cannot tell the colours apart. */
const heights: { readonly [status: string]: number } = {
  missed: 6,
  passed: 12,
  degraded: 16,
  errored: 19,
  failed: 22,
};
const worst = (bar: Bar): string => {
  if (bar.failed > 0) return 'failed';
  if (bar.errored > 0) return 'errored';
  if (bar.degraded > 0) return 'degraded';
  if (bar.passed > 0) return 'passed';
  return (bar.missed ?? 0) > 0 ? 'missed' : 'none';
};
const hour = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' });

function tooltip(bar: Bar): string {
  const parts = (['passed', 'degraded', 'failed', 'errored', 'missed'] as const)
    .filter((name) => (bar[name] ?? 0) > 0)
    .map((name) => `${bar[name]} ${name}`);
  return `${hour.format(new Date(bar.from))}: ${parts.join(', ') || 'no runs'}`;
}

const tallest = 22;
const lowest = 3;
const step = 5;

/** The bars of each status as one path. */
function pathsOf(bars: readonly Bar[]): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const [at, bar] of bars.entries()) {
    const status = worst(bar);
    const height = heights[status] ?? lowest;
    const path = `M${at * step} ${tallest - height}h4v${height}h-4z`;
    paths.set(status, (paths.get(status) ?? '') + path);
  }
  return paths;
}

function summaryOf(bars: readonly Bar[], what: string): string {
  const hours = (status: string) => bars.filter((bar) => worst(bar) === status).length;
  const failed = hours('failed') + hours('errored');
  const degraded = hours('degraded');
  const none = hours('none') + hours('missed');
  const parts = [
    failed > 0 ? `failures in ${failed}` : '',
    degraded > 0 ? `degraded in ${degraded}` : '',
    none > 0 ? `no runs in ${none}` : '',
  ].filter((part) => part !== '');
  return `${what}: ${parts.length === 0 ? 'all passed' : `${parts.join(', ')} of ${bars.length} parts`}`;
}

/**
 * A few elements for all bars, and the tooltip only of the bar under the pointer: a list of 100 checks shows 2,400 bars, and
 * an element for each made up most of the page.
 */
export function Bars({ bars, what = 'the last 24 hours' }: { bars: readonly Bar[]; what?: string }) {
  const label = useMemo(() => summaryOf(bars, what), [bars, what]);
  const paths = useMemo(() => pathsOf(bars), [bars]);
  const [pointed, setPointed] = useState(-1);
  const bar = bars[pointed];
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${bars.length * step} ${tallest}`}
      role="img"
      aria-label={label}
      preserveAspectRatio="none"
      onPointerMove={({ offsetX, currentTarget }) =>
        setPointed(Math.floor((offsetX / currentTarget.clientWidth) * bars.length))
      }
      onPointerLeave={() => setPointed(-1)}
    >
      {bar !== undefined && <title>{tooltip(bar)}</title>}
      {[...paths].map(([status, path]) => (
        <path key={status} class={status} d={path} />
      ))}
    </svg>
  );
}
