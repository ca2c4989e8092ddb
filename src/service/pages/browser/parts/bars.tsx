import { useMemo } from 'preact/hooks';

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

/** One drawing for all bars: thousands of elements would slow the list down. */
export function Bars({ bars, what = 'the last 24 hours' }: { bars: readonly Bar[]; what?: string }) {
  const label = useMemo(() => {
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
  }, [bars, what]);
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${bars.length * 5} 22`}
      role="img"
      aria-label={label}
      preserveAspectRatio="none"
    >
      {bars.map((bar, at) => {
        const status = worst(bar);
        const height = heights[status] ?? 3;
        return (
          <rect key={bar.from} class={status} x={at * 5} y={22 - height} width="4" height={height} rx="1">
            <title>{tooltip(bar)}</title>
          </rect>
        );
      })}
    </svg>
  );
}
