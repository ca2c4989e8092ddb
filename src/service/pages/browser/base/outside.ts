/**
 * Reading values that come from a customer's script: nothing is taken for granted, and every text has a limit.
 */

export type Fields = { readonly [name: string]: unknown };

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const object = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}; // any object is one of unknown fields

/** A text of at most `most` characters. */
export function text(value: unknown, most = 2000): string {
  // Not String(): an object from outside may have a toString that is no function.
  const whole = typeof value === 'string' ? value : asJson(value ?? '').replace(/^""$/, '');
  return whole.length > most ? `${whole.slice(0, most)} …` : whole;
}

/** The type of JSON.stringify leaves out that a function has no JSON. */
const asJson = (value: unknown) => (JSON.stringify(value) as string | undefined) ?? '';

/** A text without the colours of terminals. */
export const plain = (value: unknown): string => withoutColours(text(value));

// oxlint-disable-next-line no-control-regex -- terminals' colours begin with one
export const withoutColours = (value: string): string => value.replaceAll(/\u001b\[[0-9;]*m/g, '');

/** A whole number from 0. */
export const count = (value: unknown): number =>
  typeof value === 'number' && value > 0 ? Math.trunc(value) : 0;
