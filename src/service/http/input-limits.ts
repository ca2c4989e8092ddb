import type { FastifyRequest } from 'fastify';
import { badRequest } from './errors.ts';
import { normaliseIdsIn } from './ids-in-requests.ts';
import type { ErrorAttributes } from './validation-errors.ts';

/**
 * Checks for values that schemas cannot refuse and the database cannot store. They run before validation, so that the
 * work and the size of an answer stay limited for any body.
 */

/** Largest body of the public API in bytes. A script or a request body of 1 MiB, written in JSON, fits. */
export const bodyBytes = 4 * 1024 * 1024;

/** Of a body: values in all, and levels. */
export const maxValues = 20_000;
export const maxDepth = 20;

// PostgreSQL stores neither U+0000 nor an unpaired surrogate.
// oxlint-disable-next-line no-control-regex -- that character is the subject
const unstorable = /\u0000|\p{Surrogate}/u;
const unstorableReason = 'must not contain the character U+0000 or half of a surrogate pair';

/** The first problem in `value`, as attributes; null = none. */
export function inputProblem(
  value: unknown,
  where: string,
  { most = maxValues, deepest = maxDepth }: { most?: number; deepest?: number } = {},
): ErrorAttributes | null {
  let values = 0;
  const visit = (item: unknown, path: readonly string[]): ErrorAttributes | null => {
    values += 1;
    if (values > most) return { [where]: [`must not hold more than ${most} values`] };
    if (path.length > deepest) return { [where]: [`must not be nested deeper than ${deepest} levels`] };
    if (typeof item === 'string') {
      return unstorable.test(item) ? { [path.join('.') || where]: [unstorableReason] } : null;
    }
    // 1e999 is valid JSON, but not a finite number.
    if (typeof item === 'number' && !Number.isFinite(item)) {
      return { [path.join('.') || where]: ['is a number that is too large'] };
    }
    if (typeof item !== 'object' || item === null) return null;
    // Without a list of the entries, which may be long.
    for (const key in item) {
      const member: unknown = (item as { [key: string]: unknown })[key];
      const problem = unstorable.test(key)
        ? { [path.join('.') || where]: ['has a field name that cannot be stored'] }
        : visit(member, [...path, key]);
      if (problem !== null) return problem;
    }
    return null;
  };
  return visit(value, []);
}

/** Converts a query field to its schema's type. JSON bodies carry types; query strings carry only text. */
function coerced(value: unknown, schema: { type?: unknown }): unknown {
  if (typeof value !== 'string') return value;
  if (schema.type === 'integer' || schema.type === 'number') {
    return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  }
  if (schema.type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value;
  if (schema.type === 'array') return value === '' ? [] : value.split(',');
  return value;
}

type QuerySchema = { properties?: { [name: string]: { type?: unknown } } };

/** Refuses query parameters on routes that have none. */
function refuseParameters(query: { [name: string]: unknown }): void {
  const unknown = Object.keys(query).slice(0, 100);
  if (unknown.length > 0) {
    throw badRequest(Object.fromEntries(unknown.map((name) => [name || 'query', ['is not a known field']])));
  }
}

/**
 * preValidation hook of the public API: refuses values that cannot be stored, normalises ids and converts query
 * fields to their types.
 */
export async function checkInput(request: FastifyRequest): Promise<void> {
  const { shape } = request.routeOptions.config;
  // The limits of the shape are twice as high, because it is checked before the body is parsed.
  const limits = shape === undefined ? {} : { most: shape.values / 2, deepest: shape.depth - 1 };
  const problem =
    inputProblem(request.params, 'path') ??
    inputProblem(request.query, 'query') ??
    inputProblem(request.body, 'body', limits);
  if (problem !== null) throw badRequest(problem);
  normaliseIdsIn(request.query);
  normaliseIdsIn(request.body);
  const schema = request.routeOptions.schema?.querystring as QuerySchema | undefined; // routes give TypeBox objects
  const query = request.query as { [name: string]: unknown }; // the parser's own object, ours to change
  if (schema === undefined) refuseParameters(query);
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    if (query[name] !== undefined) query[name] = coerced(query[name], property);
  }
}
