/** Inputs made from a JSON schema of the OpenAPI document: such as fit, and such as do not. Chance has a seed. */

export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  properties?: { [name: string]: Schema };
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  minimum?: number;
  maximum?: number;
  minItems?: number;
  format?: string;
  pattern?: string;
  minLength?: number;
};

export type Chance = {
  /** From 0 to 1. */
  next: () => number;
  pick: <T>(items: readonly T[]) => T;
  /** True so often. */
  is: (share: number) => boolean;
};

/** The same numbers for the same seed (mulberry32). */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    pick: (items) => {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined && items.length === 0) throw new Error('nothing to pick from');
      return item as (typeof items)[number]; // the index is within the list
    },
    is: (share) => next() < share,
  };
}

const deep = (levels: number): unknown => {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

/** Texts that break what takes them for something else. */
export const hostileTexts: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfff',
  '\u202eabc',
  '🚀'.repeat(40),
  'é'.repeat(300),
  "' or 1=1 --",
  '"; drop table checks; --',
  '%',
  '%00',
  '_%\\',
  '../../../../etc/passwd',
  '{{#each this}}{{/each}}',
  '{{',
  '${jndi:ldap://a}',
  '<script>alert(1)</script>',
  '\r\nset-cookie: a=b',
  'null',
  'NaN',
  '-1',
  '1e999',
  '0x10',
  '99999999999999999999',
  '9223372036854775808',
  '2147483648',
  '2026-02-31T25:61:61Z',
  '-271821-04-20T00:00:00Z',
  '+275760-09-13T00:00:00.000Z',
  '10000-01-01T00:00:00Z',
  '0000-01-01',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '018F0000-0000-7000-8000-000000000000',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'http://[::1',
  'javascript:alert(1)',
  '(a+)+$',
  '['.repeat(1000),
  'x'.repeat(70_000),
];

const hostileValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.1,
  1.5,
  1e21,
  -1e300,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53 - 1,
  2 ** 53,
  2 ** 63,
  Number.MIN_VALUE,
  [],
  [[]],
  [null],
  {},
  { a: 1 },
  { constructor: { prototype: { a: 1 } } },
  { toString: 1, valueOf: null, hasOwnProperty: 'x', length: -1 },
  deep(15),
  deep(40),
  Array.from({ length: 500 }, (_, index) => index),
  Array.from({ length: 200 }, () => ({ key: 'a', value: 'b' })),
];

export const hostile = (chance: Chance): unknown =>
  chance.is(0.5) ? chance.pick(hostileTexts) : chance.pick(hostileValues);

/** What texts of this kind look like, by format or field name. */
function fittingText(schema: Schema, name: string, chance: Chance): string {
  if (schema.format === 'uuid') return '01890000-0000-7000-8000-000000000001';
  if (schema.format === 'date-time' || /At$|^from$|^to$/.test(name)) {
    return chance.pick(['2026-03-05T12:00:00.000Z', '2030-01-31T23:59:59Z', '1772711000', '2026-03-05']);
  }
  if (schema.format === 'email' || /mail|address/i.test(name)) return 'ops@shop.example';
  if (/url/i.test(name)) return 'https://shop.example/{{A}}?b=c';
  if (/fields|metrics|include/i.test(name)) return 'availability,responseTime_p95';
  const length = Math.max(schema.minLength ?? 0, 3);
  return 'abc-1'.repeat(Math.ceil(length / 5)).slice(0, Math.max(length, 3));
}

export type Components = { [name: string]: Schema };

/** A value that matches the schema; optional fields are sometimes omitted. */
export function fitting(
  schema: Schema,
  options: { chance: Chance; components: Components; name?: string; depth?: number },
): unknown {
  const { chance, components, name = '', depth = 0 } = options;
  const inner = (next: Schema, field = name): unknown =>
    fitting(next, { chance, components, name: field, depth: depth + 1 });
  if (depth > 12) return null;
  if (schema.$ref !== undefined) return inner(components[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined && choices.length > 0) return inner(chance.pick(choices));
  if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map((part) => inner(part)));
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined && schema.enum.length > 0) return chance.pick(schema.enum);
  if (schema.default !== undefined && chance.is(0.3)) return schema.default;
  switch (chance.pick([schema.type ?? 'string'].flat())) {
    case 'null':
      return null;
    case 'boolean':
      return chance.is(0.5);
    case 'integer':
    case 'number': {
      const low = schema.minimum ?? 0;
      const high = schema.maximum ?? low + 1000;
      return chance.pick([low, high, Math.round(low + chance.next() * (high - low))]);
    }
    case 'array': {
      const length = Math.max(schema.minItems ?? 0, chance.pick([0, 1, 1, 2]));
      return Array.from({ length }, () => inner(schema.items ?? {}));
    }
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([field]) => schema.required?.includes(field) === true || chance.is(0.4))
          .map(([field, next]) => [field, inner(next, field)]),
      );
    default:
      return fittingText(schema, name, chance);
  }
}

/** The value with one or more of its parts made hostile, removed, or added to. */
export function spoiled(value: unknown, chance: Chance): unknown {
  const copy: unknown = structuredClone(value);
  const places: { holder: { [key: string]: unknown } | unknown[]; key: string | number }[] = [];
  const walk = (item: unknown): void => {
    if (typeof item !== 'object' || item === null) return;
    if (Array.isArray(item)) {
      for (const [key, member] of item.entries()) {
        places.push({ holder: item, key });
        walk(member);
      }
      return;
    }
    const holder = item as { [key: string]: unknown }; // neither null nor a list
    for (const [key, member] of Object.entries(holder)) {
      places.push({ holder, key });
      walk(member);
    }
  };
  walk(copy);
  if (places.length === 0 || chance.is(0.05)) return hostile(chance);
  for (let left = chance.pick([1, 1, 1, 2, 3]); left > 0; left--) {
    const { holder, key } = chance.pick(places);
    const change = chance.next();
    if (Array.isArray(holder)) {
      if (change < 0.8) holder[Number(key)] = hostile(chance);
      else holder.push(...holder);
    } else if (change < 0.75) holder[key] = hostile(chance);
    else if (change < 0.85) delete holder[key];
    else holder[chance.pick(hostileTexts.slice(0, -2))] = hostile(chance);
  }
  return copy;
}
