import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createChance,
  fitting,
  hostile,
  hostileTexts,
  spoiled,
  type Chance,
  type Components,
  type Schema,
} from '../../helpers/fuzz-input.ts';
import { startServiceWithEverything, type Everything } from '../../helpers/service/one-of-everything.ts';
import type { TestService } from '../../helpers/service/service.ts';

/**
 * Every route of the document with inputs made from its schemas: no 5xx, no answer later than 5 s, none that the document does
 * not describe (the test service looks at each). FUZZ_SEED repeats a run; FUZZ_SECONDS or FUZZ_REQUESTS makes it longer.
 */

// oxlint-disable-next-line eslint/no-restricted-properties -- settings of this test
const { FUZZ_SEED, FUZZ_SECONDS, FUZZ_REQUESTS } = process.env;
const seed = Number(FUZZ_SEED ?? 20_260_401);
const minRequests = Number(FUZZ_REQUESTS ?? 0);
const budgetMs = Number(FUZZ_SECONDS ?? (minRequests > 0 ? 0 : 8)) * 1000;
const slowestMs = 5000;
const atOnce = 4;

let service: TestService;
let everything: Everything;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ service, everything, close } = await startServiceWithEverything());
});
afterAll(async () => close());

type Parameter = { name: string; in: string; required?: boolean; schema?: Schema };
type Operation = {
  method: string;
  path: string;
  parameters?: Parameter[];
  requestBody?: { content: { [type: string]: { schema: Schema } } };
};

async function readDocument(): Promise<{ operations: Operation[]; components: Components }> {
  const { body } = await service.call<{
    paths: { [path: string]: { [method: string]: Omit<Operation, 'method' | 'path'> } };
    components: { schemas: Components };
  }>('GET', '/openapi.json');
  // A stream of events does not end.
  const finite = Object.entries(body.paths).filter(([path]) => path !== '/v1/events');
  const operations = finite.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
  return { operations, components: body.components.schemas };
}

/** Half of a surrogate pair cannot be written in a URL. */
const wellFormed = (text: string) => text.replace(/\p{Surrogate}/gu, '\ufffd');

/** As a query string writes it: objects as `name[key]=…`, now and then a name twice. */
function inQuery(name: string, value: unknown, chance: Chance): string[] {
  const text = (item: unknown) =>
    encodeURIComponent(
      wellFormed(typeof item === 'string' ? item : (JSON.stringify(item) ?? '')).slice(0, 300),
    );
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && chance.is(0.8)) {
    return Object.entries(value).map(([key, item]) => `${name}[${text(key)}]=${text(item)}`);
  }
  const one = `${name}=${Array.isArray(value) ? value.slice(0, 20).map(text).join(',') : text(value)}`;
  return chance.is(0.05) ? [one, one] : [one];
}

/** Calls of triggers and long polls wait for runs, which nobody performs here: they are tried with ids that name nothing. */
const waits = ({ path }: Operation) => path.includes('/trigger/') || path.endsWith('/completion');

type Made = { path: string; body?: unknown };

function makeRequest(operation: Operation, components: Components, chance: Chance): Made {
  const isHostile = chance.is(0.85);
  // With wrong ids only, the rest would never be reached.
  const spoilsPath = (isHostile && chance.is(0.2)) || waits(operation);
  const path = spoilsPath
    ? operation.path.replace(/\{[^}]+\}/g, () =>
        encodeURIComponent(wellFormed(chance.pick(hostileTexts)).slice(0, 2000) || 'x'),
      )
    : everything.pathOf(operation.path);
  const query = (operation.parameters ?? [])
    .filter((parameter) => parameter.in === 'query' && (parameter.required === true || chance.is(0.5)))
    .flatMap((parameter) => {
      const value = fitting(parameter.schema ?? {}, { chance, components, name: parameter.name });
      return inQuery(parameter.name, isHostile && chance.is(0.4) ? hostile(chance) : value, chance);
    });
  if (isHostile && chance.is(0.05))
    query.push(`${encodeURIComponent(wellFormed(chance.pick(hostileTexts).slice(0, 30)))}=1`);
  const schema = operation.requestBody?.content['application/json']?.schema;
  const url = query.length > 0 ? `${path}?${query.join('&')}` : path;
  if (schema === undefined) return { path: url };
  const known =
    everything.bodies.get(operation.path) ?? everything.bodies.get(operation.path.replace(/\/\{id\}$/, ''));
  const made = fitting(schema, { chance, components });
  const base =
    known === undefined || chance.is(0.3) ? made : { ...(chance.is(0.5) ? (made as object) : {}), ...known };
  return { path: url, body: isHostile ? spoiled(base, chance) : base };
}

