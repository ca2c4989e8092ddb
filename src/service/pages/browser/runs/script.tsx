import { list, object, text, type Fields } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { Calls } from './calls.tsx';
import { Part } from './part.tsx';
import { Errors } from './tests.tsx';
import type { Run } from './types.ts';

/** Errors of a run, pages of browser checks with their web vitals, and calls of multi-step checks. */
export function Script({ run }: { run: Run }) {
  const details = object(run.details);
  const hasTests = list(details['tests']).length > 0;
  // Tests show their own errors; a suite lists here only those of the whole run.
  const errors = hasTests && details['totals'] === undefined ? [] : list(details['errors']);
  const pages = list(details['pages']).slice(0, 100).map(object);
  const calls = list(details['apiCalls']).slice(0, 200).map(object);
  return (
    <>
      {details['summary'] ? (
        <Part title="Conclusion">
          <p class="break">{text(details['summary'], 4000)}</p>
        </Part>
      ) : null}
      {errors.length > 0 && (
        <Part title="Errors">
          <Errors errors={errors} />
        </Part>
      )}
      {pages.length > 0 && (
        <Part title="Pages">
          <ul class="tests">
            {pages.map((page, at) => (
              <Visited key={at} page={page} />
            ))}
          </ul>
        </Part>
      )}
      <Calls calls={calls} />
    </>
  );
}

function Visited({ page }: { page: Fields }) {
  const console = list(page['consoleErrors']);
  const network = list(page['networkErrors']);
  return (
    <li>
      <div class="test-line">
        <span class="break">{text(page['url'], 500)}</span>
        <span class="number">{milliseconds(object(page['pageTimings'])['onLoad'])}</span>
      </div>
      <ul class="vitals" aria-label="Web vitals">
        {Object.entries(object(page['webVitals']))
          .slice(0, 10)
          .map(([name, value]) => (
            <Vital key={name} name={name} value={object(value)} />
          ))}
      </ul>
      {console.length > 0 && (
        <details open>
          <summary>
            Console <span class="count">{console.length}</span>
          </summary>
          <Errors errors={console} />
        </details>
      )}
      {network.length > 0 && (
        <details open>
          <summary>
            Network <span class="count">{network.length}</span>
          </summary>
          <Errors errors={network} />
        </details>
      )}
    </li>
  );
}

const scores: { readonly [score: string]: string } = {
  GOOD: 'passed',
  NEEDS_IMPROVEMENT: 'degraded',
  POOR: 'failed',
};

function Vital({ name, value: { score, value } }: { name: string; value: Fields }) {
  const shown = name === 'CLS' && typeof value === 'number' ? value.toFixed(3) : milliseconds(value);
  const word = text(score, 40).toLowerCase().replaceAll('_', ' ');
  return (
    <li class={`status ${scores[text(score, 40)] ?? 'idle'}`}>
      {text(name, 20)} {shown} <span class="hidden-text">({word})</span>
    </li>
  );
}
