import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServiceWithEverything, type Everything } from '../../helpers/service/one-of-everything.ts';
import type { Fields, TestService } from '../../helpers/service/service.ts';

/** One account never sees another's data: every route of the document, tried with a key of another account. */

let service: TestService;
let everything: Everything;
let close: () => Promise<void>;
let operations: { method: string; path: string }[];

beforeAll(async () => {
  ({ service, everything, close } = await startServiceWithEverything());
  const { body } = await service.call<{ paths: { [path: string]: object } }>('GET', '/openapi.json');
  operations = Object.entries(body.paths)
    // A stream of events does not end; events.test.ts has this test for it.
    .filter(([path]) => /^\/v[12]\//.test(path) && path !== '/v1/events')
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    );
});
afterAll(async () => close());

/** What all accounts have: runtimes and data centres. */
const shared = ['/v1/runtimes/{id}', '/v1/locations/{code}/keys', '/v1/badges/status-pages/{url}'];

/** All rows of the first account, except columns that change with time. */
async function contents(): Promise<{ [table: string]: string }> {
  const { db, account } = service;
  const tables = await db.query<{ name: string }>(
    `select c.table_name as name from information_schema.columns c
     join information_schema.tables t on t.table_schema = c.table_schema and t.table_name = c.table_name
     where c.table_schema = 'public' and c.column_name = 'account_id' and t.table_type = 'BASE TABLE' order by 1`,
  );
  const found: { [table: string]: string } = {};
  for (const { name } of tables) {
    const rows = await db.query<{ text: string }>(
      `select r::text as text from ${name} r where account_id = $1 order by 1`,
      [account.id],
    );
    found[name] = rows.map(({ text }) => text).join('\n');
  }
  return found;
}

/** Ids and texts of the first account that no answer to the second may hold. */
const telling = () =>
  Object.entries(everything.ids)
    .filter(([name, id]) => id.length > 12 && !['location', 'runtime', 'asset'].includes(name))
    .map(([, id]) => id);