const types = [
  'text/plain',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'application/json;;',
  'application/json, text/plain',
  '/',
];
/** Headers that change how a request is read. */
const headers: readonly { [name: string]: string }[] = [
  { 'x-service-account': "'" },
  { 'x-service-account': 'x'.repeat(2000) },
  { 'content-encoding': 'gzip' },
  { 'content-encoding': 'br' },
  { 'content-encoding': 'gzip, gzip' },
  { accept: 'text/html;q=x, */*;;' },
  { range: 'bytes=9-1, -0' },
  { 'content-range': 'bytes 5-1/0' },
  { 'if-none-match': 'W/"' },
  { 'x-forwarded-for': '::1, x, 999.1.1.1' },
  { 'x-forwarded-proto': 'javascript' },
  { cookie: '__proto__=1; a' },
];

/** The body as other programs and attackers write it: not JSON, doubled fields, deep, large, cut. */
function asText(body: unknown, chance: Chance): string {
  const text = JSON.stringify(body) ?? 'null';
  const isFilled = text.startsWith('{') && text.length > 2;
  return chance.pick([
    () => text.slice(0, Math.floor(text.length * chance.next())),
    () => (isFilled ? `{${text.slice(1, -1)},${text.slice(1)}` : `[${text},${text}]`),
    () => (isFilled ? `${text.slice(0, -1)},"__proto__":{"a":1}}` : text),
    () => (isFilled ? `${text.slice(0, -1)},"x":1e999}` : text),
    () => (isFilled ? `${text.slice(0, -1)},"x":-0.0e-400}` : text),
    () => `\ufeff${text}`,
    () => '{"a":'.repeat(30_000),
    () => `{"name":"${'x'.repeat(2_000_000)}"}`,
    () => `{"tags":[${'"a",'.repeat(25_000)}"a"]}`,
    () => `${' '.repeat(300_000)}${text}`,
    () => '{"name":"\\u0000\\ud800"}',
  ])();
}

/** A DELETE that works would leave the others nothing to work on. */
const spares = (operation: Operation) => operation.method === 'DELETE' || operation.path.endsWith('/cancel');

