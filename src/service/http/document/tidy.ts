import { isJson, type Json } from './json.ts';

/**
 * Schemas that are right for a validator but odd for a reader: unions of one schema, and defaults in answers that lack
 * fields which answers always have.
 */

function tidied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidied);
  if (!isJson(value)) return value;
  const result = Object.fromEntries(
    // Values of these keywords are examples of data, not schemas.
    Object.entries(value).map(([name, inner]) => [
      name,
      ['default', 'enum', 'const'].includes(name) ? inner : tidied(inner),
    ]),
  );
  return withoutOddDefault(withoutUnionOfOne(result));
}

function withoutUnionOfOne(schema: Json): Json {
  const { anyOf, ...own } = schema;
  const [only] = Array.isArray(anyOf) ? (anyOf as unknown[]) : [];
  return Array.isArray(anyOf) && anyOf.length === 1 && isJson(only) ? { ...only, ...own } : schema;
}

function withoutOddDefault(schema: Json): Json {
  const { default: value, ...own } = schema;
  const { required } = schema;
  if (!isJson(value) || !Array.isArray(required)) return schema;
  return required.every((name) => value[String(name)] !== undefined) ? schema : own;
}

/** Tidies all schemas of the document. Changes `document` in place. */
export function tidySchemas(document: Json): void {
  for (const part of ['paths', 'components']) document[part] = tidied(document[part]);
}
