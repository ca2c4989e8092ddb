import { afterAll, beforeAll, expect, test } from 'vitest';
import { dataCenterLocations, probeTypes, type ProbeType } from '../../../src/protocol/check-types.ts';
import { assertionGrammar } from '../../../src/protocol/assertions.ts';
import { recordTypes } from '../../../src/protocol/requests.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { addShopService, fullFields, minimalBody, minimalRequests } from './check-bodies.ts';

/** What is refused, and with which words: nothing here reaches the storage, so one database is enough. */

let service: TestService;

beforeAll(async () => {
  service = await startTestService(await anyDatabase.open());
  const office = { name: 'Office', slugName: 'office' };
  expect((await service.call('POST', '/v1/private-locations', { body: office })).status).toBe(201);
  await addShopService(service);
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});

async function attributesOf(type: ProbeType, fields: Fields): Promise<unknown> {
  const { status, body } = await service.call('POST', `/v1/checks/${type.toLowerCase()}`, {
    body: minimalBody(type, fields),
  });
  return status === 201 ? 'accepted' : body['attributes'];
}

const request = (type: ProbeType, fields: Fields) => ({ request: { ...minimalRequests[type], ...fields } });
const locationCodes = dataCenterLocations.join(', ');
const text = (length: number) => 'x'.repeat(length);

