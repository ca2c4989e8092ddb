/** Reading of values that nobody has checked: JSON from outside, and what was stored of it. */

/** An object whose fields have any value. */
export type Fields = { [name: string]: unknown };

/** True for an object or a list. */
export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** True for an object that is no list. */
export const isFields = (value: unknown): value is Fields => isObject(value) && !Array.isArray(value);

/** The fields of an object; none of anything else. */
export const fieldsOf = (value: unknown): Readonly<Fields> => (isFields(value) ? value : {});

/** The items of a list; none of anything else. */
export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The value that a JSON text stands for; undefined if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
