/** Walking over JSON of the OpenAPI document. */

export type Json = { [field: string]: unknown };

/** Whether a value is a JSON object. Lists are not. */
export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** One operation of the document with its place: `method` in lower case, `path` as in the document. */
export type OperationAt = { readonly method: string; readonly path: string; readonly operation: Json };

/** All operations of a document, in its order. */
export function operationsOf(document: Json): OperationAt[] {
  const paths = isJson(document['paths']) ? document['paths'] : {};
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(isJson(methods) ? methods : {}).flatMap(([method, operation]) =>
      isJson(operation) ? [{ method, path, operation }] : [],
    ),
  );
}

/** The value at these names, one below the other; undefined if one of them is absent. */
export function at(value: unknown, ...names: readonly string[]): unknown {
  let found = value;
  for (const name of names) found = isJson(found) ? found[name] : undefined;
  return found;
}

/** The JSON media type of a body or an answer; null = there is none. */
export function jsonContent(message: unknown): Json | null {
  const media = at(message, 'content', 'application/json');
  return isJson(media) ? media : null;
}
