import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statusFields } from '../../helpers/service/error-body.ts';
import { startServiceWithEverything, type Everything } from '../../helpers/service/one-of-everything.ts';
import type { Fields, TestService } from '../../helpers/service/service.ts';
import { browserInFull, browserPath, channelConfigs, dns, dnsPath, limits } from './specification-limits.ts';
import { frequencies, runtimeIds } from './specification-rows.ts';

/** Every limit and every sentence of the specification about what an endpoint takes and does, asked of a running service. */

let service: TestService;
let everything: Everything;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ service, everything, close } = await startServiceWithEverything());
});
afterAll(async () => close());

test.each(limits)('%s: %s %s', async (_what, method, path, body, status, field) => {
  const [named = '', query] = path.split('?', 2);
  const url = query === undefined ? everything.pathOf(named) : `${everything.pathOf(named)}?${query}`;
  const answer = await service.call<Fields | null>(method, url, body === undefined ? {} : { body });
  expect([answer.status, answer.status === status ? null : answer.body]).toEqual([status, null]);
  if (field === undefined) return;
  expect(answer.body).toEqual({
    ...statusFields(status),
    message: expect.stringMatching(/^[A-Z0-9a-z].*[^.]\.$/) as unknown,
    attributes: expect.objectContaining({ [field]: [expect.any(String)] }) as unknown,
  });
});

