import { rowsOf, type CheckForm } from './fields/types.ts';
import type { Body, Row } from './fields/row.ts';

/** Values in the body of a check, by the paths of fields. */

const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

export function valueAt(body: Body, path: string): unknown {
  let value: unknown = body;
  for (const name of path.split('.')) value = isObject(value) ? value[name] : undefined;
  return value;
}

/** The body with another value at a path; undefined removes the field. */
export function withValue(body: Body, path: string, value: unknown): Body {
  const [name = '', ...rest] = path.split('.');
  const own = body[name];
  const inner = rest.length === 0 ? value : withValue(isObject(own) ? own : {}, rest.join('.'), value);
  const { [name]: _old, ...others } = body;
  if (inner === undefined) return others;
  return name in body ? { ...body, [name]: inner } : { ...others, [name]: inner };
}

const copy = (value: unknown): unknown => (value === undefined ? undefined : structuredClone(value));

/** The value with which a field of a new check begins. */
function initialOf(row: Row): unknown {
  if (row.initial !== undefined) return row.initial;
  if (row.default !== undefined) return copy(row.default);
  return 'empty' in row ? row.empty : undefined;
}

/** The object that begins when its switch is turned on. */
export function initialObject(row: Row & { kind: 'object' }): Body {
  let body: Body = {};
  for (const inner of row.rows) {
    const value = initialOf(inner);
    if (value !== undefined) body = withValue(body, inner.path, value);
  }
  return valueAt(body, row.path) as Body; // the rows are below the path
}

const isInside = (rows: readonly Row[], path: string) =>
  rows.some((row) => row.kind === 'object' && path.startsWith(`${row.path}.`));

/** A new check of a type: every field with its default. */
export function initialBody(form: CheckForm): Body {
  const rows = rowsOf(form);
  let body: Body = {};
  for (const row of rows) {
    const value = initialOf(row);
    if (value !== undefined && !isInside(rows, row.path)) body = withValue(body, row.path, value);
  }
  return body;
}

/** What the service adds to a check that is read, and does not take back. */
const ofService = ['id', 'checkType', 'alertChannels', 'created_at', 'updated_at', 'isPartial'];

/** The body of a check as read, for its form. */
export function bodyOfCheck(check: Body): Body {
  let body: Body = Object.fromEntries(Object.entries(check).filter(([name]) => !ofService.includes(name)));
  if (isObject(body['heartbeat'])) {
    const { pingToken: _token, pingUrl: _url, ...timing } = body['heartbeat'];
    body = { ...body, heartbeat: timing };
  }
  return body;
}

/** A check without the fields that have their defaults. */
export function withoutDefaults(form: CheckForm, body: Body): Body {
  const rows = rowsOf(form);
  let short = body;
  for (const row of rows) {
    if (row.default === undefined || isInside(rows, row.path)) continue;
    if (same(valueAt(body, row.path), row.default)) short = withValue(short, row.path, undefined);
  }
  // Objects of which nothing is left.
  for (const [name, value] of Object.entries(short)) {
    if (isObject(value) && isEmpty(value) && !rows.some(({ path, kind }) => path === name && kind === 'json'))
      short = withValue(short, name, undefined);
  }
  return short;
}

const isEmpty = (value: unknown): boolean => isObject(value) && Object.values(value).every(isEmpty);

/**
 * The fields that differ from the stored check or group; the others stay as they are. A field that was cleared gets its
 * default, or null: without a value, the service would keep the old one.
 */
export function changesOf(before: Body, after: Body, rows: readonly Pick<Row, 'path' | 'default'>[]): Body {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const clearedTo = (name: string) => rows.find(({ path }) => path === name)?.default ?? null;
  return Object.fromEntries(
    [...names]
      .filter((name) => !same(before[name], after[name]))
      .map((name) => [name, after[name] === undefined ? clearedTo(name) : after[name]]),
  );
}
