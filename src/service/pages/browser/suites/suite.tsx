import { get, withQuery } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { milliseconds } from '../base/words.ts';
import { rangeOf } from '../charts/range.tsx';
import { Empty, Shown } from '../parts/notice.tsx';
import { StatusMark } from '../parts/status.tsx';
import { moment } from '../parts/time.tsx';
import { suiteCharts, type SuiteRun } from './charts.tsx';
import { TestPage } from './test.tsx';
import type { History, Tests } from './types.ts';

/** A suite over the shown time: how long its runs took, what became of the tests, flaky tests, and the history of each test. */

const maxRuns = 100;
/** Marks of one test in the list; its own page has all of them. */
const shownMarks = 20;
const shownTests = 300;

export function Suite({ checkId }: { checkId: string }) {
  const { query } = usePlace();
  const range = rangeOf(query);
  const key = `${checkId} ${range.preset ?? `${range.from} ${range.to}`}`;
  const read = <Body,>(path: string, signal: AbortSignal) => {
    const now = rangeOf(query);
    const span = { from: Math.floor(now.from / 1000), to: Math.ceil(now.to / 1000) };
    return get<Body>(withQuery(`/v1/checks/${checkId}/${path}`, { ...span, limit: maxRuns }), signal);
  };
  const runs = useLoad(`suite ${key}`, (signal) => read<{ runs: SuiteRun[] }>('suite-runs', signal), {
    keep: true,
  });
  const tests = useLoad(`tests ${key}`, (signal) => read<Tests>('suite-tests', signal), { keep: true });
  useReloadOn(['run'], () => (runs.reload(), tests.reload()), { checkId, everyMs: 3000 });
  const one = query.get('history');
  return (
    <section class="card" aria-label="Tests over time">
      <h2>Tests over time</h2>
      <Shown of={runs} what="the runs of the suite">
        {({ runs: rows }) =>
          rows.length === 0 ? (
            <Empty title="No runs in this time.">Choose a longer time, or run the suite now.</Empty>
          ) : (
            <>
              {suiteCharts(rows, maxRuns)}
              <Shown of={tests} what="the tests">
                {(value) =>
                  one === null ? (
                    <TestList checkId={checkId} tests={value} runs={rows.length} />
                  ) : (
                    <TestPage checkId={checkId} title={one} tests={value.tests} />
                  )
                }
              </Shown>
            </>
          )
        }
      </Shown>
    </section>
  );
}

const filters: { readonly [only: string]: (test: History) => boolean } = {
  flaky: ({ flaky }) => flaky,
  failed: ({ runs }) => runs[0]?.status === 'failed',
};

function TestList({ checkId, tests, runs }: { checkId: string; tests: Tests; runs: number }) {
  const { query } = usePlace();
  const only = query.get('tests') ?? '';
  const wanted = (query.get('test') ?? '').toLowerCase();
  const isShown = filters[only] ?? (() => true);
  const shown = tests.tests.filter((test) => isShown(test) && test.title.toLowerCase().includes(wanted));
  const flaky = tests.tests.filter((test) => test.flaky).length;
  return (
    <>
      <h3>
        Tests of {runs === maxRuns ? `the last ${maxRuns} runs` : `${runs} ${runs === 1 ? 'run' : 'runs'}`}{' '}
        <span class="count">{shown.length}</span>
      </h3>
      <p class="soft">
        {flaky === 0 ? 'No test was flaky in this time.' : `${flaky} flaky in this time.`}
        {tests.isPartial && ' There are too many tests to read all of these runs: choose a shorter time.'}
      </p>
      <div class="filters">
        <label>
          Show{' '}
          <select value={only} onChange={({ currentTarget: { value } }) => setQuery({ tests: value })}>
            <option value="">all tests</option>
            <option value="flaky">flaky tests</option>
            <option value="failed">failing tests</option>
          </select>
        </label>
        <label>
          <span class="hidden-text">Search tests</span>
          <input
            type="search"
            placeholder="Search tests"
            value={query.get('test') ?? ''}
            onInput={({ currentTarget: { value } }) => setQuery({ test: value })}
          />
        </label>
      </div>
      {shown.length === 0 && <p class="soft">No test matches.</p>}
      <ul class="tests">
        {shown.slice(0, shownTests).map((test) => (
          <li key={test.title}>
            <div class="test-line">
              <a class="break" href={addressOf(checkId, test.title, query)}>
                {test.title || 'Test without a title'}
              </a>
              {test.flaky && <span class="status degraded">flaky</span>}
              <span class="number">{milliseconds(test.runs[0]?.durationMs)}</span>
            </div>
            <ol class="marks" aria-label="History, newest first">
              {test.runs.slice(0, shownMarks).map(({ resultId, startedAt, status }) => (
                <li key={resultId}>
                  <a href={`/checks/${checkId}/runs/${resultId}`} title={`${status}, ${moment(startedAt)}`}>
                    <StatusMark status={status} />
                  </a>
                </li>
              ))}
            </ol>
          </li>
        ))}
      </ul>
      {shown.length > shownTests && (
        <p class="soft">{shown.length - shownTests} more tests: search for a part of their titles.</p>
      )}
    </>
  );
}

/** The address of one test's history, in the same time. */
function addressOf(checkId: string, title: string, query: URLSearchParams): string {
  const kept = ['range', 'from', 'to'].map((name) => [name, query.get(name)] as const);
  return withQuery(`/checks/${checkId}`, { ...Object.fromEntries(kept), history: title });
}
