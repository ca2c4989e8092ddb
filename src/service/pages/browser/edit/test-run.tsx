import { useEffect, useState } from 'preact/hooks';
import { Refused, Unreachable } from '../base/service.ts';
import { milliseconds } from '../base/words.ts';
import { Button } from '../parts/button.tsx';
import type { FieldErrors } from '../parts/form/field.tsx';
import { ChoiceField } from '../parts/form/inputs.tsx';
import { sayFailed } from '../parts/messages.tsx';
import { Status, StatusMark } from '../parts/status.tsx';
import {
  readResults,
  readSession,
  startTry,
  stopTry,
  type Assertion,
  type Result,
  type Session,
} from './draft.ts';
import type { Body } from './fields/row.ts';
import type { CheckForm } from './fields/types.ts';

/** A run of the check as it stands in the form, before it is saved, with its result. */

type State = {
  readonly session: Session;
  readonly results: readonly Result[];
};

const pollMs = 1000;

export function TestRun({
  form,
  id,
  body,
  onErrors,
}: {
  form: CheckForm;
  /** Of the stored check, whose secrets count; null = a new one. */
  id: string | null;
  /** The check as it would be created. */
  body: Body;
  onErrors: (errors: FieldErrors, message: string | null) => void;
}) {
  const [state, setState] = useState<State | null>(null);
  const [isStarting, setStarting] = useState(false);
  const [place, setPlace] = useState('');
  const isRunning = state?.session.status === 'RUNNING';
  usePolling(state, setState);

  const places = [body['privateLocations'], body['locations']].flatMap((list) =>
    Array.isArray(list) ? list.map(String) : [],
  );
  const start = async () => {
    if (isStarting) return;
    setStarting(true);
    setState(null);
    try {
      const session = await startTry(form, body, { id, runLocation: places.includes(place) ? place : null });
      onErrors({}, null);
      setState({ session, results: [] });
    } catch (error) {
      if (error instanceof Refused) onErrors(error.attributes, error.message);
      else sayFailed(error);
    } finally {
      setStarting(false);
    }
  };
  const stop = () => {
    if (state !== null) void stopTry(state.session.testSessionId);
    setState(null);
  };
  return (
    <section class="card" aria-labelledby="test-run">
      <h2 id="test-run">Test run</h2>
      <p class="hint">
        Runs the check as it is in the form, without saving it. The run changes no status and sends no alert.
        {id !== null && ' Stored secrets that you do not type again are used.'}
      </p>
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
        <Button isOff={isStarting || isRunning} onClick={() => void start()}>
          {state === null ? 'Run now' : 'Run again'}
        </Button>
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

/** The session now, and its results if there are new ones. */
async function read({ session, results }: State, signal: AbortSignal): Promise<State> {
  const next = await readSession(session.testSessionId, signal);
  const isSame = next.results.length === results.length;
  return { session: next, results: isSame ? results : await readResults(next, signal) };
}

/** Reads the session until its run is over, and its results when there are new ones. */
function usePolling(state: State | null, setState: (state: State) => void): void {
  useEffect(() => {
    if (state === null) return;
    const { session, results } = state;
    if (session.status !== 'RUNNING' && session.results.length === results.length) return;
    const ending = new AbortController();
    const timer = setTimeout(() => {
      read(state, ending.signal).then(setState, (error: unknown) => {
        if (ending.signal.aborted) return;
        // The run goes on while the service cannot be reached.
        if (error instanceof Unreachable) setState({ ...state });
        else sayFailed(error);
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
