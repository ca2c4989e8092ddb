import { useEffect } from 'preact/hooks';
import type { PageProps } from '../base/page.ts';
import { get, withQuery } from '../base/service.ts';
import { useLoad } from '../base/load.ts';
import { usePlace } from '../base/router.ts';
import { milliseconds } from '../base/words.ts';
import { Json } from '../parts/json.tsx';
import { Loading, Shown } from '../parts/notice.tsx';
import { Status } from '../parts/status.tsx';
import { Ago, Moment } from '../parts/time.tsx';
import { Agentic } from './agentic.tsx';
import { Assertions } from './assertions.tsx';
import { Attempts } from './attempts.tsx';
import { Files } from './files.tsx';
import { Http } from './http.tsx';
import { Log } from './log.tsx';
import { Network } from './network.tsx';
import { Phases } from './phases.tsx';
import { Script } from './script.tsx';
import { Tests } from './tests.tsx';
import { ownerWords, type Run } from './types.ts';
import { Trail } from '../parts/page-head.tsx';

/** One run of a check with everything that was recorded. */
export function Page({ params: { id = '', resultId = '' } }: PageProps) {
  const { query } = usePlace();
  const path = `/v1/check-results/${encodeURIComponent(id)}`;
  const main = useLoad(`run ${id} ${resultId}`, (signal) =>
    get<Run>(`${path}/${encodeURIComponent(resultId)}`, signal),
  );
  const check = useLoad(`name ${id}`, (signal) =>
    get<{ name: string }>(`/v1/checks/${encodeURIComponent(id)}`, signal),
  );
  const name = check.value?.name ?? (check.error ? 'Deleted check' : 'Check');
  useEffect(() => {
    document.title = `Run · ${name}`;
  }, [name]);
  return (
    <>
      <Trail
        steps={[
          { href: '/', title: 'Checks' },
          { href: `/checks/${id}`, title: name },
          { href: `/checks/${id}?tab=runs`, title: 'Runs' },
        ]}
      />
      <Shown of={main} what="the run">
        {(run) => <Whole run={run} name={name} path={path} wanted={query.get('attempt')} />}
      </Shown>
      {main.value === undefined && main.error !== undefined && <h1>Run</h1>}
    </>
  );
}

function Whole({ run, name, path, wanted }: { run: Run; name: string; path: string; wanted: string | null }) {
  // The attempts of a run began shortly before its final result; they share its sequence.
  const attempts = useLoad(
    run.attempts > 0 || run.resultType === 'ATTEMPT' ? `attempts ${run.id}` : null,
    (signal) => attemptsOf(run, signal),
  );
  const runs = attempts.value ?? [run];
  const chosen = runs.find(({ id }) => id === wanted)?.id ?? run.id;
  const other = useLoad(chosen === run.id ? null : `run ${chosen}`, (signal) =>
    get<Run>(`${path}/${encodeURIComponent(chosen)}`, signal),
  );
  const shown = chosen === run.id ? run : other.value;
  return (
    <>
      <Head run={shown ?? run} name={name} />
      <Attempts runs={runs} current={chosen} />
      {shown === undefined ? <Loading what="the attempt" /> : <Content run={shown} />}
    </>
  );
}

const before = 6 * 3600;
async function attemptsOf(run: Run, signal: AbortSignal): Promise<Run[]> {
  const at = Math.floor(Date.parse(run.startedAt) / 1000);
  const address = withQuery(`/v2/check-results/${run.checkId}`, {
    resultType: 'ALL',
    sequenceId: run.sequenceId,
    limit: 100,
    location: run.runLocation,
    from: at - before,
    to: at + before,
  });
  const { entries } = await get<{ entries: Run[] }>(address, signal);
  return entries.length === 0 ? [run] : entries.sort((a, b) => a.attempts - b.attempts);
}

function Head({ run, name }: { run: Run; name: string }) {
  const { reason } = run;
  return (
    <>
      <header class="page-head">
        <h1>Run of {name}</h1>
        <Status status={run.status} />
        {run.resultType === 'ATTEMPT' && <span class="soft">an attempt that was repeated</span>}
      </header>
      <section class="card" aria-label="Summary">
        {reason !== null && (
          <p class={`verdict ${run.status}`}>
            <span class="break">{reason.message}</span>
            <span class="soft owner">
              {' '}
              {ownerWords(reason)} <code>{reason.code}</code>
            </span>
          </p>
        )}
        <dl class="facts wide">
          <div class="fact">
            <dt>Location</dt>
            <dd>{run.runLocation}</dd>
          </div>
          <div class="fact">
            <dt>Started</dt>
            <dd>
              <Moment at={run.startedAt} /> (<Ago at={run.startedAt} />)
            </dd>
          </div>
          <div class="fact">
            <dt>Response time</dt>
            <dd>{milliseconds(run.responseTime)}</dd>
          </div>
          <div class="fact">
            <dt>Attempt</dt>
            <dd>{run.attempts + 1}</dd>
          </div>
        </dl>
        {run.errorGroupIds.length > 0 && (
          <p>
            <a href={`/checks/${run.checkId}?tab=errors`}>This error and its root cause analyses</a>
          </p>
        )}
      </section>
    </>
  );
}

function Content({ run }: { run: Run }) {
  return (
    <>
      <Phases run={run} />
      <Assertions run={run} />
      <Tests run={run} />
      <Script run={run} />
      <Agentic run={run} />
      <Files run={run} />
      <Http run={run} />
      <Network run={run} />
      <Log run={run} />
      <details class="card">
        <summary>Everything that was recorded</summary>
        <Json value={run} />
      </details>
    </>
  );
}
