import { count, object } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { moment } from '../parts/time.tsx';
import { totalsText } from '../runs/tests.tsx';

export type SuiteRun = {
  readonly id: string;
  readonly status: string;
  readonly responseTime: number;
  readonly runLocation: string;
  readonly startedAt: string;
  readonly totals: object | null;
};

const height = 70;
const width = 12;
/** Places for at least so many runs, so that few bars stay narrow. */
const minSlots = 30;

/** Bars of the last runs, oldest first: duration of each run, and what became of its tests. */
export function suiteCharts(runs: readonly SuiteRun[], most: number) {
  const shown = runs.slice(0, most).reverse();
  const slots = Math.max(minSlots, shown.length);
  const longest = Math.max(1, ...shown.map(({ responseTime }) => responseTime));
  const mostTests = Math.max(1, ...shown.map(({ totals }) => count(object(totals)['tests'])));
  const start = slots - shown.length;
  return (
    <div class="grid">
      <figure class="chart">
        <figcaption>
          Test performance <span class="soft">longest {milliseconds(longest)}</span>
        </figcaption>
        <svg
          class="suite-bars"
          viewBox={`0 0 ${slots * width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Duration of the last ${shown.length} runs, at most ${milliseconds(longest)}`}
        >
          {shown.map((run, at) => {
            const tall = Math.max(2, (run.responseTime / longest) * height);
            return (
              <rect
                key={run.id}
                class={run.status}
                x={(start + at) * width}
                y={height - tall}
                width={width - 3}
                height={tall}
              >
                <title>{`${run.status}, ${milliseconds(run.responseTime)}, ${moment(run.startedAt)}`}</title>
              </rect>
            );
          })}
        </svg>
      </figure>
      <figure class="chart">
        <figcaption>
          Test status{' '}
          <span class="soft">{mostTests === 1 ? 'at most 1 test' : `at most ${mostTests} tests`}</span>
        </figcaption>
        <svg
          class="suite-bars"
          viewBox={`0 0 ${slots * width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Tests of the last ${shown.length} runs; of the newest: ${totalsText(runs[0]?.totals) || 'none'}`}
        >
          {shown.map((run, at) => (
            <g key={run.id}>
              <title>{`${totalsText(run.totals) || 'no tests'}, ${moment(run.startedAt)}`}</title>
              {stack(run, (start + at) * width, mostTests)}
            </g>
          ))}
        </svg>
      </figure>
    </div>
  );
}

function stack({ totals }: SuiteRun, x: number, most: number) {
  const of = object(totals);
  const passed = count(of['passed']) + count(of['flaky']);
  const degraded = Math.min(passed, Math.max(count(of['degraded']), count(of['flaky'])));
  const parts = [
    ['passed', passed - degraded],
    ['degraded', degraded],
    ['failed', count(of['failed']) + count(of['timedOut']) + count(of['interrupted'])],
    ['idle', count(of['skipped'])],
  ] as const;
  let y = height;
  return parts.map(([colour, number]) => {
    const tall = Math.min(y, (number / most) * height);
    y -= tall;
    return <rect key={colour} class={colour} x={x} y={y} width={width - 3} height={tall} />;
  });
}
