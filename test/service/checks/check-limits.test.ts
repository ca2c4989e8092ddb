import { expect, test } from 'vitest';
import { assertionGrammar } from '../../../src/protocol/assertions.ts';
import { dataCenterLocations, probeTypes, type ProbeType } from '../../../src/protocol/check-types.ts';
import { recordTypes } from '../../../src/protocol/requests.ts';
import type { Fields } from '../../helpers/service/service.ts';
import { fullFields, minimalBody, minimalRequests } from './check-bodies.ts';
import { request, text, validationBench } from './validation-bench.ts';

/** Assertions that are refused, bodies that are too large, values at their limits, and random bodies. */

const bench = validationBench();
const { attributesOf } = bench;

const assertionRefusals: [type: ProbeType, assertion: Fields, attributes: { [field: string]: string[] }][] = [
  ['URL', {}, { source: ['is required'], comparison: ['is required'] }],
  ['API', { source: 'STATUS_CODE', comparison: 'EQUALS', target: 200 }, { target: ['must be a string'] }],
  [
    'API',
    { source: 'STATUS_CODE', comparison: 'LESS_THAN', target: 'many' },
    { target: ['must be a number with LESS_THAN'] },
  ],
  [
    'API',
    { source: 'JSON_BODY', comparison: 'NOT_NULL', property: 'a.b' },
    { property: ['must be a JSONPath, which begins with $'] },
  ],
  [
    'API',
    { source: 'TEXT_BODY', comparison: 'NOT_EMPTY', property: '(' },
    { property: ['is not a regular expression'] },
  ],
  ['API', { source: 'HEADERS', comparison: 'EQUALS', target: 'a' }, { property: ['must be a header name'] }],
  [
    'API',
    { source: 'HEADERS', comparison: 'EQUALS', property: 'a', regex: '[' },
    { regex: ['is not a regular expression'] },
  ],
  [
    'ICMP',
    { source: 'LATENCY', comparison: 'LESS_THAN', target: '5', property: 'median' },
    { property: ['must be one of avg, min, max, stdDev'] },
  ],
];

test.each(assertionRefusals)('assertion of %s %j', async (type, assertion, attributes) => {
  const valid = { source: assertionGrammar[type].sources[0], comparison: 'EQUALS', property: 'avg' };
  const first = type === 'ICMP' ? valid : { ...valid, property: '' };
  expect(await attributesOf(type, request(type, { assertions: [first, assertion] }))).toEqual(
    Object.fromEntries(
      Object.entries(attributes).map(([field, reasons]) => [`request.assertions.1.${field}`, reasons]),
    ),
  );
});

test('a number that is not finite is refused', async () => {
  const body = JSON.stringify(minimalBody('DNS', { heartbeat: { grace: 'HUGE' } }));
  const { status, body: answer } = await bench.service.call('POST', '/v1/checks/dns', {
    body: body.replace('"HUGE"', '1e999').replace('{', '{"groupOrder":0,'),
  });
  expect([status, answer['attributes']]).toEqual([
    400,
    { 'heartbeat.grace': ['is a number that is too large'] },
  ]);
});

test.each(probeTypes)('%s: an unknown source or comparison lists the known ones', async (type) => {
  const assertions = [{ source: 'MOON', comparison: 'ROUGHLY' }];
  expect(await attributesOf(type, request(type, { assertions }))).toEqual({
    'request.assertions.0.source': [`must be one of ${assertionGrammar[type].sources.join(', ')}`],
    'request.assertions.0.comparison': [`must be one of ${assertionGrammar[type].comparisons.join(', ')}`],
  });
});

test('every wrong field is named at once', async () => {
  const wrong = {
    name: 5,
    locations: ['mars'],
    frequency: 4,
    foo: 1,
    request: { url: 5, bar: 2, assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', baz: 3 }] },
  };
  const attributes = await attributesOf('URL', wrong);
  expect(Object.keys(attributes as object).sort()).toEqual([
    'foo',
    'frequency',
    'locations.0',
    'name',
    'request.assertions.0.baz',
    'request.bar',
    'request.url',
  ]);
});

test('a body with thousands of wrong fields gets a limited response', async () => {
  const fields = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`field${index}`, index]));
  const attributes = await attributesOf('URL', fields);
  expect(Object.keys(attributes as object)).toHaveLength(100);
  const tooMany = { assertions: Array.from({ length: 20_001 }, () => 1) };
  expect(await attributesOf('URL', request('URL', tooMany))).toEqual({
    body: ['must not hold more than 20000 values'],
  });
  let deep: unknown = 1;
  for (let depth = 0; depth < 1000; depth += 1) deep = [deep];
  expect(await attributesOf('DNS', { heartbeat: { deep } })).toEqual({
    body: ['must not be nested deeper than 20 levels'],
  });
});

