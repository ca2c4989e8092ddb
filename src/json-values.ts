/** Reads values that have not been validated: JSON from outside, and stored copies of it. */

/** An object whose fields have any value. */
export type Fields = { [name: string]: unknown };

/** True for an object or an array. */
export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** True for an object that is not an array. */
export const isFields = (value: unknown): value is Fields => isObject(value) && !Array.isArray(value);

/** The fields of an object; none for anything else. */
export const fieldsOf = (value: unknown): Readonly<Fields> => (isFields(value) ? value : {});

/** The items of an array; none for anything else. */
export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The value of a JSON text; undefined if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
