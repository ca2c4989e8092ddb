import { fieldsOf } from '../../json-values.ts';

/** Functions that read unchecked values: each returns a value of its type, whatever it is given. */

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

/** An object whose values are strings. */
export function recordOfTexts(value: unknown, count: number, longest: number): { [name: string]: string } {
  return Object.fromEntries(
    Object.entries(fieldsOf(value))
      .slice(0, count)
      .map(([name, each]) => [name.slice(0, 200), textOf(each, longest)]),
  );
}