const refusals: [type: ProbeType, fields: Fields, attributes: { [path: string]: string[] }][] = [
  ['URL', { name: undefined }, { name: ['is required'] }],
  ['URL', { name: '' }, { name: ['must have 1 to 1024 characters'] }],
  ['URL', { name: text(1025) }, { name: ['must have 1 to 1024 characters'] }],
  ['URL', { name: 7 }, { name: ['must be a string'] }],
  ['URL', { name: null }, { name: ['must be a string'] }],
  ['URL', { request: undefined }, { request: ['is required'] }],
  ['URL', { request: 'https://shop.example' }, { request: ['must be an object'] }],
  ['URL', { activated: 'true' }, { activated: ['must be true or false'] }],
  ['URL', { muted: 1 }, { muted: ['must be true or false'] }],
  ['URL', { doubleCheck: null }, { doubleCheck: ['must be true or false'] }],
  ['URL', { shouldFail: 'no' }, { shouldFail: ['must be true or false'] }],
  ['URL', { runParallel: 0 }, { runParallel: ['must be true or false'] }],
  ['URL', { useGlobalAlertSettings: 'x' }, { useGlobalAlertSettings: ['must be true or false'] }],
  ['URL', { locations: ['eu-west-9'] }, { 'locations.0': [`must be one of ${locationCodes}`] }],
  ['URL', { locations: 'eu-west-1' }, { locations: ['must be an array or null'] }],
  ['URL', { locations: ['eu-west-1', 'eu-west-1'] }, { locations: ['must not name the same value twice'] }],
  [
    'URL',
    { locations: [] },
    {
      locations: ['You have to set at least one of locations and privateLocations'],
      privateLocations: ['You have to set at least one of locations and privateLocations'],
    },
  ],
  [
    'DNS',
    { locations: undefined, privateLocations: null },
    {
      locations: ['You have to set at least one of locations and privateLocations'],
      privateLocations: ['You have to set at least one of locations and privateLocations'],
    },
  ],
  [
    'URL',
    { privateLocations: ['office', 'attic'] },
    { 'privateLocations.1': ['names no private location of this account (attic)'] },
  ],
  [
    'URL',
    { triggerIncident: { serviceId: 'shop', name: 'Down' } },
    {
      'triggerIncident.serviceId': [
        'names no service of this account (shop): create it with POST /v1/status-pages/services',
      ],
    },
  ],
  // A data-centre code is no private location, even when it has a row.
  [
    'URL',
    { privateLocations: ['eu-west-1'] },
    { 'privateLocations.0': ['names no private location of this account (eu-west-1)'] },
  ],
  ['URL', { tags: ['ok', 5] }, { 'tags.1': ['must be a string'] }],
  ['URL', { tags: ['ok', ''] }, { 'tags.1': ['must have 1 to 256 characters'] }],
  ['URL', { tags: null }, { tags: ['must be an array'] }],
  ['URL', { groupId: 'a' }, { groupId: ['must be a whole number or null'] }],
  ['URL', { groupOrder: -1 }, { groupOrder: ['must be at least 0'] }],
  ['URL', { groupOrder: '1' }, { groupOrder: ['must be a number or null'] }],
  [
    'URL',
    { runtimeId: '2020.01' },
    {
      runtimeId: ['must be one of 2026.04, 2025.04, 2024.09, 2024.02, 2023.09, 2023.02, 2022.10, null'],
    },
  ],
  ['URL', { description: text(501) }, { description: ['must have at most 500 characters'] }],
  [
    'URL',
    { frequency: 3 },
    { frequency: ['must be one of 0, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440'] },
  ],
  [
    'URL',
    { frequency: '10' },
    {
      frequency: [
        'must be a whole number',
        'must be one of 0, 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440',
      ],
    },
  ],
  ['URL', { frequencyOffset: 0 }, { frequencyOffset: ['must be at least 1'] }],
  ['URL', { frequencyOffset: 1.5 }, { frequencyOffset: ['must be a whole number'] }],
  [
    'URL',
    { frequency: 0 },
    { frequencyOffset: ['must be 10, 20 or 30 (seconds between runs) when frequency is 0'] },
  ],
  [
    'API',
    { frequency: 0, frequencyOffset: 15 },
    { frequencyOffset: ['must be 10, 20 or 30 (seconds between runs) when frequency is 0'] },
  ],
  [
    'URL',
    { frequency: 5, frequencyOffset: 51 },
    { frequencyOffset: ['must be a whole number from 1 to 50 when frequency is 5'] },
  ],
  [
    'URL',
    { frequency: 60, frequencyOffset: 601 },
    { frequencyOffset: ['must be a whole number from 1 to 600 when frequency is 60'] },
  ],
  [
    'URL',
    { frequency: 180, frequencyOffset: 4 },
    { frequencyOffset: ['must be a whole number from 1 to 3 when frequency is 180'] },
  ],
  ['URL', { environmentVariables: [{ value: 'x' }] }, { 'environmentVariables.0.key': ['is required'] }],
  [
    'URL',
    { environmentVariables: Array.from({ length: 101 }, (_, index) => ({ key: `K${index}` })) },
    { environmentVariables: ['must have at most 100 items'] },
  ],
  [
    'URL',
    { environmentVariables: [{ key: 'A' }, { key: 'A' }] },
    { 'environmentVariables.1.key': ['is given twice (A)'] },
  ],
  [
    'URL',
    { environmentVariables: [{ key: 'A', hidden: true }] },
    { 'environmentVariables.0.hidden': ['is not a known field'] },
  ],
  [
    'URL',
    { alertSettings: { escalationType: 'SOMETIMES' } },
    { 'alertSettings.escalationType': ['must be one of RUN_BASED, TIME_BASED'] },
  ],
  [
    'URL',
    { alertSettings: { runBasedEscalation: { failedRunThreshold: 6 } } },
    { 'alertSettings.runBasedEscalation.failedRunThreshold': ['must be one of 1, 2, 3, 4, 5'] },
  ],
  [
    'URL',
    { alertSettings: { timeBasedEscalation: { minutesFailingThreshold: 6 } } },
    { 'alertSettings.timeBasedEscalation.minutesFailingThreshold': ['must be one of 5, 10, 15, 30'] },
  ],
  [
    'URL',
    { alertSettings: { reminders: { amount: 6, interval: 7 } } },
    {
      'alertSettings.reminders.amount': ['must be one of 0, 1, 2, 3, 4, 5, 100000'],
      'alertSettings.reminders.interval': ['must be one of 1, 2, 3, 4, 5, 10, 15, 30'],
    },
  ],
  [
    'URL',
    { alertSettings: { parallelRunFailureThreshold: { percentage: 15 } } },
    {
      'alertSettings.parallelRunFailureThreshold.percentage': [
        'must be one of 10, 20, 30, 40, 50, 60, 70, 80, 90, 100',
      ],
    },
  ],
  [
    'URL',
    { alertChannelSubscriptions: [{ activated: true }] },
    { 'alertChannelSubscriptions.0.alertChannelId': ['is required'] },
  ],
  [
    'URL',
    { retryStrategy: { type: 'NEVER' } },
    { 'retryStrategy.type': ['must be one of FIXED, LINEAR, EXPONENTIAL, SINGLE_RETRY'] },
  ],
  ['URL', { retryStrategy: { maxRetries: 11 } }, { 'retryStrategy.maxRetries': ['must be from 1 to 10'] }],
  ['URL', { retryStrategy: { maxRetries: 0 } }, { 'retryStrategy.maxRetries': ['must be from 1 to 10'] }],
  [
    'URL',
    { retryStrategy: { maxDurationSeconds: 601 } },
    { 'retryStrategy.maxDurationSeconds': ['must be from 0 to 600'] },
  ],
  [
    'URL',
    { retryStrategy: { baseBackoffSeconds: -1 } },
    { 'retryStrategy.baseBackoffSeconds': ['must be from 0 to 3600'] },
  ],
  [
    'URL',
    { retryStrategy: { onlyOn: ['HTTP_ERROR'] } },
    { 'retryStrategy.onlyOn.0': ['must be one of NETWORK_ERROR'] },
  ],
  [
    'TCP',
    { retryStrategy: { onlyOn: ['NETWORK_ERROR'] } },
    { 'retryStrategy.onlyOn': ['is for API and URL checks only'] },
  ],
  [
    'API',
    { retryStrategy: { type: 'SINGLE_RETRY', maxRetries: 2, maxDurationSeconds: 5 } },
    {
      'retryStrategy.maxRetries': ['is not accepted with SINGLE_RETRY'],
      'retryStrategy.maxDurationSeconds': ['is not accepted with SINGLE_RETRY'],
    },
  ],
  [
    'URL',
    { triggerIncident: { description: 'x' } },
    { 'triggerIncident.serviceId': ['is required'], 'triggerIncident.name': ['is required'] },
  ],
  ['URL', { id: 'x' }, { id: ['is not a known field'] }],
  ['URL', { constructor: 1 }, { constructor: ['is not a known field'] }],
  ['URL', { 'a.b': 1 }, { 'a.b': ['is not a known field'] }],
  ['URL', { heartbeat: {} }, { heartbeat: ['is not a known field'] }],
  [
    'URL',
    { name: 'nul \0' },
    { name: ['must not contain the character U+0000 or half of a surrogate pair'] },
  ],
  [
    'URL',
    { tags: ['half \ud83d'] },
    { 'tags.0': ['must not contain the character U+0000 or half of a surrogate pair'] },
  ],
  // URL
  ['URL', request('URL', { url: undefined }), { 'request.url': ['is required'] }],
  ['URL', request('URL', { url: '' }), { 'request.url': ['must have 1 to 2048 characters'] }],
  [
    'URL',
    request('URL', { url: `http://${text(2042)}` }),
    { 'request.url': ['must have 1 to 2048 characters'] },
  ],
  [
    'URL',
    request('URL', { url: 'shop.example' }),
    { 'request.url': ['must begin with http:// or https://'] },
  ],
  ['URL', request('URL', { url: 'http://[' }), { 'request.url': ['is not a URL'] }],
  ['URL', request('URL', { method: 'POST' }), { 'request.method': ['must be one of GET'] }],
  ['URL', request('URL', { headers: [] }), { 'request.headers': ['is not a known field'] }],
  ['URL', request('URL', { ipFamily: 'IPv5' }), { 'request.ipFamily': ['must be one of IPv4, IPv6'] }],
  ['URL', { degradedResponseTime: 30_001 }, { degradedResponseTime: ['must be from 0 to 30000'] }],
  [
    'URL',
    { degradedResponseTime: 2, maxResponseTime: 1 },
    { degradedResponseTime: ['must not be above maxResponseTime (2 is above 1)'] },
  ],
  // API
  [
    'API',
    request('API', { method: 'TRACE' }),
    { 'request.method': ['must be one of GET, POST, PUT, HEAD, DELETE, PATCH, OPTIONS'] },
  ],
  [
    'API',
    request('API', { bodyType: 'XML' }),
    { 'request.bodyType': ['must be one of JSON, FORM, RAW, GRAPHQL, NONE'] },
  ],
  [
    'API',
    request('API', { headers: [{ key: '', value: 1 }] }),
    {
      'request.headers.0.key': ['must have 1 to 1024 characters'],
      'request.headers.0.value': ['must be a string'],
    },
  ],
  [
    'API',
    request('API', { basicAuth: { user: 'x' } }),
    { 'request.basicAuth.user': ['is not a known field'] },
  ],
  ['API', { maxResponseTime: -1 }, { maxResponseTime: ['must be from 0 to 30000'] }],
  // TCP
  ['TCP', { request: { port: 80 } }, { 'request.hostname': ['is required'] }],
  ['TCP', { request: { hostname: 'a' } }, { 'request.port': ['is required'] }],
  ['TCP', request('TCP', { port: 0 }), { 'request.port': ['must be from 1 to 65535'] }],
  ['TCP', request('TCP', { port: 65_536 }), { 'request.port': ['must be from 1 to 65535'] }],
  ['TCP', request('TCP', { port: '80' }), { 'request.port': ['must be a whole number'] }],
  [
    'TCP',
    request('TCP', { hostname: 'tcp://db.example' }),
    { 'request.hostname': ['must be a host name or an IP address, not a URL'] },
  ],
  [
    'TCP',
    request('TCP', { url: 'db.example' }),
    { 'request.url': ['is another name of hostname: give one of the two'] },
  ],
  [
    'TCP',
    request('TCP', { data: 'a', body: 'b' }),
    { 'request.body': ['is another name of data: give one of the two'] },
  ],
  ['TCP', { maxResponseTime: 5001 }, { maxResponseTime: ['must be from 0 to 5000'] }],
  // DNS
  ['DNS', { request: {} }, { 'request.query': ['is required'] }],
  ['DNS', request('DNS', { query: '' }), { 'request.query': ['must have 1 to 253 characters'] }],
  ['DNS', request('DNS', { query: 'a b' }), { 'request.query': ['must not contain spaces'] }],
  [
    'DNS',
    request('DNS', { recordType: 'B' }),
    { 'request.recordType': [`must be one of ${recordTypes.join(', ')}`] },
  ],
  [
    'DNS',
    request('DNS', { protocol: 'QUIC' }),
    { 'request.protocol': ['must be one of UDP, TCP, DOT, DOH'] },
  ],
  ['DNS', request('DNS', { port: 70_000 }), { 'request.port': ['must be from 1 to 65535'] }],
  [
    'DNS',
    request('DNS', { nameServer: 'https://dns.example/dns-query' }),
    { 'request.nameServer': ['must be a host name or an IP address; a URL only with protocol DOH'] },
  ],
  ['DNS', { heartbeat: 'x' }, { heartbeat: ['must be an object'] }],
  ['DNS', { script: 1 }, { script: ['must be a string'] }],
  ['DNS', { sslCheckDomain: null }, { sslCheckDomain: ['must be a string'] }],
  ['DNS', { degradedResponseTime: 5001 }, { degradedResponseTime: ['must be from 0 to 5000'] }],
  ['DNS', { maxResponseTime: -0.1 }, { maxResponseTime: ['must be from 0 to 5000'] }],
  // ICMP
  ['ICMP', request('ICMP', { pingCount: 0 }), { 'request.pingCount': ['must be from 1 to 50'] }],
  ['ICMP', request('ICMP', { pingCount: 51 }), { 'request.pingCount': ['must be from 1 to 50'] }],
  ['ICMP', { degradedPacketLossThreshold: 101 }, { degradedPacketLossThreshold: ['must be from 0 to 100'] }],
  [
    'ICMP',
    { degradedPacketLossThreshold: 21 },
    { degradedPacketLossThreshold: ['must not be above maxPacketLossThreshold (21 is above 20)'] },
  ],
];