describe('a key of another account', () => {
  test('the account has one of everything: reading each with its own key works', async () => {
    for (const { method, path } of operations.filter(
      ({ method, path }) =>
        method === 'GET' && path.includes('{') && !/assets\/\{name\}|completion$/.test(path),
    )) {
      const { status } = await service.call('GET', withQuery(everything.pathOf(path)));
      expect([method, path, status]).toEqual([method, path, 200]);
    }
  });

  test('finds, changes and deletes nothing', async () => {
    const before = await contents();
    expect(Object.values(before).filter((rows) => rows !== '').length).toBeGreaterThan(20);
    for (const { method, path } of operations.filter((operation) => operation.path.includes('{'))) {
      if (shared.includes(path)) continue;
      const body = bodyFor(method, path);
      const answer = await service.call(method, withQuery(everything.pathOf(path)), {
        key: service.foreign.key,
        ...(body === undefined ? {} : { body }),
      });
      expect([method, path, answer.status, answer.body['message']]).toEqual([
        method,
        path,
        404,
        expect.any(String),
      ]);
    }
    expect(await contents()).toEqual(before);
  });

  test('sees no preview', async () => {
    const body = everything.bodies.get('/v1/status-pages') ?? {};
    const made = await service.call<{ url: string }>('POST', '/v1/status-pages/previews', { body });
    expect(made.status).toBe(201);
    expect((await service.call('GET', made.body.url)).status).toBe(200);
    expect((await service.call('GET', made.body.url, { key: service.foreign.key })).status).toBe(404);
  });

  test('lists nothing', async () => {
    const lists = operations.filter(({ method, path }) => method === 'GET' && !/\{|previews/.test(path));
    for (const { path } of lists) {
      const { status, body } = await service.call<Fields | Fields[] | string>('GET', withQuery(path), {
        key: service.foreign.key,
      });
      expect([path, status]).toEqual([path, 200]);
      const text = JSON.stringify(body);
      for (const id of telling()) expect(text, path).not.toContain(id);
      if (isOfAll(path) || typeof body === 'string') continue;
      if (Array.isArray(body)) expect([path, body]).toEqual([path, []]);
      else if ('entries' in body) expect([path, body['entries']]).toEqual([path, []]);
    }
  });

  test('cannot refer to resources of another account', async () => {
    const before = await contents();
    const { ids } = everything;
    const at = { name: 'Mine', locations: ['eu-west-1'], request: { url: 'https://mine.example/' } };
    const api = { ...at, request: { url: 'https://mine.example/' } };
    const update = { status: 'INVESTIGATING', description: 'x' };
    const cases: [path: string, body: Fields, field: RegExp][] = [
      ['/v1/checks/url', { ...at, groupId: Number(ids['group']) }, /^groupId$/],
      ['/v1/checks/url', { ...at, privateLocations: ['office'] }, /^privateLocations/],
      ['/v1/checks/api', { ...api, setupSnippetId: Number(ids['snippet']) }, /^setupSnippetId$/],
      ['/v1/checks/api', { ...api, tearDownSnippetId: Number(ids['snippet']) }, /^tearDownSnippetId$/],
      [
        '/v1/checks/url',
        {
          ...at,
          alertChannelSubscriptions: [{ alertChannelId: Number(ids['alertChannel']), activated: true }],
        },
        /^alertChannelSubscriptions/,
      ],
      [
        '/v1/checks/url',
        { ...at, triggerIncident: { serviceId: ids['service'], name: 'x', description: 'x' } },
        /^triggerIncident/,
      ],
      [
        '/v1/checks/playwright',
        { name: 'x', locations: ['eu-west-1'], codeBundlePath: ids['bundle'] },
        /^codeBundlePath$/,
      ],
      ['/v2/check-groups', { name: 'Mine', privateLocations: ['office'] }, /^privateLocations/],
      ['/v2/check-groups', { name: 'Mine', setupSnippetId: Number(ids['snippet']) }, /^setupSnippetId$/],
      [
        '/v1/status-pages',
        { name: 'x', url: 'mine', cards: [{ name: 'x', services: [{ serviceId: ids['service'] }] }] },
        /^cards/,
      ],
      [
        '/v1/status-pages/incidents',
        { name: 'x', severity: 'MINOR', services: [{ id: ids['service'] }], incidentUpdates: [update] },
        /^services/,
      ],
      [
        '/v1/incidents',
        { name: 'x', severity: 'MINOR', dashboardId: ids['statusPage'], incidentUpdates: [update] },
        /^dashboardId$/,
      ],
    ];
    for (const [path, body, field] of cases) {
      const answer = await service.call<{ attributes: Fields }>('POST', path, {
        key: service.foreign.key,
        body,
      });
      expect([path, field, answer.status]).toEqual([path, field, 400]);
      expect(Object.keys(answer.body.attributes)).toEqual([expect.stringMatching(field)]);
    }
    for (const path of [
      '/v1/check-sessions/trigger',
      '/v2/check-sessions/trigger',
      '/v1/test-sessions/trigger',
    ]) {
      const target = { checkId: [ids['check/url']] };
      const body = path.includes('test') ? { name: 'x', target } : { target };
      const answer = await service.call('POST', path, { key: service.foreign.key, body });
      expect([path, answer.status]).toEqual([path, 404]);
    }
    const batch = await service.call('POST', '/v1/analytics/checks', {
      key: service.foreign.key,
      body: { ...everything.bodies.get('/v1/analytics/checks') },
    });
    expect(batch.status).toBe(404);
    expect(await contents()).toEqual(before);
  });

  test('can use any name: names are unique within an account only', async () => {
    for (const path of [
      '/v1/private-locations',
      '/v1/snippets',
      '/v1/variables',
      '/v1/client-certificates',
    ]) {
      const body = everything.bodies.get(path);
      if (body === undefined) continue;
      const answer = await service.call('POST', path, { key: service.foreign.key, body });
      expect([path, answer.status]).toEqual([path, 201]);
      // Other tests list what this account has.
      const made = `${path}/${String(answer.body['id'] ?? answer.body['key'])}`;
      expect((await service.call('DELETE', made, { key: service.foreign.key })).status).toBe(204);
    }
  });
});

/** What a list of every account holds. */
function isOfAll(path: string): boolean {
  return ['/v1/accounts', '/v1/analytics/metrics', '/v1/api-keys', '/v1/locations', '/v1/runtimes'].includes(
    path,
  );
}

/** Required query parameters; a long poll that does not wait. */
function withQuery(path: string): string {
  if (/\/analytics\/([a-z]+-|ssl\/|traceroute\/)/.test(path)) return `${path}?metrics=availability`;
  if (path.endsWith('/metrics') && path.includes('private-locations')) {
    const now = Math.floor(service.now() / 1000);
    return `${path}?from=${now - 3600}&to=${now}`;
  }
  if (path.endsWith('/completion')) return `${path}?maxWaitSeconds=1`;
  return path;
}

/** A body that the account of the path may send: only the id is wrong. */
function bodyFor(method: string, path: string): Fields | undefined {
  if (method === 'POST') return everything.bodies.get(path);
  if (method === 'PATCH') return { archivedUntilNextEvent: true };
  if (method !== 'PUT') return undefined;
  if (path.endsWith('/subscriptions')) return { checkId: everything.ids['check/url'], activated: false };
  if (path.startsWith('/v1/variables/')) return { locked: true };
  if (/\/updates\/|incident-updates\//.test(path)) return { description: 'Changed' };
  if (path.startsWith('/v1/client-certificates/')) return { host: 'changed.example' };
  return path.startsWith('/v1/alert-channels/') ? { sendFailure: false } : { name: 'Changed' };
}
