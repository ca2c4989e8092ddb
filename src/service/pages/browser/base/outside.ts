/** Reads values from a customer's script. Their types are checked, and every text has a length limit. */

export type Fields = { readonly [name: string]: unknown };

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const object = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}; // any object has unknown fields

/** A text of at most `max` characters. */
export function text(value: unknown, max = 2000): string {
  // Not String(): an object from outside may have a toString that is not a function.
  const full = typeof value === 'string' ? value : asJson(value ?? '').replace(/^""$/, '');
  return full.length > max ? `${full.slice(0, max)} …` : full;
}

/** The declared type of JSON.stringify ignores that functions have no JSON. */
const asJson = (value: unknown) => (JSON.stringify(value) as string | undefined) ?? '';

/** Removes terminal colours from a text. */
export const plain = (value: unknown): string => withoutColours(text(value));

// oxlint-disable-next-line no-control-regex -- terminal colours begin with a control character
export const withoutColours = (value: string): string => value.replaceAll(/\u001b\[[0-9;]*m/g, '');

/** An integer of at least 0. */
export const count = (value: unknown): number =>
  typeof value === 'number' && value > 0 ? Math.trunc(value) : 0;