const edges: [ProbeType, Fields][] = [
  ['URL', { name: text(1024), description: text(500) }],
  ['URL', { frequency: 0, frequencyOffset: 10 }],
  ['API', { frequency: 0, frequencyOffset: 20 }],
  ['TCP', { frequency: 0, frequencyOffset: 30 }],
  ['DNS', { frequency: 0, frequencyOffset: 10 }],
  ['ICMP', { frequency: 0, frequencyOffset: 10 }],
  ['URL', { frequency: 60, frequencyOffset: 600 }],
  ['URL', { frequency: 1440, frequencyOffset: 24 }],
  ['URL', { locations: [...dataCenterLocations] }],
  ['URL', { groupOrder: 0 }],
  ['DNS', { degradedResponseTime: 0, maxResponseTime: 0 }],
  ['DNS', { degradedResponseTime: 5000, maxResponseTime: 5000 }],
  ['DNS', { degradedResponseTime: 5000, maxResponseTime: null }],
  ['API', { degradedResponseTime: 30_000, maxResponseTime: 30_000 }],
  ['ICMP', { degradedPacketLossThreshold: 0, maxPacketLossThreshold: 0 }],
  ['ICMP', { degradedPacketLossThreshold: 100, maxPacketLossThreshold: 100 }],
  [
    'API',
    request('API', {
      url: '{{BASE}}/x',
      assertions: [{ source: 'STATUS_CODE', comparison: 'LESS_THAN', target: '{{LIMIT}}' }],
    }),
  ],
  ['TCP', request('TCP', { hostname: '{{HOST}}' })],
  ['URL', { environmentVariables: Array.from({ length: 100 }, (_, index) => ({ key: `K${index}` })) }],
  ['URL', { name: 'Zürich 東京 🚀' }],
];

test.each(edges)('accepts values at the limit: %s %j', async (type, fields) => {
  expect(await attributesOf(type, fields)).toBe('accepted');
});

test.each(recordTypes)('record type %s', async (recordType) => {
  expect(await attributesOf('DNS', request('DNS', { recordType }))).toBe('accepted');
});

/** A generator of numbers from 0 to 1 that gives the same ones in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const strangers: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  1e300,
  Number.MAX_SAFE_INTEGER + 2,
  '',
  'x',
  '\u0000',
  '\udc00',
  '{{',
  '$[',
  '(?<',
  [],
  [[]],
  [null],
  {},
  { value: 1 },
  { length: 3 },
  'eu-west-1',
];

/** `value` with about one in `rarity` of its members replaced, left out or doubled. */
function mutated(value: unknown, random: () => number, rarity: number): unknown {
  const pick = () => strangers[Math.floor(random() * strangers.length)];
  if (random() < 1 / rarity) return pick();
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => mutated(item, random, rarity));
    return random() < 1 / rarity ? [...items, ...items, pick()] : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(() => random() > 1 / rarity)
      .map(([key, member]) => [key, mutated(member, random, rarity)]),
  );
}

test('random bodies get 201, or 400 with the wrong fields', async () => {
  const random = seeded(20_260_304);
  const statuses = new Set<number>();
  for (let round = 0; round < 400; round += 1) {
    const type = probeTypes[round % probeTypes.length] ?? 'URL';
    const assertion = { source: assertionGrammar[type].sources[0], comparison: 'EQUALS', target: '1' };
    const whole = minimalBody(type, {
      ...fullFields,
      request: { ...minimalRequests[type], assertions: [{ ...assertion, property: 'avg' }] },
      ...(round % 2 === 0 ? { heartbeat: { a: { b: [1] } } } : {}),
    });
    const body = JSON.stringify(mutated(whole, random, round % 3 === 0 ? 60 : 25));
    const answer = await bench.service.call('POST', `/v1/checks/${type.toLowerCase()}`, { body });
    statuses.add(answer.status);
    expect([201, 400], body).toContain(answer.status);
    if (answer.status === 400) expect(Object.keys(answer.body['attributes'] as object), body).not.toEqual([]);
  }
  expect([...statuses].sort((a, b) => a - b)).toEqual([201, 400]);
});
