import { randomInt, randomUUID } from 'node:crypto';
import { formatMoment, momentOf } from './dates.ts';
import type { Helper } from './dialect.ts';
import { TemplateError } from './template-error.ts';
import { textOf } from './values.ts';

/** The helpers that every dialect has: random values and dates. */

export const randomHelpers: readonly (readonly [name: string, helper: Helper])[] = [
  ['$UUID', () => randomUUID()],
  ['$RANDOM_NUMBER', () => randomInt(0, 10_001)],
];

/** `{{moment "2 days ago" "YYYY-MM-DD"}}`, in UTC. `notATime` makes the error for a phrase that is not understood. */
export function dateHelper(notATime: (phrase: string) => string): Helper {
  return ([phrase, format], { now }) => {
    const text = phrase === undefined ? 'now' : textOf(phrase);
    const time = momentOf(text, now());
    if (time === null) throw new TemplateError(notATime(text));
    return formatMoment(time, format === undefined ? 'YYYY-MM-DDTHH:mm:ss[Z]' : textOf(format));
  };
}
