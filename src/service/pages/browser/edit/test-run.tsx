import { useEffect, useRef, useState } from 'preact/hooks';
import { Refused } from '../base/service.ts';
import { milliseconds } from '../base/words.ts';
import type { FieldErrors } from '../parts/form/field.tsx';
import { ChoiceField } from '../parts/form/inputs.tsx';
import { sayFailed } from '../parts/messages.tsx';
import { Status, StatusMark } from '../parts/status.tsx';
import {
  deleteDraft,
  readResults,
  readSession,
  startDraft,
  type Assertion,
  type Result,
  type Session,
} from './draft.ts';
import type { Body } from './fields/row.ts';
import type { CheckForm } from './fields/types.ts';

/** A run of the check as it stands in the form, before it is saved, with its result. */

type State = {
  readonly checkId: string;
  readonly session: Session;
  readonly results: readonly Result[];
};

const pollMs = 1000;

export function TestRun({
  form,
  body,
  hasSecrets,
  onErrors,
}: {
  form: CheckForm;
  /** The check as it would be created. */
  body: Body;
  /** Whether it has stored secrets, which the page cannot read. */
  hasSecrets: boolean;
  onErrors: (errors: FieldErrors, message: string | null) => void;
}) {
  const [state, setState] = useState<State | null>(null);
  const [isStarting, setStarting] = useState(false);
  const [place, setPlace] = useState('');
  const draft = useRef<string | null>(null);
  const isLeft = useRef(false);
  const forget = () => {
    if (draft.current !== null) deleteDraft(draft.current);
    draft.current = null;
  };
  useEffect(() => {
    addEventListener('pagehide', forget);
    return () => {
      isLeft.current = true;
      removeEventListener('pagehide', forget);
      forget();
    };
  }, []);
  const isRunning = state?.session.status === 'RUNNING';
  usePolling(state, setState);

  const places = [body['privateLocations'], body['locations']].flatMap((list) =>
    Array.isArray(list) ? list.map(String) : [],
  );
  const start = async () => {
    if (isStarting) return;
    setStarting(true);
    forget();
    setState(null);
    try {
      const { checkId, session } = await startDraft(form, body, places.includes(place) ? place : null);
      if (isLeft.current) return deleteDraft(checkId);
      draft.current = checkId;
      onErrors({}, null);
      setState({ checkId, session, results: [] });
    } catch (error) {
      if (error instanceof Refused) onErrors(error.attributes, error.message);
      else sayFailed(error);
    } finally {
      setStarting(false);
    }
  };
  const stop = () => {
    forget();
    setState(null);
  };
  return (
    <section class="card" aria-labelledby="test-run">
      <h2 id="test-run">Test run</h2>
      <p class="hint">
        Runs the check as it stands in the form, as a draft that is off and is deleted when you leave this
        page. No alert is sent.
      </p>
      {hasSecrets && (
        <p class="note warn">Stored secrets are empty in a test run: type them again to use them.</p>
      )}
      {places.length > 1 && (
        <ChoiceField
          label="Location of the test run"
          value={places.includes(place) ? place : ''}
          onChange={setPlace}
          choices={[
            { value: '', title: 'as scheduled' },
            ...places.map((slug) => ({ value: slug, title: slug })),
          ]}
        />
      )}
      <div class="buttons">
        <button type="button" disabled={isStarting || isRunning} onClick={() => void start()}>
          {state === null ? 'Run now' : 'Run again'}
        </button>
        {isRunning && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </div>
      <div aria-live="polite">
        {isStarting && <p class="soft">Starting …</p>}
        {state?.session.inProgress.map((run) => (
          <div key={run.sequenceId}>
            <p>
              <Status
                status={run.state === 'QUEUED' ? 'waiting' : 'running'}
                word={
                  run.state === 'QUEUED'
                    ? `Waiting for an agent of ${run.runLocation}`
                    : `Running in ${run.runLocation}${run.stage === null ? '' : `: ${run.stage}`}`
                }
              />
            </p>
            {run.log.length > 0 && <pre class="try-log">{run.log.join('\n')}</pre>}
          </div>
        ))}
        {state?.results.map((result) => (
          <ResultOf key={result.id} result={result} />
        ))}
      </div>
    </section>
  );
}

/** Reads the session until its run is over, and its results when there are new ones. */
function usePolling(state: State | null, setState: (state: State) => void): void {
  useEffect(() => {
    if (state === null) return;
    const { checkId, session, results } = state;
    if (session.status !== 'RUNNING' && session.results.length === results.length) return;
    const ending = new AbortController();
    const timer = setTimeout(() => {
      readSession(session.testSessionId, ending.signal)
        .then(async (next) => ({
          checkId,
          session: next,
          results:
            next.results.length === results.length
              ? results
              : await readResults(checkId, next, ending.signal),
        }))
        .then(setState, (error: unknown) => {
          if (ending.signal.aborted) return;
          sayFailed(error);
        });
    }, pollMs);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [state]);
}

function ResultOf({ result }: { result: Result }) {
  const phases = Object.entries(result.timings ?? {}).filter(([phase]) => phase !== 'total');
  return (
    <article>
      <h3>
        <Status status={result.status} /> {milliseconds(result.responseTime)}{' '}
        <span class="soft">{result.runLocation}</span>
      </h3>
      {result.reason && (
        <p>
          <strong>{result.reason.code}</strong> {result.reason.message}
        </p>
      )}
      {phases.length > 0 && (
        <dl class="facts">
          {phases.map(([phase, value]) => [
            <dt key={phase}>{phase}</dt>,
            <dd key={`${phase}-value`}>{milliseconds(value)}</dd>,
          ])}
        </dl>
      )}
      {(result.assertions ?? []).length > 0 && (
        <>
          <h4>Assertions</h4>
          <ul class="try-list">
            {result.assertions?.map((assertion, at) => (
              <li key={at}>
                <StatusMark status={assertion.error === null ? 'passed' : 'failed'} /> {wordsOf(assertion)}
              </li>
            ))}
          </ul>
        </>
      )}
      {(result.log ?? []).length > 0 && (
        <>
          <h4>Log</h4>
          <pre class="try-log" tabIndex={0} aria-label="Log of the test run">
            {result.log?.map(({ level, msg }) => `${level} ${msg}`).join('\n')}
          </pre>
        </>
      )}
      <p>
        <a href={`/checks/${result.checkId}/runs/${result.id}`} target="_blank" rel="noreferrer">
          All details (new tab)
        </a>
      </p>
    </article>
  );
}

const words = (text: string) => text.toLowerCase().replaceAll('_', ' ');

function wordsOf({ source, property, comparison, target, actual, error }: Assertion): string {
  const what = [words(source), property, words(comparison), target].filter((part) => part !== '').join(' ');
  if (error === null) return what;
  const found = typeof actual === 'string' ? actual : (JSON.stringify(actual) ?? 'nothing');
  return `${what}: ${error} (found ${found.slice(0, 200)})`;
}