test(
  'no input makes a route fail, hang, or send an undocumented response',
  { timeout: 60_000 + budgetMs + minRequests * 100 },
  async () => {
    const { operations, components } = await readDocument();
    expect(operations.length).toBeGreaterThan(100);
    const failures: string[] = [];
    const statuses = new Map<string, Set<number>>();
    const end = performance.now() + budgetMs;
    let sent = 0;

    async function sendOne(operation: Operation, chance: Chance): Promise<void> {
      const { path, body } = makeRequest(operation, components, chance);
      if (spares(operation) && path.split('?', 1)[0] === everything.pathOf(operation.path)) return;
      const begun = performance.now();
      const shown = `${operation.method} ${path.slice(0, 300)} ${JSON.stringify(body)?.slice(0, 600) ?? ''}`;
      try {
        // A status without a description, or a body that is not as described, throws.
        const { status } = await service.call(operation.method, path, {
          ...(body === undefined ? {} : { body: chance.is(0.06) ? asText(body, chance) : body }),
          headers: {
            ...(chance.is(0.05) ? chance.pick(headers) : {}),
            ...(body !== undefined && chance.is(0.03) ? { 'content-type': chance.pick(types) } : {}),
          },
          ...(chance.is(0.01) ? { key: chance.pick([null, 'x', "'"]) } : {}),
        });
        if (status >= 500 && status !== 503 && status !== 507) failures.push(`${status}: ${shown}`);
        const name = `${operation.method} ${operation.path}`;
        statuses.set(name, (statuses.get(name) ?? new Set()).add(status));
      } catch (error) {
        failures.push(`${error instanceof Error ? error.message.slice(0, 1500) : String(error)}: ${shown}`);
      }
      const tookMs = performance.now() - begun;
      if (tookMs > slowestMs) failures.push(`${Math.round(tookMs)} ms: ${shown}`);
      sent += 1;
    }

    // Rounds over all routes, so that a slow machine tries each at least once.
    const goesOn = () => sent < minRequests || performance.now() < end;
    for (let round = 0; round === 0 || (goesOn() && failures.length < 20); round++) {
      const queue = operations.entries();
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          for (const [index, operation] of queue) {
            if (round > 0 && !goesOn()) return;
            await sendOne(operation, createChance(seed + round * 1009 + index * 1_000_003));
          }
        }),
      );
    }
    expect(failures, `seed ${seed}, ${sent} requests`).toEqual([]);
    expect(sent).toBeGreaterThanOrEqual(operations.length - 40);
    // The inputs reach what is behind the validation.
    const worked = [...statuses.values()].filter((seen) => [...seen].some((status) => status < 300)).length;
    expect(worked).toBeGreaterThan(40);
  },
);

test('trigger calls respond at once, whatever their parameters contain', async () => {
  const { db } = service;
  // There is nothing to run, so that a call waits for nothing.
  await db.query('update checks set activated = false');
  const names = [
    'deployment',
    'repository',
    'sha',
    'environmentUrl',
    'ENVIRONMENT_URL',
    'environmentName',
    'deploymentId',
    'runLocation',
    '__proto__',
    'a[b]',
    '',
  ];
  const failures: string[] = [];
  const seen = new Set<number>();
  for (let round = 0; round < 120; round++) {
    // More than ten in a minute would be refused before they are looked at.
    if (round % 8 === 0) await db.query('update triggers set minute_calls = 0');
    const chance = createChance(seed + round);
    const path = everything.pathOf(
      `/${chance.is(0.5) ? 'checks' : 'check-groups'}/{id}/trigger/{token}`.replace(
        chance.is(0.1) ? /\{token\}/ : /$/,
        chance.is(0.1) ? 'not-a-token' : '',
      ),
    );
    const query = names
      .filter(() => chance.is(0.3))
      .flatMap((name) => inQuery(encodeURIComponent(name), chance.pick(hostileTexts), chance));
    const begun = performance.now();
    const answer = await fetch(`${service.url}${path}?${query.join('&')}`, {
      method: chance.pick(['GET', 'POST']),
      ...(chance.is(0.2) ? { headers: { 'content-type': 'application/json' } } : {}),
    });
    const text = await answer.text();
    seen.add(answer.status);
    const isKnown = [400, 404, 409, 414, 429, 431].includes(answer.status);
    const isOurs = Object.keys(JSON.parse(text) as object).join() === 'statusCode,error,message,attributes';
    if (!isKnown || !isOurs || performance.now() - begun > slowestMs) {
      failures.push(`${answer.status} ${path}?${query.join('&').slice(0, 300)}: ${text.slice(0, 200)}`);
    }
  }
  expect(failures, `seed ${seed}`).toEqual([]);
  expect([...seen]).toEqual(expect.arrayContaining([400, 409]));
});

test('regression: a status page that is sent back under an invalid id', async () => {
  const path = everything.pathOf('/v1/status-pages/{id}');
  const answer = await service.call('PUT', path, { body: { id: 'abc', url: 'shop' } });
  expect([answer.status, answer.body['id']]).toEqual([200, everything.ids['statusPage']]);
});

test('regression: a window that ends after the year 9999', async () => {
  const path = everything.pathOf('/v1/check-results/{checkId}?from=253402300799');
  expect((await service.call('GET', path)).status).toBe(200);
});
