import Schema from 'typebox/schema';
import { Settings } from 'typebox/system';
import { validationAttributes } from '../../service/http/validation-errors.ts';
import { isFields, type Fields } from '../../json-values.ts';

/**
 * Applies the public API's schemas without its server, with the same error texts. A file that `run` accepts is
 * therefore a body that the service accepts.
 */

/** Reasons by dotted path of the field. */
export type FieldErrors = { [path: string]: string[] };

type SchemaError = Parameters<typeof validationAttributes>[0][number];

/** Validation errors of `value` by field; null = valid. */
export function schemaErrors(schema: object, value: unknown): FieldErrors | null {
  Settings.Set({ maxErrors: 100 });
  const [valid, errors] = Schema.Errors(schema as Schema.XSchema, value); // TypeBox schemas have this shape
  if (valid) return null;
  const schemaErrors = errors.flatMap((error): SchemaError[] => {
    const common = {
      schemaPath: error.schemaPath,
      instancePath: error.instancePath,
      message: error.message,
      parentSchema: schemaAt(schema, error.schemaPath),
    };
    // One error here names all fields; the API has one error per field.
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
    // This error only repeats each unknown field's error.
    if (error.keyword === 'boolean') return [];
    return [{ ...common, keyword: error.keyword, params: { ...error.params } }];
  });
  return validationAttributes(schemaErrors, 'file', value);
}

/** The schema at a pointer such as `#/properties/request`. */
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
