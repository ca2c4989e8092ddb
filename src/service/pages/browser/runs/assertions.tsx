import { object, text } from '../base/outside.ts';
import { StatusMark } from '../parts/status.tsx';
import { Part, Scroll } from './part.tsx';
import type { Run } from './types.ts';

const words: { readonly [comparison: string]: string } = {
  EQUALS: 'equals',
  NOT_EQUALS: 'does not equal',
  HAS_KEY: 'has the key',
  NOT_HAS_KEY: 'does not have the key',
  HAS_VALUE: 'has the value',
  NOT_HAS_VALUE: 'does not have the value',
  IS_EMPTY: 'is empty',
  NOT_EMPTY: 'is not empty',
  GREATER_THAN: 'is greater than',
  LESS_THAN: 'is less than',
  CONTAINS: 'contains',
  NOT_CONTAINS: 'does not contain',
  IS_NULL: 'is null',
  NOT_NULL: 'is not null',
};
const sourceWords = (source: string) => source.toLowerCase().replaceAll('_', ' ');

/** Assertions with the value that was expected and the one that was found. */
export function Assertions({ run }: { run: Run }) {
  const assertions = (run.assertions ?? []).slice(0, 200).map(object);
  if (assertions.length === 0) return null;
  const failed = assertions.filter(({ error }) => Boolean(error)).length;
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
            {assertions.map((assertion, at) => (
              <tr key={at}>
                <td>
                  <StatusMark status={assertion['error'] ? 'failed' : 'passed'} />
                </td>
                <td>
                  {sourceWords(text(assertion['source'], 100))}{' '}
                  <code>{text(assertion['property'], 300)}</code>
                </td>
                <td>
                  {words[text(assertion['comparison'])] ?? text(assertion['comparison'], 40)}{' '}
                  <code>{text(assertion['target'], 1000)}</code>
                </td>
                <td>
                  <code>{shownValue(assertion['actual'])}</code>
                  {Boolean(assertion['error']) && <div class="reason">{text(assertion['error'])}</div>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Part>
  );
}

const shownValue = (value: unknown) => (value === undefined || value === null ? 'none' : text(value, 1000));
