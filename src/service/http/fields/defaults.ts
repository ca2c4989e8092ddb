import { isFields, itemsOf, type Fields } from '../../../json-values.ts';
import { isIgnored } from './ignored-fields.ts';

/** Defaults of strict schemas: filling them in, and leaving them out. */

/** `value` with the defaults of `schema` for missing fields; nothing else is changed. */
export function withDefaults(schema: unknown, value: unknown): unknown {
  if (!isFields(schema)) return value;
  const settled = value === undefined ? structuredClone(schema['default']) : value;
  if (Array.isArray(settled)) return settled.map((item: unknown) => withDefaults(schema['items'], item));
  const { properties } = schema;
  if (!isFields(settled) || !isFields(properties)) return settled;
  const result: Fields = { ...settled };
  for (const [name, property] of Object.entries(properties)) {
    const filled = withDefaults(property, Object.hasOwn(settled, name) ? settled[name] : undefined);
    if (filled !== undefined) result[name] = filled;
  }
  return result;
}

/**
 * `value` without the fields that have their defaults, in the order of the schema. An optional field without a default
 * is left out if it is null.
 */
export function withoutDefaults(schema: unknown, value: unknown): unknown {
  if (!isFields(schema)) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => withoutDefaults(schema['items'], item));
  const { properties } = schema;
  if (!isFields(value) || !isFields(properties)) return value;
  const names = new Set([...Object.keys(properties), ...Object.keys(value)]);
  const kept = [...names].flatMap((name): [string, unknown][] => {
    const [own, property] = [value[name], properties[name]];
    if (own === undefined || isIgnored(property) || isPreset(property, own)) return [];
    if (own === null && !hasDefault(property) && !itemsOf(schema['required']).includes(name)) return [];
    return [[name, withoutDefaults(property, own)]];
  });
  return Object.fromEntries(kept);
}

const hasDefault = (schema: unknown): boolean => isFields(schema) && schema['default'] !== undefined;

const isPreset = (schema: unknown, value: unknown): boolean =>
  hasDefault(schema) && sorted(withDefaults(schema, undefined)) === sorted(withDefaults(schema, value));

/** JSON with sorted fields. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    isFields(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
