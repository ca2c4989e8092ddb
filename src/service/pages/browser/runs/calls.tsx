import { list, object, text, type Fields } from '../base/outside.ts';
import { bytes, milliseconds } from '../base/words.ts';
import { StatusMark } from '../parts/status.tsx';
import { Body } from './http.tsx';
import { Headers, Part } from './part.tsx';
import { CallPhases } from './phases.tsx';
import { Errors } from './tests.tsx';

/** Calls of multi-step checks: each with its phases, headers, bodies and assertions. */
export function Calls({ calls }: { calls: readonly Fields[] }) {
  if (calls.length === 0) return null;
  return (
    <Part title="API calls">
      <ul class="tests">
        {calls.map((call, at) => (
          <Call key={at} call={call} />
        ))}
      </ul>
    </Part>
  );
}

function Call({ call }: { call: Fields }) {
  const request = object(call['request']);
  const response = object(call['response']);
  const assertions = list(call['assertions']).slice(0, 50).map(object);
  const steps = list(call['steps']).slice(0, 20);
  const hasFailed = Boolean(call['error']) || assertions.some(({ passed }) => passed === false);
  const name = `${text(request['method'], 20)} ${text(request['url'], 500)}`;
  const answer =
    response['status'] === undefined
      ? 'no answer'
      : `${text(response['status'], 10)} ${text(response['statusText'], 100)}`.trim();
  return (
    <li>
      {steps.length > 0 && <div class="soft break">{steps.map((step) => text(step, 300)).join(' › ')}</div>}
      <div class="test-line">
        <StatusMark status={hasFailed ? 'failed' : 'passed'} />
        <span class="break">{name}</span>
        <span class="soft">{answer}</span>
        {typeof response['bodyBytes'] === 'number' && (
          <span class="soft">{bytes(response['bodyBytes'])}</span>
        )}
        <span class="number">{milliseconds(call['durationMs'])}</span>
      </div>
      {Boolean(call['error']) && <Errors errors={[call['error']]} />}
      {assertions.length > 0 && (
        <ul class="steps">
          {assertions.map((assertion, at) => (
            <li key={at}>
              <StatusMark status={assertion['passed'] === false ? 'failed' : 'passed'} />{' '}
              {text(assertion['title'], 300)}
              {Boolean(assertion['error']) && <Errors errors={[assertion['error']]} />}
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>
          Request, response and phases<span class="hidden-text"> of {name}</span>
        </summary>
        <CallPhases timings={call['timingPhases']} name={name} />
        <Headers headers={request['headers']} label="Request headers" />
        <Body of={request} label="Request body" />
        <Headers headers={response['headers']} label="Response headers" />
        <Body of={response} label="Response body" />
      </details>
    </li>
  );
}
