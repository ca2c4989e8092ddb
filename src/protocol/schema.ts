import Type, { type TSchema, type TUnsafe } from 'typebox';

/** A string enum: one `enum` keyword instead of a union of literals, so that errors and OpenAPI stay readable. */
export function StringEnum<const Values extends readonly string[]>(
  values: Values,
  options: Record<string, unknown> = {},
): TUnsafe<Values[number]> {
  return Type.Unsafe<Values[number]>({ type: 'string', enum: [...values], ...options });
}

/** `schema` or null. */
export function Nullable<S extends TSchema>(schema: S, options: Record<string, unknown> = {}) {
  return Type.Union([schema, Type.Null()], options);
}

/** An enum of whole numbers, as one `enum` keyword. */
export function IntegerEnum<const Values extends readonly number[]>(
  values: Values,
  options: Record<string, unknown> = {},
) {
  return Type.Unsafe<Values[number]>({ type: 'integer', enum: [...values], ...options });
}
