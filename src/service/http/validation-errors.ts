import type { FastifySchemaValidationError } from 'fastify/types/schema.js';

/** Reasons by dotted field path: `{"request.assertions.0.comparison": ["must be one of …"]}`. */
export type ErrorAttributes = { [path: string]: string[] };

/** AJV's error fields beyond Fastify's type: with `verbose`, also the schema around the failed keyword. */
type ValidationError = FastifySchemaValidationError & { parentSchema?: { [keyword: string]: unknown } };

/** Fields named in one answer. A body can hold thousands of invalid ones. */
const maxFields = 100;

const typeNames: { readonly [type: string]: string } = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
};

const list = (values: readonly unknown[]) =>
  values.map((value) => (value === null ? 'null' : String(value))).join(', ');

/** `/request/assertions/0/comparison` → `request.assertions.0.comparison` (JSON Pointer, RFC 6901). */
function dotted(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
}

function range(parent: { [keyword: string]: unknown }): string {
  const { minimum, maximum } = parent;
  if (minimum !== undefined && maximum !== undefined) return `must be from ${minimum} to ${maximum}`;
  return minimum !== undefined ? `must be at least ${minimum}` : `must be at most ${maximum}`;
}

function lengths(parent: { [keyword: string]: unknown }, low: string, high: string, unit: string): string {
  const min = parent[low];
  const max = parent[high];
  if (min !== undefined && max !== undefined) return `must have ${min} to ${max} ${unit}`;
  return min !== undefined ? `must have at least ${min} ${unit}` : `must have at most ${max} ${unit}`;
}

const formats: { readonly [format: string]: string } = {
  uuid: 'a UUID',
  'date-time': 'a date and time of ISO 8601, like 2026-03-04T05:06:07Z',
  email: 'a mail address',
};

/** The required form of a text: the field's description, unless that is a sentence about the field's purpose. */
function formOf(params: ValidationError['params'], description: unknown): string {
  const format = formats[String(params['format'])];
  if (format !== undefined) return format;
  if (typeof description === 'string' && !description.endsWith('.')) return description;
  return `a text that matches ${String(params['pattern'] ?? params['format'])}`;
}

function reasonFor(error: ValidationError): string {
  const { keyword, params } = error;
  const parent = error.parentSchema ?? {};
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return 'is not a known field';
    case 'type': {
      const types = [params['type']].flat();
      return `must be ${types.map((type) => typeNames[String(type)] ?? String(type)).join(' or ')}`;
    }
    case 'enum': {
      const values = params['allowedValues'];
      return `must be one of ${list(Array.isArray(values) ? values : [])}`;
    }
    case 'const':
      return `must be ${String(params['allowedValue'])}`;
    case 'minimum':
    case 'maximum':
      return range(parent);
    case 'minLength':
    case 'maxLength':
      return lengths(parent, 'minLength', 'maxLength', 'characters');
    case 'minItems':
    case 'maxItems':
      return lengths(parent, 'minItems', 'maxItems', 'items');
    case 'minProperties':
      return 'must name at least one field';
    case 'multipleOf':
      return `must be a multiple of ${String(params['multipleOf'])}`;
    case 'uniqueItems':
      return 'must not name the same value twice';
    case 'pattern':
    case 'format':
      return `must be: ${formOf(params, parent['description'])}`;
    default:
      return error.message ?? 'is not valid';
  }
}

function pathOf(error: ValidationError): string {
  const path = dotted(error.instancePath);
  const named = error.params['missingProperty'] ?? error.params['additionalProperty'];
  return named === undefined
    ? path
    : [path, String(named).slice(0, 200)].filter((part) => part !== '').join('.');
}

/**
 * AJV's errors as `{"field.path": [reasons]}`. `context` is the part of the request that was validated (body,
 * querystring, params). It is the path only if that part itself is invalid.
 */
export function validationAttributes(
  errors: readonly ValidationError[],
  context: string,
  body?: unknown,
): ErrorAttributes {
  // A Map, because a field may be called "constructor".
  const reasons = new Map<string, string[]>();
  for (const error of errors) {
    const path = pathOf(error) || context;
    const reason =
      path === 'body' && (body === null || body === undefined) ? 'is required' : reasonFor(error);
    const known = reasons.get(path);
    if (known !== undefined) {
      if (!known.includes(reason)) known.push(reason);
    } else if (reasons.size < maxFields) {
      reasons.set(path, [reason]);
    } else {
      break;
    }
  }
  return Object.fromEntries(reasons);
}
