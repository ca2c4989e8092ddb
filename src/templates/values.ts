/** A value that a template can read, pass to a helper and write. */
export type Value = string | number | boolean | null | undefined | readonly Value[];

/** The text that an expression writes: nothing for null and undefined, commas between the items of a list. */
export function textOf(value: Value): string {
  if (value === null || value === undefined) return '';
  return Array.isArray(value) ? value.map((item: Value) => textOf(item)).join(',') : String(value);
}

/** Handlebars' own rule: an empty list is false. */
export function isTruthy(value: Value): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}