describe('documented limits of endpoints', () => {
  const subscribers = async (body: Fields, query: string) => {
    const answer = await service.call<{ alertChannelSubscriptions: Fields[] }>('POST', `${dnsPath}${query}`, {
      body,
    });
    expect(answer.status).toBe(201);
    return answer.body.alertChannelSubscriptions;
  };
  test('a new check is subscribed to all channels by default', async () => {
    const channel = { alertChannelId: Number(everything.ids['alertChannel']), activated: true };
    expect(await subscribers(dns(), '')).toEqual([channel]);
    expect(await subscribers(dns(), '?autoAssignAlerts=true')).toEqual([channel]);
    expect(await subscribers(dns(), '?autoAssignAlerts=false')).toEqual([]);
  });

  test('a DNS check keeps all fields it was sent, including heartbeat and script', async () => {
    const request = {
      query: 'shop.example',
      nameServer: '192.0.2.53',
      port: 5353,
      protocol: 'TCP',
      assertions: [{ source: 'RESPONSE_TIME', comparison: 'LESS_THAN', target: '100' }],
    };
    const sent = dns({ request, heartbeat: { grace: 3 }, script: 'x', sslCheckDomain: 'shop.example' });
    const made = await service.call<Fields & { id: string }>('POST', dnsPath, { body: sent });
    const { locations: _locations, ...rest } = sent;
    expect(made.body).toMatchObject({ ...rest, checkType: 'DNS', frequency: 10, updated_at: null });
    expect((await service.call('GET', `/v1/checks/${made.body.id}`)).body).toMatchObject(rest);
  });

  test('a check of a group is returned with the group settings on request', async () => {
    const group = { name: 'Slow', runParallel: true, locations: ['us-east-1'] };
    const { body: made } = await service.call('POST', '/v2/check-groups', { body: group });
    const groupId = Number(made['id']);
    const { body: check } = await service.call('POST', dnsPath, { body: dns({ groupId }) });
    const read = async (path: string) => {
      const { body } = await service.call<Fields | Fields[]>('GET', path);
      const [one = {}] = [body].flat();
      return [one['id'], one['checkType'], one['locations'], one['runParallel']];
    };
    const id = String(check['id']);
    const own = [id, 'DNS', ['eu-west-1'], false];
    const applied = [id, 'DNS', ['us-east-1'], true];
    expect(await read(`/v1/checks/${id}`)).toEqual(own);
    expect(await read(`/v1/checks/${id}?applyGroupSettings=false`)).toEqual(own);
    expect(await read(`/v1/checks/${id}?applyGroupSettings=true`)).toEqual(applied);
    expect(await read(`/v1/check-groups/${groupId}/checks`)).toEqual(applied);
    expect(await read(`/v1/check-groups/${groupId}/checks/${id}`)).toEqual(applied);
  });

  test('every frequency, location and runtime of the specification', async () => {
    const set = async (type: string, change: Fields) => {
      const path = everything.pathOf(`/v1/checks/${type}/{id}`);
      const { status, body } = await service.call('PUT', path, { body: change });
      expect([status, body]).toEqual([200, expect.objectContaining(change)]);
    };
    await set('dns', { frequency: 0, frequencyOffset: 10 });
    for (const frequency of frequencies) {
      await set('dns', { frequency, frequencyOffset: 1 });
      await set('browser', { frequency, frequencyOffset: 1 });
    }
    for (const runtimeId of [...runtimeIds, null]) {
      await set('browser', { runtimeId });
    }
    const { body } = await service.call<{ code: string }[]>('GET', '/v1/locations');
    expect(body).toHaveLength(22);
    await set('dns', { locations: body.map(({ code }) => code) });
  });

  test('a browser check keeps all fields it was sent, except secrets', async () => {
    const { group = '', service: serviceId = '' } = everything.ids;
    const sent = browserInFull({ groupId: Number(group), serviceId });
    const created = await service.call<Fields & { id: string }>('POST', browserPath, { body: sent });
    const { body: read } = await service.call(
      'GET',
      `/v1/checks/${created.body.id}?includeDependencies=true`,
    );
    const variablesShown = [
      { key: 'SHOWN', value: 'a', locked: true, secret: false },
      { key: 'HIDDEN', value: '', locked: false, secret: true },
    ];
    for (const check of [created.body, read]) {
      expect(check).toMatchObject({ ...sent, environmentVariables: variablesShown, checkType: 'BROWSER' });
      expect(JSON.stringify(check)).not.toContain('not to be seen');
    }
  });

  test('a check shows its subscribed channels', async () => {
    const subscriptions: Fields[] = [];
    for (const [type, config] of Object.entries(channelConfigs)) {
      const { status, body } = await service.call('POST', '/v1/alert-channels', { body: { type, config } });
      const flags = { sslExpiry: false, sslExpiryThreshold: 30, autoSubscribe: false, subscriptions: [] };
      expect([status, body]).toEqual([201, expect.objectContaining({ type, ...flags })]);
      subscriptions.push({ alertChannelId: body['id'], activated: true });
    }
    const { body } = await service.call<Fields & { id: string }>(
      'POST',
      `${dnsPath}?autoAssignAlerts=false`,
      {
        body: dns({ alertChannelSubscriptions: subscriptions }),
      },
    );
    expect(body['alertChannels']).toEqual({
      email: [channelConfigs['EMAIL']],
      webhook: [channelConfigs['WEBHOOK']],
      chat_a: [channelConfigs['CHAT_A']],
      sms: [channelConfigs['SMS']],
    });
    // The specification's words for a subscription: of a check or of a group.
    const path = `/v1/alert-channels/${String(subscriptions[0]?.['alertChannelId'])}/subscriptions`;
    for (const [sent, expected] of [
      [
        { checkId: body.id, activated: false },
        { checkId: body.id, groupId: null, activated: false },
      ],
      [
        { groupId: Number(everything.ids['group']), activated: true },
        { checkId: null, groupId: 1, activated: true },
      ],
    ]) {
      const answer = await service.call('PUT', path, { body: sent });
      expect([answer.status, answer.body]).toEqual([
        200,
        expect.objectContaining({ ...expected, id: expect.any(Number) as number }),
      ]);
      expect((await service.call('PUT', path, { body: answer.body })).body).toEqual(answer.body);
    }
    for (const { alertChannelId } of subscriptions) {
      expect((await service.call('DELETE', `/v1/alert-channels/${String(alertChannelId)}`)).status).toBe(204);
    }
  });

  test('a check of any type is retrieved by its id', async () => {
    const types = new Set<unknown>();
    for (const [name, id] of Object.entries(everything.ids)) {
      if (!name.startsWith('check/')) continue;
      const { status, body } = await service.call(
        'GET',
        `/v1/checks/${id}?includeDependencies=true&applyGroupSettings=true`,
      );
      expect([status, body['id']]).toEqual([200, id]);
      types.add(body['checkType']);
    }
    expect(types).toEqual(
      new Set(
        'AGENTIC API BROWSER HEARTBEAT ICMP MULTI_STEP TCP PLAYWRIGHT URL DNS SSL GRPC TRACEROUTE'.split(' '),
      ),
    );
  });

  test('lists have pages of ten, that of services of twenty', { timeout: 60_000 }, async () => {
    const { body: group } = await service.call('POST', '/v2/check-groups', { body: { name: 'Large' } });
    const groupId = Number(group['id']);
    for (let n = 0; n < 11; n++)
      await service.call('POST', dnsPath, { body: dns({ groupId, groupOrder: n }) });
    for (let n = 0; n < 20; n++)
      await service.call('POST', '/v1/status-pages/services', { body: { name: `S${n}` } });
    const list = async (path: string) => (await service.call<Fields[]>('GET', path)).body;
    const members = `/v1/check-groups/${groupId}/checks`;
    const first = await list(members);
    expect(first.map((check) => check['groupOrder'])).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await list(`${members}?page=2`)).toHaveLength(1);
    expect(await list(`${members}?page=3`)).toEqual([]);
    expect(await list(`${members}?limit=11`)).toHaveLength(11);
    type Page = { length: number; entries: { id: string; name: string }[]; nextId: string | null };
    const services = async (query: string) =>
      (await service.call<Page>('GET', `/v1/status-pages/services${query}`)).body;
    const all = await services('?paginated=false&limit=1');
    expect([all.length > 20, all.length, all.nextId]).toEqual([true, all.entries.length, null]);
    const usual = await services('');
    expect([usual.length, usual.entries]).toEqual([20, all.entries.slice(0, 20)]);
    expect((await services(`?nextId=${usual.nextId}`)).entries).toEqual(all.entries.slice(20));
    expect((await services('?paginated=true&limit=1')).length).toBe(1);
  });

  test('every range and every metric of a multi-step check', async () => {
    const path = everything.pathOf('/v1/analytics/multistep-checks/{id}');
    type Analytics = Fields & { from: string; to: string; metadata: { [metric: string]: { label: string } } };
    const ask = async (query: string) => {
      const { status, body } = await service.call<Analytics>('GET', `${path}?${query}`);
      expect([query, status]).toEqual([query, 200]);
      return body;
    };
    const aggregations = ['avg', 'max', 'median', 'min', 'p50', 'p90', 'p95', 'p99', 'stddev', 'sum'];
    const metrics = [
      'responseTime',
      'availability',
      'retries',
      ...aggregations.map((name) => `responseTime_${name}`),
    ];
    for (const metric of metrics)
      expect(Object.keys((await ask(`metrics=${metric}`)).metadata)).toEqual([metric]);
    const several = metrics.slice(1);
    const whole = await ask(`metrics=${several.join(',')}&limit=7&page=2`);
    expect(whole).toMatchObject({
      checkId: everything.ids['check/multistep'],
      name: 'A check',
      checkType: 'MULTI_STEP',
      activated: true,
      muted: false,
      frequency: 10,
      tags: ['shop'],
      series: expect.any(Array) as unknown,
      pagination: { page: 2, limit: 7 },
      metadata: Object.fromEntries(
        several.map((metric) => [metric, { label: expect.any(String) as string }]),
      ),
    });
    const hours = ({ from, to }: Analytics) => (Date.parse(to) - Date.parse(from)) / 3_600_000;
    expect(hours(await ask('metrics=availability'))).toBe(24);
    for (const [range, least, most] of [
      ['last24Hours', 24, 24],
      ['last7Days', 168, 168],
      ['last30Days', 720, 720],
      ['thisWeek', 0, 168],
      ['thisMonth', 0, 744],
      ['lastWeek', 168, 168],
      ['lastMonth', 672, 744],
    ] as const) {
      const found = hours(await ask(`metrics=availability&quickRange=${range}`));
      expect([range, found >= least && found <= most]).toEqual([range, true]);
    }
    const own = await ask('metrics=availability&quickRange=last30Days&from=1700000000&to=1700003600');
    expect([own.from, own.to]).toEqual(['2023-11-14T22:13:20.000Z', '2023-11-14T23:13:20.000Z']);
  });

  test('a trigger of a check is read and deleted', async () => {
    const path = everything
      .pathOf('/v1/triggers/checks/{checkId}')
      .replace(/[^/]+$/, everything.ids['check/tcp'] ?? '');
    expect((await service.call('GET', path)).status).toBe(404);
    const made = await service.call('POST', path);
    expect((await service.call('GET', path)).body).toEqual(made.body);
    expect(made.body).toMatchObject({
      checkId: everything.ids['check/tcp'],
      called_at: null,
      updated_at: null,
    });
    expect([
      (await service.call('DELETE', path)).status,
      (await service.call('DELETE', path)).status,
    ]).toEqual([204, 404]);
  });

  test('of an incident the first update, or all of them', async () => {
    const path = everything.pathOf('/v1/incidents/{id}');
    const updates = async (query: string) =>
      (await service.call<{ incidentUpdates: Fields[] }>('GET', `${path}${query}`)).body.incidentUpdates
        .length;
    expect(await updates('')).toBe(1);
    expect(await updates('?includeAllIncidentUpdates=false')).toBe(1);
    expect(await updates('?includeAllIncidentUpdates=true')).toBe(2);
  });

  test('an analysis is pending after it is requested', async () => {
    const path = everything.pathOf('/v1/root-cause-analyses/error-groups/{errorGroupId}');
    for (const body of [{}, { userContext: null }, { userContext: '' }]) {
      const answer = await service.call('POST', path, { body });
      expect([answer.status, answer.body]).toEqual([202, { id: expect.any(String), status: 'PENDING' }]);
    }
  });

  test('the account is that of the key, which the header may name', async () => {
    const ask = async (headers: Record<string, string>, key?: string | null) =>
      (await service.call('GET', '/v1/accounts/me', { headers, ...(key === undefined ? {} : { key }) }))
        .status;
    expect(await ask({})).toBe(200);
    expect(await ask({ 'x-service-account': service.account.id })).toBe(200);
    expect(await ask({ 'x-service-account': service.foreign.id })).toBe(403);
    expect(await ask({}, null)).toBe(401);
    expect(await ask({ authorization: service.account.key }, null)).toBe(401);
  });
});

