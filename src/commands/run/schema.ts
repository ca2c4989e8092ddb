import Schema from 'typebox/schema';
import { Settings } from 'typebox/system';
import { validationAttributes } from '../../service/http/validation-errors.ts';
import { isFields, type Fields } from '../../json-values.ts';

/**
 * The public API's schemas applied without its server: the same defaults, the same complaints in the same words, so that
 * a file that `run` takes is a body that the service takes.
 */

/** Reasons by dotted path of the field. */
export type FieldErrors = { [path: string]: string[] };

type Told = Parameters<typeof validationAttributes>[0][number];

/** `value` with every default of `schema` that it lacks; nothing else is changed. */
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

/** What is wrong with `value`, by field; null = nothing. */
export function schemaErrors(schema: object, value: unknown): FieldErrors | null {
  Settings.Set({ maxErrors: 100 });
  const [valid, errors] = Schema.Errors(schema as Schema.XSchema, value); // TypeBox's own schemas are such
  if (valid) return null;
  const told = errors.flatMap((error): Told[] => {
    const common = {
      schemaPath: error.schemaPath,
      instancePath: error.instancePath,
      message: error.message,
      parentSchema: schemaAt(schema, error.schemaPath),
    };
    // Here one error names all fields; the API's has one error per field.
    if (error.keyword === 'required') {
      return error.params.requiredProperties.map((missingProperty) => ({
        ...common,
        keyword: 'required',
        params: { missingProperty },
      }));
    }
    if (error.keyword === 'additionalProperties') {
      return error.params.additionalProperties.map((additionalProperty) => ({
        ...common,
        keyword: 'additionalProperties',
        params: { additionalProperty },
      }));
    }
    // Follows each unknown field's own error.
    if (error.keyword === 'boolean') return [];
    return [{ ...common, keyword: error.keyword, params: { ...error.params } }];
  });
  return validationAttributes(told, 'file', value);
}

/** The schema that a pointer such as `#/properties/request` names. */
function schemaAt(schema: unknown, pointer: string): Fields {
  const found = pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((at, part) => {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      return isFields(at) || Array.isArray(at) ? (at as Fields)[key] : undefined; // arrays are read by index as well
    }, schema);
  return isFields(found) ? found : {};
}