test.each(refusals)('%s %j', async (type, fields, attributes) => {
  expect(await attributesOf(type, fields)).toEqual(attributes);
});

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
  [
    'API',
    { source: 'HEADERS', comparison: 'EQUALS', target: 'a' },
    { property: ['must be the name of a header'] },
  ],
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

test('a number that is too large to be one is refused', async () => {
  const body = JSON.stringify(minimalBody('DNS', { heartbeat: { grace: 'HUGE' } }));
  const { status, body: answer } = await service.call('POST', '/v1/checks/dns', {
    body: body.replace('"HUGE"', '1e999').replace('{', '{"groupOrder":0,'),
  });
  expect([status, answer['attributes']]).toEqual([400, { 'heartbeat.grace': ['is too large a number'] }]);
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

test('a body with thousands of wrong fields gets a bounded answer', async () => {
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

test.each(edges)('the edge of what is allowed: %s %j', async (type, fields) => {
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

test('whatever is sent, the answer is 201, or 400 with the fields at fault', async () => {
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
    const answer = await service.call('POST', `/v1/checks/${type.toLowerCase()}`, { body });
    statuses.add(answer.status);
    expect([201, 400], body).toContain(answer.status);
    if (answer.status === 400) expect(Object.keys(answer.body['attributes'] as object), body).not.toEqual([]);
  }
  expect([...statuses].sort((a, b) => a - b)).toEqual([201, 400]);
});
