/** What a failed result says of its error. */

type Json = { readonly [name: string]: unknown };

const object = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}; // any object is a Json
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const most = 4_096;

/** `reason` and `body` as stored. Null: it says nothing. */
export function rawMessageOf({ reason, body }: { reason: unknown; body: unknown }): string | null {
  const { assertions, details } = object(body);
  const { errors, tests, requestError } = object(details);
  const candidates = [
    object(reason)['message'],
    ...list(assertions).map(failedAssertion),
    ...list(errors),
    ...list(tests).flatMap((test) => list(object(test)['errors'])),
    requestError,
  ];
  for (const candidate of candidates) {
    const text = typeof candidate === 'string' ? candidate : object(candidate)['message'];
    if (typeof text === 'string' && text.trim() !== '')
      return text.slice(0, most).replace(/\p{Surrogate}/gu, ' ');
  }
  return null;
}

/** The assertion as a sentence; null when it held. */
function failedAssertion(assertion: unknown): string | null {
  const { source, property, error } = object(assertion);
  if (typeof error !== 'string' || error === '') return null;
  const subject = [source, property].filter((part) => typeof part === 'string' && part !== '').join(' ');
  return `an assertion failed: ${subject}: ${error}`;
}
