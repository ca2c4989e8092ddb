import { useEffect, useRef } from 'preact/hooks';
import { setQuery } from '../base/router.ts';
import { milliseconds } from '../base/words.ts';
import { Status } from '../parts/status.tsx';
import { moment, Moment } from '../parts/time.tsx';
import type { History } from './types.ts';

/** The history of one test over the shown time, which has an address of its own (`?history=…`). */

const size = { width: 600, height: 70 };

export function TestPage({
  checkId,
  title,
  tests,
}: {
  checkId: string;
  title: string;
  tests: readonly History[];
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [title]);
  const test = tests.find((one) => one.title === title);
  const back = (
    <button type="button" onClick={() => setQuery({ history: null }, { replace: false })}>
      All tests
    </button>
  );
  if (test === undefined)
    return (
      <>
        <h3 ref={heading} tabIndex={-1} class="break">
          {title}
        </h3>
        <p class="soft">The test did not run in this time.</p>
        {back}
      </>
    );
  const { runs } = test;
  const failed = runs.filter(({ status }) => status === 'failed').length;
  const counted = runs.filter(({ status }) => status !== 'skipped').length;
  return (
    <>
      <div class="card-head">
        <h3 ref={heading} tabIndex={-1} class="break">
          {title || 'Test without a title'} {test.flaky && <span class="status degraded">flaky</span>}
        </h3>
        {back}
      </div>
      <p class="soft">
        Failed in {failed} of {counted} runs.
      </p>
      <Durations runs={runs} />
      <table class="stacked" aria-label="Runs of the test">
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Run</th>
            <th scope="col" class="number">
              Duration
            </th>
            <th scope="col" class="number">
              Retries
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map(({ resultId, startedAt, status, durationMs, retries }) => (
            <tr key={resultId}>
              <td data-title="Status">
                <Status status={status === 'skipped' ? 'missed' : status} word={status} />
              </td>
              <td data-title="Run">
                <a href={`/checks/${checkId}/runs/${resultId}`}>
                  <Moment at={startedAt} />
                </a>
              </td>
              <td data-title="Duration" class="number">
                {milliseconds(durationMs)}
              </td>
              <td data-title="Retries" class="number">
                {retries}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** A bar for each run, oldest first. */
function Durations({ runs }: { runs: History['runs'] }) {
  const longest = Math.max(1, ...runs.map(({ durationMs }) => durationMs));
  const step = size.width / Math.max(30, runs.length);
  return (
    <figure class="chart">
      <figcaption>
        Duration <span class="soft">longest {milliseconds(longest)}</span>
      </figcaption>
      <svg
        class="suite-bars"
        viewBox={`0 0 ${size.width} ${size.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Duration in ${runs.length} runs, at most ${milliseconds(longest)}`}
      >
        {[...runs].reverse().map(({ resultId, status, durationMs, startedAt }, at) => {
          const tall = Math.max(2, (durationMs / longest) * size.height);
          return (
            <rect
              key={resultId}
              class={status === 'skipped' ? 'idle' : status}
              x={at * step}
              y={size.height - tall}
              width={Math.max(1, step - 2)}
              height={tall}
            >
              <title>{`${status}, ${milliseconds(durationMs)}, ${moment(startedAt)}`}</title>
            </rect>
          );
        })}
      </svg>
    </figure>
  );
}
