import { isJson, type Json } from './json.ts';

/** Makes an example of a schema: its own example or default if it has one, or else a value that looks like its field. */

/** Values by the name of the field. The first pattern that fits a field whose type fits the value decides. */
const hints: readonly (readonly [field: RegExp, value: unknown])[] = [
  [/^(runLocation|lastRunLocation|location|code|region)$/, 'eu-west-1'],
  [/^slugName$|^slug$/, 'berlin-office'],
  [/^(logicalId|project)$/, 'shop'],
  [/^rawKey$/, 'pl_8f1c2d3e4a5b6c7d'],
  [/^maskedKey$/, 'pl_8f…6c7d'],
  [/pingUrl$/, 'https://monitoring.example/ping/8f1c2d3e4a5b'],
  [/^(email|address)$/, 'ops@shop.example'],
  [/url$/i, 'https://shop.example/'],
  [/token$/i, '8f1c2d3e4a5b'],
  [/^host(name)?$|domain$/i, 'shop.example'],
  [/^(method)$/, 'GET'],
  [/^(minAgentVersion|agentVersion|version)$/, '8.4.0'],
  [/runtime/i, '2026.04'],
  [/errorMessage|^message$|^error$/i, 'connect ECONNREFUSED 192.0.2.10:443'],
  [/^description$|^summary$|^text$/, 'The state of our shop.'],
  [/^(tag|tags)$/, 'shop'],
  [/^key$/, 'SHOP_TOKEN'],
  [/^value$/, 'a text'],
  [/hash|fingerprint|digest/i, 'ab'.repeat(32)],
  [/name$|title$/i, 'Shop front'],
  [/(script|command)$/i, "console.log('done');"],
  [/statusCode/, 200],
  [/(responseTime|duration|longestRun|shortestRun|ms|_avg|_p\d+)$/i, 184],
  [/(availability|percentage|successRatio|uptime)/i, 99.95],
  [/port$/i, 443],
  [/(id|Id)$/, 17],
];

const uuid = '0197d0a3-5f5c-7c3e-9d2e-0e6f2f1c9a10';
const moments: { readonly [format: string]: string } = {
  'date-time': '2026-03-04T05:06:07.000Z',
  date: '2026-03-04',
  uuid,
  email: 'ops@shop.example',
  uri: 'https://shop.example/',
};

type Options = {
  readonly schemas: Json;
  /** Whole examples of named schemas. */
  readonly named: { readonly [name: string]: unknown };
  readonly field?: string;
  /** Named schemas around this one: a recursive schema ends where it comes again. */
  readonly around?: readonly string[];
};

const hintFor = (field: string, fits: (value: unknown) => boolean): unknown =>
  hints.find(([name, value]) => name.test(field) && fits(value))?.[1];
const first = (value: unknown): unknown => (Array.isArray(value) ? (value as unknown[])[0] : undefined);

/** Returns an example of a schema; undefined if it would contain itself. */
export function sampleOf(schema: unknown, options: Options): unknown {
  const { schemas, named, field = '', around = [] } = options;
  if (!isJson(schema)) return undefined;
  const inner = (next: unknown, name = field) => sampleOf(next, { ...options, field: name });
  if (typeof schema['$ref'] === 'string') {
    const name = schema['$ref'].split('/').at(-1) ?? '';
    if (around.includes(name)) return undefined;
    return named[name] ?? sampleOf(schemas[name], { ...options, around: [...around, name] });
  }
  if (schema['example'] !== undefined) return schema['example'];
  if (first(schema['examples']) !== undefined) return first(schema['examples']);
  if (schema['const'] !== undefined) return schema['const'];
  const alternatives = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(alternatives)) return inner((alternatives as unknown[])[0]);
  if (Array.isArray(schema['allOf']))
    return Object.assign({}, ...schema['allOf'].map((part: unknown) => inner(part))) as unknown;
  const given = schema['default'];
  if (given !== undefined && given !== null && given !== '' && !isEmpty(given)) return given;
  if (Array.isArray(schema['enum'])) return first(schema['enum']);
  const type = [schema['type']].flat().find((one) => one !== 'null');
  switch (type) {
    case 'object':
      return objectOf(schema, inner);
    case 'array': {
      const item = schema['maxItems'] === 0 ? undefined : inner(schema['items'], field.replace(/s$/, ''));
      return item === undefined ? [] : [item];
    }
    case 'string':
      return textOf(schema, field);
    case 'integer':
    case 'number':
      return numberOf(schema, field, type);
    case 'boolean':
      return given ?? false;
    default:
      return schema['type'] === 'null' ? null : (hintFor(field, () => true) ?? 'a value');
  }
}

const isEmpty = (value: unknown) =>
  (Array.isArray(value) && value.length === 0) || (isJson(value) && Object.keys(value).length === 0);

function objectOf(schema: Json, inner: (next: unknown, name?: string) => unknown): Json {
  const result: Json = {};
  const properties = isJson(schema['properties']) ? schema['properties'] : {};
  for (const [name, property] of Object.entries(properties)) {
    const value = inner(property, name);
    if (value !== undefined) result[name] = value;
  }
  const patterns = schema['patternProperties'];
  const rest = isJson(patterns) ? Object.values(patterns)[0] : schema['additionalProperties'];
  if (Object.keys(properties).length === 0 && isJson(rest)) {
    const value = inner(rest, 'value');
    if (value !== undefined) result['shop'] = value;
  }
  return result;
}

function textOf(schema: Json, field: string): string {
  const { format, pattern, minLength, maxLength } = schema;
  const known = moments[String(format)];
  if (known !== undefined) return known;
  const fits = (text: string) =>
    text.length >= Number(minLength ?? 0) &&
    text.length <= Number(maxLength ?? Infinity) &&
    (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text));
  const candidates = [
    ...hints.flatMap(([name, value]) => (typeof value === 'string' && name.test(field) ? [value] : [])),
    ...(/(At|^from|^to|Seen|Since|_at)$/.test(field) ? [moments['date-time'] ?? ''] : []),
    ...(/(id|Id)$/.test(field) ? [uuid] : []),
    'shop',
    uuid,
    '17',
    '#2459c4',
    'https://shop.example/',
    'shop.example',
    '+31612345678',
    '10.0.0.0/8',
  ];
  return candidates.find(fits) ?? 'shop';
}

function numberOf(schema: Json, field: string, type: string): number {
  const hint = hintFor(field, (value) => typeof value === 'number');
  const low = Number(schema['minimum'] ?? -Infinity);
  const high = Number(schema['maximum'] ?? Infinity);
  const wanted = typeof hint === 'number' ? hint : 1;
  const whole = type === 'integer' ? Math.round(wanted) : wanted;
  return Math.min(high, Math.max(low, whole));
}
