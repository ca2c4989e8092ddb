import { fieldsOf } from '../../json-values.ts';
import { shortened } from '../../shortened.ts';

/** Functions that read unchecked values: each returns a value of its type, whatever it is given. */

export function textOf(value: unknown, maxLength: number): string {
  return typeof value === 'string' ? shortened(value, maxLength) : '';
}

export function textOrNull(value: unknown, maxLength: number): string | null {
  return typeof value === 'string' ? shortened(value, maxLength) : null;
}

/** A finite number that is not negative. */
export function amountOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

export function amountOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

export function listOf(value: unknown, maxLength: number): unknown[] {
  return Array.isArray(value) ? value.slice(0, maxLength) : [];
}

export function textsOf(value: unknown, count: number, maxLength: number): string[] {
  return listOf(value, count).map((each) => textOf(each, maxLength));
}

/** An object whose values are strings. */
export function recordOfTexts(value: unknown, count: number, maxLength: number): { [name: string]: string } {
  return Object.fromEntries(
    Object.entries(fieldsOf(value))
      .slice(0, count)
      .map(([name, each]) => [shortened(name, 200), textOf(each, maxLength)]),
  );
}
