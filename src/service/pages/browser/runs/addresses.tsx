import { list, object, text, type Fields } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { Part, Scroll } from './part.tsx';

const errors: { readonly [code: string]: string } = {
  ABANDONED: 'another address answered first',
  TIMEOUT: 'no answer in time',
};

/** The addresses that were tried, in their order, and how each of them answered. */
export function Addresses({ details }: { details: Fields }) {
  const tried = [...list(details['attempts']), ...list(details['addresses']), ...list(details['servers'])]
    .map(object)
    .filter(({ address }) => address !== undefined)
    .slice(0, 50);
  const isFallback = details['ipFallback'] === true;
  const hasFailed = tried.some(({ error }) => error !== undefined && error !== null);
  // One address that answered is named elsewhere.
  if (!isFallback && !hasFailed && tried.length < 2) return null;
  return (
    <Part title="Addresses">
      {isFallback && <p>There was no IPv6 route, so the check used IPv4 instead.</p>}
      {tried.length > 0 && (
        <Scroll label="List of addresses">
          <table aria-label="Addresses">
            <thead>
              <tr>
                <th scope="col">Address</th>
                <th scope="col">Answer</th>
                <th scope="col" class="number">
                  After
                </th>
              </tr>
            </thead>
            <tbody>
              {tried.map(({ address, error, ms }, at) => (
                <tr key={at}>
                  <td class="break">{text(address, 60)}</td>
                  <td>{answerOf(error)}</td>
                  <td class="number">{milliseconds(ms)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Part>
  );
}

function answerOf(error: unknown) {
  if (error === undefined || error === null) return 'answered';
  const { code, message } = object(error);
  const name = text(code ?? error, 100);
  const words = errors[name] ?? (message === undefined ? undefined : text(message, 300));
  return (
    <>
      {words} <code>{name}</code>
    </>
  );
}
