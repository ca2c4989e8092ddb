/** Reads values that nobody has checked: each function answers with something of its type, whatever it is given. */

export type Fields = { readonly [name: string]: unknown };

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}; // names are looked up one by one
}

export function textOf(value: unknown, longest: number): string {
  return typeof value === 'string' ? value.slice(0, longest) : '';
}

export function textOrNull(value: unknown, longest: number): string | null {
  return typeof value === 'string' ? value.slice(0, longest) : null;
}

/** A finite number that is not negative. */
export function amountOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

export function amountOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

export function listOf(value: unknown, longest: number): unknown[] {
  return Array.isArray(value) ? value.slice(0, longest) : [];
}

export function textsOf(value: unknown, count: number, longest: number): string[] {
  return listOf(value, count).map((each) => textOf(each, longest));
}

/** An object of texts. */
export function recordOfTexts(value: unknown, count: number, longest: number): { [name: string]: string } {
  return Object.fromEntries(
    Object.entries(fieldsOf(value))
      .slice(0, count)
      .map(([name, each]) => [name.slice(0, 200), textOf(each, longest)]),
  );
}

/** JSON, or undefined. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
