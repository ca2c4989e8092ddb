import type { TObject, TPartial, TProperties, TSchema } from 'typebox';
import { isFields, type Fields } from '../../../json-values.ts';

const isNullSchema = (value: unknown): boolean => isFields(value) && value['type'] === 'null';

/**
 * Turns `X or null` into one schema with two types instead of a union. Defaults inside a union are not filled in, and
 * an error of a union names each branch. With two types there is one clear error and every default.
 */
function withoutNullUnion(schema: Fields): Fields {
  const branches = schema['anyOf'];
  if (!Array.isArray(branches) || branches.length !== 2 || !branches.some(isNullSchema)) return schema;
  const branch: unknown = branches.find((candidate) => !isNullSchema(candidate));
  if (!isFields(branch) || typeof branch['type'] !== 'string') return schema;
  const { anyOf: _anyOf, ...own } = schema;
  const values = branch['enum'];
  return {
    ...branch,
    ...own,
    type: [branch['type'], 'null'],
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
  };
}

function normalise(schema: unknown, closed: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((item: unknown) => normalise(item, closed));
  if (!isFields(schema)) return schema;
  const flat = withoutNullUnion(schema);
  const result: Fields = {};
  for (const [keyword, value] of Object.entries(flat)) {
    if (keyword === 'properties' && isFields(value)) {
      result[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, property]) => [name, normalise(property, closed)]),
      );
    } else {
      // These keywords hold values, not schemas, and must stay unchanged.
      result[keyword] = ['default', 'enum', 'const', 'examples'].includes(keyword)
        ? value
        : normalise(value, closed);
    }
  }
  if (closed && isFields(result['properties'])) {
    result['additionalProperties'] ??= false;
    requireOnlyWithoutDefault(result, result['properties']);
  }
  return result;
}

/**
 * A client may omit a field with a default. TypeBox marks it as required, because it is always present after
 * validation.
 */
function requireOnlyWithoutDefault(schema: Fields, properties: Fields): void {
  const { required } = schema;
  if (!Array.isArray(required)) return;
  const needed = required.filter((name: unknown) => {
    const property = properties[String(name)];
    return !isFields(property) || property['default'] === undefined;
  });
  if (needed.length > 0) schema['required'] = needed;
  else delete schema['required'];
}

/**
 * A schema for requests. Unknown fields are refused at every depth, unless an object itself sets
 * `additionalProperties: true`. Fields with a default may be omitted, and `X or null` is one schema with two types.
 */
export function strict<S extends TSchema>(schema: S): S {
  return normalise(schema, true) as S; // only keywords change, never what a valid value looks like
}

/** A schema for answers: the same form as `strict`, but open to later fields. */
export function open<S extends TSchema>(schema: S): S {
  return normalise(schema, false) as S; // as in strict
}

/** The strict schema of a change: every field may be omitted, and omitted fields get no default. */
export function strictPartial<P extends TProperties>(schema: TObject<P>): TPartial<TObject<P>> {
  const { required: _required, ...result } = strict(schema) as unknown as Fields; // a schema is plain JSON
  const properties = result['properties'] as { [name: string]: Fields }; // a TObject has properties, each a schema
  result['properties'] = Object.fromEntries(
    Object.entries(properties).map(([name, { default: _default, ...property }]) => [name, property]),
  );
  return result as unknown as TPartial<TObject<P>>; // `required` and defaults are removed, as in Partial
}