describe('rules for every resource', () => {
  type Operations = { [method: string]: { parameters?: { name: string; in: string }[]; responses: Fields } };
  let paths: { [path: string]: Operations };
  beforeAll(async () => {
    ({ paths } = (await service.call<{ paths: typeof paths }>('GET', '/openapi.json')).body);
  });
  const ofApi = () => Object.entries(paths).filter(([path]) => /^\/v[12]\//.test(path));

  test('a resource that is read can be sent back, and nothing changes', { timeout: 60_000 }, async () => {
    const both = ofApi().filter(([, { get, put }]) => get !== undefined && put !== undefined);
    expect(both.length).toBeGreaterThan(14);
    const pairs = both.map(([path]) => [path, everything.pathOf(path)]);
    for (const type of Object.keys(paths).filter((path) => /^\/v1\/checks\/[a-z]+\/\{id\}$/.test(path))) {
      pairs.push([
        `${everything.pathOf(type).replace(/\/[a-z]+\/(?=[^/]+$)/, '/')}?includeDependencies=true`,
        everything.pathOf(type),
      ]);
    }
    for (const [from = '', to = ''] of pairs) {
      const source = from.includes('{') ? to : from;
      const read = async () => {
        // Lists of subscriptions are no resource that is sent back as a whole.
        const { status, body } = await service.call<Fields>('GET', source);
        expect([source, status]).toEqual([source, 200]);
        const { updated_at: _updatedAt, lastUsedAt: _lastUsedAt, ...rest } = body;
        return rest;
      };
      if (from.endsWith('/subscriptions')) continue;
      const before = await read();
      const sent = await service.call('PUT', to, { body: { ...before, updated_at: null } });
      expect([to, sent.status, sent.status === 200 ? null : sent.body]).toEqual([to, 200, null]);
      expect(await read()).toEqual(before);
    }
  });

  test('every resource that can be created can be changed and deleted', () => {
    // Keys and tokens are replaced, never changed; what has happened stays as it was.
    const unchanging =
      /keys|triggers|playwright-bundles|sessions|\{id\}\/subscriptions$|alert-channels\/\{id\}\/test|heartbeats|root-cause|analytics/;
    const created = ofApi().filter(
      ([path, { post }]) =>
        post !== undefined && !/(trigger|cancel|test|retry|deploy|try|previews)$/.test(path),
    );
    expect(created.length).toBeGreaterThan(25);
    for (const [path] of created) {
      if (/heartbeats|root-cause|analytics|check-sessions|sign-/.test(path)) continue;
      const parts = Object.entries(paths).filter(
        ([other]) => other === path || other.replace(/\/\{[^}]+\}$/, '') === path,
      );
      const methods = new Set(parts.flatMap(([, operations]) => Object.keys(operations)));
      // One DELETE serves the checks of every type.
      if (/^\/v1\/checks(\/[a-z]+)?$/.test(path)) methods.add('delete');
      expect([path, methods.has('delete')]).toEqual([path, true]);
      if (!unchanging.test(path)) expect([path, methods.has('put')]).toEqual([path, true]);
    }
  });

  test('every list takes 1 to 100, and no parameter that it does not have', async () => {
    for (const [path, { get }] of ofApi()) {
      // Badges are images, and scrapers of metrics have parameters of their own.
      if (get === undefined || path === '/v1/metrics') continue;
      const url = everything.pathOf(path);
      const ask = async (query: string) => service.call<Fields>('GET', `${url}?${query}`);
      const unknown = await ask('colour=red');
      expect([path, unknown.status, unknown.body['attributes']]).toEqual([
        path,
        400,
        expect.objectContaining({ colour: ['is not a known field'] }),
      ]);
      if (get.parameters?.some(({ name }) => name === 'limit') !== true) continue;
      const needed = path.startsWith('/v1/analytics/') ? 'metrics=availability&' : '';
      for (const bad of ['0', '101', '1&limit=2']) {
        const { status, body } = await ask(`${needed}limit=${bad}`);
        expect([path, bad, status, Object.keys((body['attributes'] ?? {}) as Fields)]).toEqual([
          path,
          bad,
          400,
          ['limit'],
        ]);
      }
      expect([path, (await ask(`${needed}limit=1`)).status]).toEqual([path, 200]);
    }
  });
});
