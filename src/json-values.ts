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

/**
 * True if arrays and objects of a JSON text are nested more than `most` levels deep. Costs about 2 ns for each
 * character. JSON.parse itself accepts any depth, but functions that walk through a value may then overflow the stack
 * or take seconds.
 */
export function isNestedDeeper(text: string, most: number): boolean {
  // A level takes at least one character to open.
  if (text.length <= most) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case 0x22: // a string: skip to its end, so that brackets within it do not count
        for (i += 1; i < text.length && text.charCodeAt(i) !== 0x22; i++) {
          if (text.charCodeAt(i) === 0x5c) i += 1; // what follows a backslash ends no string
        }
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        if (depth > most) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
    }
  }
  return false;
}
