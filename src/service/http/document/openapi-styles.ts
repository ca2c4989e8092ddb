type Json = { [field: string]: unknown };

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/**
 * Moves the style of object query parameters next to their schema (OpenAPI 3.1, "Style Values"). Routes have only
 * schemas and cannot declare it there. Changes `document` in place.
 */
export function liftStyles(document: object): void {
  const { paths } = document as Json; // JSON, whatever version of the types the caller has
  for (const path of Object.values(isObject(paths) ? paths : {})) {
    for (const operation of Object.values(isObject(path) ? path : {})) {
      const parameters: unknown = isObject(operation) ? operation['parameters'] : undefined;
      for (const parameter of Array.isArray(parameters) ? (parameters as unknown[]) : []) {
        if (!isObject(parameter) || !isObject(parameter['schema'])) continue;
        for (const keyword of ['style', 'explode']) {
          if (parameter['schema'][keyword] === undefined) continue;
          parameter[keyword] = parameter['schema'][keyword];
          delete parameter['schema'][keyword];
        }
      }
    }
  }
}
