import { list, object, text, type Fields } from '../base/outside.ts';
import { StatusMark } from '../parts/status.tsx';
import { dateOf } from './certificate.tsx';
import { Facts, Part, Scroll } from './part.tsx';
import type { Run } from './types.ts';

/** What an agentic check concluded, and how it came to that: its own assertions, steps and suggestions. */
export function Agentic({ run }: { run: Run }) {
  if (run.checkType !== 'AGENTIC') return null;
  const details = object(run.details);
  const suggestions = list(details['suggestions']).slice(0, 50).map(object);
  const steps = list(details['steps']).slice(0, 500).map(object);
  return (
    <>
      <Assertions assertions={list(details['assertions']).slice(0, 200).map(object)} />
      {suggestions.length > 0 && (
        <Part title="Suggestions">
          <ul class="tests">
            {suggestions.map((suggestion, at) => (
              <Suggestion key={at} suggestion={suggestion} />
            ))}
          </ul>
        </Part>
      )}
      {(steps.length > 0 || details['prompt']) && (
        <Part title="Steps">
          {details['replayed'] === true && <p>The run repeated the actions of an earlier run.</p>}
          {details['prompt'] ? (
            <details>
              <summary>Prompt</summary>
              <pre class="body" tabIndex={0} aria-label="Prompt">
                {text(details['prompt'], 20_000)}
              </pre>
            </details>
          ) : null}
          <ol class="tests">
            {steps.map((step, at) => (
              <Step key={at} step={step} />
            ))}
          </ol>
        </Part>
      )}
    </>
  );
}

function Assertions({ assertions }: { assertions: readonly Fields[] }) {
  if (assertions.length === 0) return null;
  const failed = assertions.filter(({ passed }) => passed !== true).length;
  return (
    <Part title="Assertions">
      <p class="soft">
        {failed === 0 ? `All ${assertions.length} hold.` : `${failed} of ${assertions.length} failed.`}
      </p>
      <Scroll label="List of assertions">
        <table aria-label="Assertions">
          <thead>
            <tr>
              <th scope="col">Result</th>
              <th scope="col">Assertion</th>
              <th scope="col">Expected</th>
              <th scope="col">Actual</th>
            </tr>
          </thead>
          <tbody>
            {assertions.map(({ passed, condition, expected, actual }, at) => (
              <tr key={at}>
                <td>
                  <StatusMark status={passed === true ? 'passed' : 'failed'} />
                </td>
                <td>{text(condition, 1000)}</td>
                <td>{text(expected, 1000)}</td>
                <td>{text(actual, 1000)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Part>
  );
}

function Suggestion({ suggestion }: { suggestion: Fields }) {
  const names = list(suggestion['secrets']).slice(0, 20);
  return (
    <li>
      <p class="break">
        {text(suggestion['summary'], 2000)}{' '}
        {suggestion['category'] ? <span class="word">{text(suggestion['category'], 40)}</span> : null}
      </p>
      <Facts
        facts={[
          ['Part of the prompt', suggestion['prompt']],
          ['Replace it by', suggestion['promptReplacement']],
          ['Variables to create', names.map((name) => text(name, 256)).join(', ')],
        ]}
      />
    </li>
  );
}

const kinds: { readonly [type: string]: string } = {
  tool_call: 'action',
  tool_result: 'answer of the page',
  message: 'message',
};

function Step({ step }: { step: Fields }) {
  const type = text(step['type'], 40);
  const shown = [step['input'], step['output']].filter((value) => value !== null && value !== undefined);
  return (
    <li>
      <div class="test-line">
        <b class="break">{text(step['name'], 100)}</b>
        <span class="soft">{kinds[type] ?? type}</span>
        <span class="number soft">{dateOf(step['timestamp'])}</span>
      </div>
      {shown.map((value, at) => (
        <div key={at} class="break step-text">
          {valueText(value)}
        </div>
      ))}
    </li>
  );
}

/** `url: https://…, text: …` for the input of an action. */
function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return text(value, 2000);
  return text(
    Object.entries(value)
      .slice(0, 20)
      .map(([name, one]) => `${text(name, 60)}: ${text(one, 500)}`)
      .join(', '),
  );
}
