import { get } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { useReloadOn } from '../base/live.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { count, list, object, type Fields } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { Empty, Shown } from '../parts/notice.tsx';
import { StatusMark } from '../parts/status.tsx';
import { moment } from '../parts/time.tsx';
import { suiteTestStatus, testTitle } from '../runs/tests.tsx';
import { suiteCharts, type SuiteRun } from './charts.tsx';

/** A suite over time: how long its runs took, what became of the tests, flaky tests, and the history of each test. */

const readRuns = 10;
type History = {
  title: string;
  runs: { resultId: string; startedAt: string; status: string; durationMs: number; retries: number }[];
};

export function Suite({ checkId }: { checkId: string }) {
  const runs = useLoad(`suite ${checkId}`, (signal) =>
    get<{ runs: SuiteRun[] }>(`/v1/checks/${checkId}/suite-runs?limit=30`, signal),
  );
  useReloadOn(['run'], runs.reload, { checkId });
  return (
    <section class="card" aria-label="Tests over time">
      <h2>Tests over time</h2>
      <Shown of={runs} what="the runs of the suite">
        {({ runs: rows }) =>
          rows.length === 0 ? (
            <Empty title="No runs yet.">The charts begin with the first run.</Empty>
          ) : (
            <>
              {suiteCharts(rows)}
              <TestHistory checkId={checkId} runs={rows.slice(0, readRuns)} />
            </>
          )
        }
      </Shown>
    </section>
  );
}

function TestHistory({ checkId, runs }: { checkId: string; runs: readonly SuiteRun[] }) {
  const { query } = usePlace();
  const only = query.get('tests') ?? '';
  const wanted = (query.get('test') ?? '').toLowerCase();
  const read = useLoad(
    `tests ${checkId} ${runs.map(({ id }) => id).join()}`,
    (signal) => historyOf(checkId, runs, signal),
    { keep: true },
  );
  return (
    <Shown of={read} what="the tests">
      {(tests) => {
        const shown = tests
          .filter((test) => only !== 'flaky' || isFlaky(test))
          .filter((test) => only !== 'failed' || test.runs[0]?.status === 'failed')
          .filter(({ title }) => title.toLowerCase().includes(wanted));
        return (
          <>
            <h3>
              Tests of the last {runs.length} runs <span class="count">{shown.length}</span>
            </h3>
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
              {shown.slice(0, 300).map((test) => (
                <li key={test.title}>
                  <div class="test-line">
                    <span class="break">
                      {test.title} {isFlaky(test) && <span class="status degraded">flaky</span>}
                    </span>
                    <span class="number">{milliseconds(test.runs[0]?.durationMs)}</span>
                  </div>
                  <ol class="marks" aria-label="History, newest first">
                    {test.runs.map(({ resultId, startedAt, status }) => (
                      <li key={resultId}>
                        <a
                          href={`/checks/${checkId}/runs/${resultId}`}
                          title={`${status}, ${moment(startedAt)}`}
                        >
                          <StatusMark status={status} />
                        </a>
                      </li>
                    ))}
                  </ol>
                </li>
              ))}
            </ul>
          </>
        );
      }}
    </Shown>
  );
}

/** Passed after a retry, or changed between passed and failed at least twice. */
function isFlaky({ runs }: History): boolean {
  const changes = runs.filter(({ status }, at) => at > 0 && status !== runs[at - 1]?.status).length;
  return runs.some(({ retries, status }) => retries > 0 && status !== 'failed') || changes >= 2;
}

async function historyOf(
  checkId: string,
  runs: readonly SuiteRun[],
  signal: AbortSignal,
): Promise<History[]> {
  const tests = new Map<string, History>();
  // One after another: reports of large suites are large.
  for (const { id, startedAt } of runs) {
    const result = await get<{ details?: Fields }>(`/v1/check-results/${checkId}/${id}`, signal).catch(
      (error: unknown) => {
        if (signal.aborted) throw error;
        return null;
      },
    );
    for (const test of list(object(result?.details)['tests']).slice(0, 1000).map(object)) {
      const title = testTitle(test);
      const history = tests.get(title) ?? { title, runs: [] };
      tests.set(title, history);
      history.runs.push({
        resultId: id,
        startedAt,
        status: suiteTestStatus(test),
        durationMs: count(test['durationMs']),
        retries: count(test['retries']),
      });
    }
  }
  const rank = ({ runs: own }: History) =>
    own[0]?.status === 'failed' ? 0 : own[0]?.status === 'degraded' ? 1 : 2;
  return [...tests.values()].sort((a, b) => rank(a) - rank(b));
}
