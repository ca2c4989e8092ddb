import { isFields } from '../../../json-values.ts';
import { durationMs } from './durations.ts';
import { patternOf, type Pattern } from '../patterns/patterns.ts';

/** Reading the fields of one object of PROBE_CONFIG: unknown and unsupported ones are refused by name. */

/** A field of the file cannot be used. */
export class ProbeConfigError extends Error {
  override readonly name = 'ProbeConfigError';
}

/** One object of the file. `end` refuses whatever nobody has taken. */
export class ProbeFields {
  readonly path: string;
  readonly #values: { readonly [field: string]: unknown };
  readonly #taken = new Set<string>();

  constructor(path: string, value: unknown) {
    // An empty object is often written as nothing.
    if (value !== null && value !== undefined && !isFields(value))
      throw new ProbeConfigError(`${path} must be an object`);
    this.path = path;
    this.#values = isFields(value) ? value : {};
  }

  has(field: string): boolean {
    return this.#values[field] !== undefined && this.#values[field] !== null;
  }

  names(): string[] {
    return Object.keys(this.#values);
  }

  take(field: string): unknown {
    this.#taken.add(field);
    return this.#values[field] ?? null;
  }

  pathOf(field: string): string {
    return this.path === '' ? field : `${this.path}.${field}`;
  }

  fail(field: string, why: string): never {
    throw new ProbeConfigError(`${this.pathOf(field)} ${why}`);
  }

  object(field: string): ProbeFields {
    return new ProbeFields(this.pathOf(field), this.take(field));
  }

  text(field: string, fallback = ''): string {
    const value = this.take(field);
    if (value === null) return fallback;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    return typeof value === 'string' ? value : this.fail(field, 'must be a text');
  }

  flag(field: string, fallback: boolean): boolean {
    const value = this.take(field);
    if (value === null) return fallback;
    return typeof value === 'boolean' ? value : this.fail(field, 'must be true or false');
  }

  integer(field: string, range: { min: number; max: number; fallback: number }): number {
    const value = this.take(field);
    if (value === null) return range.fallback;
    if (typeof value === 'number' && Number.isInteger(value) && value >= range.min && value <= range.max)
      return value;
    return this.fail(field, `must be a whole number from ${range.min} to ${range.max}`);
  }

  oneOf<const V extends string>(field: string, values: readonly V[], fallback: V): V {
    const text = this.text(field, fallback);
    return values.find((value) => value === text) ?? this.fail(field, `must be one of ${values.join(', ')}`);
  }

  duration(field: string): number | null {
    const value = this.take(field);
    if (value === null) return null;
    const ms = typeof value === 'string' ? durationMs(value) : null;
    return ms ?? this.fail(field, 'must be a duration such as 500ms, 5s or 1m30s');
  }

  list(field: string): unknown[] {
    const value = this.take(field);
    if (value === null) return [];
    return Array.isArray(value) ? (value as unknown[]) : this.fail(field, 'must be a list');
  }

  /** The object at a place of a list. */
  item(field: string, index: number): ProbeFields {
    return new ProbeFields(`${this.pathOf(field)}[${index}]`, this.list(field)[index]);
  }

  texts(field: string): string[] {
    return this.list(field).map((value) =>
      typeof value === 'string' || typeof value === 'number'
        ? String(value)
        : this.fail(field, 'must be a list of texts'),
    );
  }

  patterns(field: string): Pattern[] {
    return this.texts(field).map((text) => this.#compiled(field, text));
  }

  pattern(field: string): Pattern | null {
    const text = this.text(field);
    return text === '' ? null : this.#compiled(field, text);
  }

  #compiled(field: string, text: string): Pattern {
    try {
      return patternOf(text);
    } catch (error: unknown) {
      return this.fail(field, error instanceof Error ? error.message : 'is not a pattern');
    }
  }

  /** Refuses fields of the other program that this one does not have, if they are set to more than nothing. */
  refuse(fields: readonly string[], why = 'is not supported'): void {
    for (const field of fields) {
      const value = this.take(field);
      if (value === null || value === false || value === '') continue;
      if (Array.isArray(value) && value.length === 0) continue;
      this.fail(field, why);
    }
  }

  end(): void {
    const unknown = this.names().find((name) => !this.#taken.has(name));
    if (unknown !== undefined) this.fail(unknown, 'is not a field of this object');
  }
}
