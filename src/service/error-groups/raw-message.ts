import { fieldsOf, itemsOf } from '../../json-values.ts';

/** Finds the error message of a failed result. */

const max = 4_096;

/** `reason` and `body` as stored. Null if they contain no message. */
export function rawMessageOf({ reason, body }: { reason: unknown; body: unknown }): string | null {
  const { assertions, details } = fieldsOf(body);
  const { errors, tests, requestError } = fieldsOf(details);
  const candidates = [
    fieldsOf(reason)['message'],
    ...itemsOf(assertions).map(failedAssertion),
    ...itemsOf(errors),
    ...itemsOf(tests).flatMap((test) => itemsOf(fieldsOf(test)['errors'])),
    requestError,
  ];
  for (const candidate of candidates) {
    const text = typeof candidate === 'string' ? candidate : fieldsOf(candidate)['message'];
    if (typeof text === 'string' && text.trim() !== '')
      return text.slice(0, max).replace(/\p{Surrogate}/gu, ' ');
  }
  return null;
}

/** Describes a failed assertion in a sentence; null when it held. */
function failedAssertion(assertion: unknown): string | null {
  const { source, property, error } = fieldsOf(assertion);
  if (typeof error !== 'string' || error === '') return null;
  const subject = [source, property].filter((part) => typeof part === 'string' && part !== '').join(' ');
  return `an assertion failed: ${subject}: ${error}`;
}
