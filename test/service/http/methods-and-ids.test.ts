import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statusFields } from '../../helpers/service/error-body.ts';
import { startServiceWithEverything, type Everything } from '../../helpers/service/one-of-everything.ts';
import type { Fields, TestService } from '../../helpers/service/service.ts';

/** What holds for the path of every route: methods that it lacks, and ids in capitals. */

let service: TestService;
let everything: Everything;
let close: () => Promise<void>;
let paths: { [path: string]: { [method: string]: Fields } };

beforeAll(async () => {
  ({ service, everything, close } = await startServiceWithEverything());
  ({ paths } = (await service.call<{ paths: typeof paths }>('GET', '/openapi.json')).body);
});
afterAll(async () => close());

const send = (method: string, path: string, init: RequestInit = {}) =>
  fetch(`${service.url}${path}`, { method, ...init });

/** Routes of people and browsers, which are not in the document. */
const undocumented = {
  '/': ['GET'],
  '/settings': ['GET'],
  '/docs': ['GET'],
  '/openapi.json': ['GET'],
};
/** Triggers, where a request runs something. */
const withoutHead = /^\/(checks|check-groups)\//;

describe('methods that a path lacks', () => {
  test('405 with the allowed methods on every path; OPTIONS returns them; HEAD is allowed with GET', async () => {
    const described = Object.entries(paths).map(([path, methods]) => ({
      pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
      path,
      methods: Object.keys(methods).map((method) => method.toUpperCase()),
    }));
    const known = [...described.map(({ path }) => everything.pathOf(path)), ...Object.keys(undocumented)];
    expect(known.length).toBeGreaterThan(120);
    for (const path of known) {
      const own: string[] = Object.entries(undocumented).find(([name]) => name === path)?.[1] ?? [];
      const fitting = described.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
      const has = new Set([...own, ...fitting, 'OPTIONS']);
      if (has.has('GET') && !withoutHead.test(path)) has.add('HEAD');
      const allow = [...has].sort().join(', ');
      const options = await send('OPTIONS', path);
      expect([path, options.status, options.headers.get('allow')]).toEqual([path, 204, allow]);
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].filter(
        (name) => !has.has(name),
      )) {
        const answer = await send(method, path);
        expect([path, method, answer.status, answer.headers.get('allow')]).toEqual([
          path,
          method,
          405,
          allow,
        ]);
        if (method === 'HEAD') continue;
        expect(await answer.json()).toEqual({
          ...statusFields(405),
          message: `There is no ${method} ${path}: this path takes ${allow}.`,
          attributes: {},
        });
      }
    }
  });

  test('regardless of the body, the query and the end of the path', async () => {
    for (const [path, init] of [
      ['/v1/checks?limit=1', { body: '{"name":' }],
      ['/v1/checks/', { body: '<x/>', headers: { 'content-type': 'text/xml' } }],
      ['/v1/checks', { body: 'x'.repeat(6_000_000), headers: { 'content-type': 'application/json' } }],
    ] satisfies [string, RequestInit][]) {
      const answer = await send('PATCH', path, init);
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS, POST']);
    }
    expect((await send('PATCH', '/v1/nothing', { body: '{"name":' })).status).toBe(404);
    expect((await send('OPTIONS', '/v1/nothing')).status).toBe(404);
    // There is a route, but no such file.
    const file = await send('GET', '/assets/nothing.js');
    expect([file.status, file.headers.get('allow')]).toEqual([404, null]);
  });
});

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const inCapitals = (text: string) => text.replaceAll(uuid, (id) => id.toUpperCase());

describe('ids in capitals', () => {
  test('name the same in the path of every GET, in the header of the account, and as URNs', async () => {
    const withIds = Object.entries(paths).filter(
      ([path, methods]) => methods['get'] !== undefined && everything.pathOf(path).search(uuid) >= 0,
    );
    expect(withIds.length).toBeGreaterThan(30);
    for (const [path] of withIds) {
      if (/assets\/\{name\}|completion$|trigger\/\{token\}/.test(path)) continue;
      const query = path.startsWith('/v1/analytics/')
        ? '?metrics=availability'
        : path.endsWith('/metrics')
          ? `?from=${Math.floor(service.now() / 1000) - 3600}&to=${Math.floor(service.now() / 1000)}`
          : '';
      const plain = everything.pathOf(path);
      const headers = { 'x-service-account': service.account.id.toUpperCase() };
      const answers = [
        await service.call('GET', `${plain}${query}`),
        await service.call('GET', `${inCapitals(plain)}${query}`, { headers }),
        await service.call('GET', `${plain.replaceAll(uuid, (id) => `urn:uuid:${id}`)}${query}`),
      ];
      expect([path, ...answers.map(({ status }) => status)]).toEqual([path, 200, 200, 200]);
      for (const { body } of answers.slice(1)) {
        expect(Object.keys(body)).toEqual(Object.keys(answers[0]?.body ?? {}));
        expect(body['id']).toBe(answers[0]?.body['id']);
      }
    }
  });

  test.each([
    [
      '/v1/maintenance-windows',
      (ids: Ids) => ({
        statusPageVisibility: { statusPageIds: [ids['statusPage']], serviceIds: [ids['service']] },
      }),
    ],
    ['/v1/status-pages/incidents', () => ({})],
    ['/v1/incidents', () => ({})],
    ['/v1/analytics/checks', () => ({})],
    ['/v2/check-sessions/trigger', () => ({})],
    [
      '/v1/checks/url',
      (ids: Ids) => ({
        triggerIncident: { serviceId: ids['service'], name: 'a', description: 'b', notifySubscribers: false },
      }),
    ],
    [
      '/v1/alert-channels',
      (ids: Ids) => ({ subscriptions: [{ checkId: ids['check/url'], activated: true }] }),
    ],
  ])('in the body of POST %s', async (path, more) => {
    const body = { ...everything.bodies.get(path), ...more(everything.ids) };
    const capitals = JSON.parse(inCapitals(JSON.stringify(body))) as Fields; // the same form
    expect(capitals).not.toEqual(body);
    const answers = [
      await service.call('POST', everything.pathOf(path), { body }),
      await service.call('POST', everything.pathOf(path), { body: capitals }),
    ];
    const [first, second] = answers.map(({ status, body: answer }) => [status, idsGiven(answer)]);
    expect(second).toEqual(first);
    expect(answers[0]?.status).toBeLessThan(300);
  });

  test('in a query; a name that looks like an id is not changed', async () => {
    const check = everything.ids['check/url'] ?? '';
    const alerts = (id: string) => service.call<Fields[]>('GET', `/v1/alert-notifications?checkId=${id}`);
    expect((await alerts(check.toUpperCase())).body).toEqual((await alerts(check)).body);
    expect((await alerts(check.toUpperCase())).body).toHaveLength(1);
    const page = (nextId: string) =>
      service.call('GET', `/v1/status-pages/services?limit=1&nextId=${nextId}`);
    const id = everything.ids['service'] ?? '';
    expect((await page(id.toUpperCase())).body).toEqual((await page(id)).body);

    const name = check.toUpperCase();
    const environmentVariables = [{ key: 'ID', value: name, locked: false, secret: false }];
    const made = await service.call('POST', '/v1/checks/url', {
      body: {
        name,
        tags: [name],
        locations: ['eu-west-1'],
        request: { url: 'https://shop.example/' },
        environmentVariables,
      },
    });
    expect(made.body).toMatchObject({ name, tags: [name], environmentVariables });
    const target = { checkId: [everything.ids['check/url']] };
    const session = await service.call('POST', '/v1/test-sessions/trigger', {
      body: { name: 'x', target, metadata: { commitId: name } },
    });
    const read = await service.call('GET', `/v1/test-sessions/${String(session.body['testSessionId'])}`);
    expect(read.body['metadata']).toMatchObject({ commitId: name });
  });
});

type Ids = Everything['ids'];

/** Ids of ours that an answer repeats, wherever they stand. */
function idsGiven(answer: unknown): string[] {
  const given = new Set(Object.values(everything.ids));
  return [...JSON.stringify(answer).matchAll(uuid)].map(([id]) => id).filter((id) => given.has(id));
}
