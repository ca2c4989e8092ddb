import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServiceWithEverything, type Everything } from '../../helpers/one-of-everything.ts';
import type { Fields, TestService } from '../../helpers/service.ts';

/** Every limit and every sentence of the specification about what an endpoint takes and does, asked of a running service. */

let service: TestService;
let everything: Everything;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ service, everything, close } = await startServiceWithEverything());
});
afterAll(async () => close());

const dns = (fields: Fields = {}): Fields => ({
  name: 'Name',
  locations: ['eu-west-1'],
  request: { query: 'shop.example' },
  heartbeat: {},
  script: '',
  ...fields,
});
const browser = (fields: Fields = {}): Fields => ({
  name: 'Page',
  locations: ['eu-west-1'],
  script: 'import "x"',
  ...fields,
});
const variables = (count: number) => Array.from({ length: count }, (_, n) => ({ key: `V${n}`, value: '' }));

type Limit = [
  what: string,
  method: string,
  path: string,
  body: Fields | undefined,
  status: number,
  field?: string,
];
const dnsPath = '/v1/checks/dns';
const browserPath = '/v1/checks/browser';
const multistep = '/v1/analytics/multistep-checks/{id}?metrics=availability';
const window = (query: string) => `/v1/maintenance-windows?${query}`;

const limits: Limit[] = [
  ['a description of 500', 'POST', dnsPath, dns({ description: 'x'.repeat(500) }), 201],
  ['a description of 501', 'POST', dnsPath, dns({ description: 'x'.repeat(501) }), 400, 'description'],
  ['no description', 'POST', dnsPath, dns({ description: null }), 201],
  ['100 variables', 'POST', browserPath, browser({ environmentVariables: variables(100) }), 201],
  [
    '101 variables',
    'POST',
    browserPath,
    browser({ environmentVariables: variables(101) }),
    400,
    'environmentVariables',
  ],
  ['degraded at 0', 'POST', dnsPath, dns({ degradedResponseTime: 0, maxResponseTime: 5000 }), 201],
  ['degraded below 0', 'POST', dnsPath, dns({ degradedResponseTime: -1 }), 400, 'degradedResponseTime'],
  ['failed above 5000', 'POST', dnsPath, dns({ maxResponseTime: 5001 }), 400, 'maxResponseTime'],
  ['no limits', 'POST', dnsPath, dns({ degradedResponseTime: null, maxResponseTime: null }), 201],
  ['a place in the group of 0', 'POST', dnsPath, dns({ groupOrder: 0 }), 201],
  ['a place in the group below 0', 'POST', dnsPath, dns({ groupOrder: -1 }), 400, 'groupOrder'],
  ['every 20 seconds', 'POST', dnsPath, dns({ frequency: 0, frequencyOffset: 20 }), 201],
  ['every 15 seconds', 'POST', dnsPath, dns({ frequency: 0, frequencyOffset: 15 }), 400, 'frequencyOffset'],
  ['an offset of 10 × 1', 'POST', dnsPath, dns({ frequency: 1, frequencyOffset: 10 }), 201],
  ['above it', 'POST', dnsPath, dns({ frequency: 1, frequencyOffset: 11 }), 400, 'frequencyOffset'],
  ['an offset of 10 × 60', 'POST', dnsPath, dns({ frequency: 60, frequencyOffset: 600 }), 201],
  ['above that', 'POST', dnsPath, dns({ frequency: 60, frequencyOffset: 601 }), 400, 'frequencyOffset'],
  ['an offset of 120 / 60', 'POST', dnsPath, dns({ frequency: 120, frequencyOffset: 2 }), 201],
  ['above that, too', 'POST', dnsPath, dns({ frequency: 120, frequencyOffset: 3 }), 400, 'frequencyOffset'],
  ['an offset of 0', 'POST', dnsPath, dns({ frequencyOffset: 0 }), 400, 'frequencyOffset'],
  ['a minute that is none', 'POST', dnsPath, dns({ frequency: 7 }), 400, 'frequency'],
  ['a browser every few seconds', 'POST', browserPath, browser({ frequency: 0 }), 400, 'frequency'],
  ['a browser each minute', 'POST', browserPath, browser({ frequency: 1 }), 201],
  ['a browser without a script', 'POST', browserPath, { name: 'x', locations: ['eu-west-1'] }, 400, 'script'],
  ['a name server without a query', 'POST', dnsPath, dns({ request: {} }), 400, 'request.query'],
  [
    'an expiry of 0 days',
    'PUT',
    '/v1/alert-channels/{id}',
    { sslExpiryThreshold: 0 },
    400,
    'sslExpiryThreshold',
  ],
  ['of 1 day', 'PUT', '/v1/alert-channels/{id}', { sslExpiryThreshold: 1 }, 200],
  ['of 30 days', 'PUT', '/v1/alert-channels/{id}', { sslExpiryThreshold: 30 }, 200],
  ['of 31 days', 'PUT', '/v1/alert-channels/{id}', { sslExpiryThreshold: 31 }, 400, 'sslExpiryThreshold'],
  ['a channel without a config', 'POST', '/v1/alert-channels', { type: 'EMAIL' }, 400, 'config'],
  [
    'a subscription of a check and a group',
    'PUT',
    '/v1/alert-channels/{id}/subscriptions',
    { activated: true, checkId: 'x', groupId: 1 },
    400,
    'checkId',
  ],
  ['of neither', 'PUT', '/v1/alert-channels/{id}/subscriptions', { activated: true }, 400, 'checkId'],
  [
    'one that does not say whether it is active',
    'PUT',
    '/v1/alert-channels/{id}/subscriptions',
    { groupId: 1 },
    400,
    'activated',
  ],
  ['a list of none', 'GET', '/v1/check-groups/{id}/checks?limit=0', undefined, 400, 'limit'],
  ['a list of 101', 'GET', '/v1/check-groups/{id}/checks?limit=101', undefined, 400, 'limit'],
  ['a list of 100', 'GET', '/v1/check-groups/{id}/checks?limit=100&page=1', undefined, 200],
  ['services, 100 at once', 'GET', '/v1/status-pages/services?limit=100&paginated=false', undefined, 200],
  ['services, 101 at once', 'GET', '/v1/status-pages/services?limit=101', undefined, 400, 'limit'],
  [
    'windows by their beginning',
    'GET',
    window('startsAt[gte]=2026-01-01&endsAt[lt]=2027-01-01'),
    undefined,
    200,
  ],
  ['windows by no comparison', 'GET', window('startsAt[above]=2026-01-01'), undefined, 400, 'startsAt.above'],
  ['an interval of 1 minute', 'GET', `${multistep}&aggregationInterval=1`, undefined, 200],
  ['of none', 'GET', `${multistep}&aggregationInterval=0`, undefined, 400, 'aggregationInterval'],
  ['of 43200', 'GET', `${multistep}&aggregationInterval=43200`, undefined, 200],
  ['of 43201', 'GET', `${multistep}&aggregationInterval=43201`, undefined, 400, 'aggregationInterval'],
  ['no metric', 'GET', multistep.split('?', 1)[0] ?? '', undefined, 400, 'metrics'],
  ['a metric that is none', 'GET', multistep.replace('availability', 'moon'), undefined, 400, 'metrics.0'],
  ['the status of failures', 'GET', `${multistep}&filterByStatus=failure`, undefined, 200],
  ['by the place', 'GET', `${multistep}&groupBy=runLocation`, undefined, 200],
  ['by something else', 'GET', `${multistep}&groupBy=moon`, undefined, 400, 'groupBy'],
  [
    'a context of 256',
    'POST',
    '/v1/root-cause-analyses/error-groups/{errorGroupId}',
    { userContext: 'x'.repeat(256) },
    202,
  ],
  [
    'a context of 257',
    'POST',
    '/v1/root-cause-analyses/error-groups/{errorGroupId}',
    { userContext: 'x'.repeat(257) },
    400,
    'userContext',
  ],
  [
    'no run to cancel',
    'POST',
    '/v1/check-sessions/{checkSessionId}/cancel',
    { sequenceId: [] },
    400,
    'sequenceId',
  ],
  ['all runs', 'POST', '/v1/check-sessions/{checkSessionId}/cancel', undefined, 204],
  [
    'an unknown session',
    'POST',
    '/v1/check-sessions/0196e0d4-0000-7000-8000-000000000000/cancel',
    undefined,
    404,
    'checkSessionId',
  ],
  ['a service', 'POST', '/v1/status-pages/services', { name: 'Another' }, 200],
  ['a service without a name', 'POST', '/v1/status-pages/services', {}, 400, 'name'],
];

test.each(limits)('%s: %s %s', async (_what, method, path, body, status, field) => {
  const [named = '', query] = path.split('?', 2);
  const url = query === undefined ? everything.pathOf(named) : `${everything.pathOf(named)}?${query}`;
  const answer = await service.call<Fields | null>(method, url, body === undefined ? {} : { body });
  expect([answer.status, answer.status === status ? null : answer.body]).toEqual([status, null]);
  if (field === undefined) return;
  expect(answer.body).toEqual({
    message: expect.stringMatching(/^[A-Z0-9a-z].*\.$/) as unknown,
    attributes: expect.objectContaining({ [field]: [expect.any(String)] }) as unknown,
  });
});

describe('what is said of endpoints', () => {
  const subscribers = async (body: Fields, query: string) => {
    const answer = await service.call<{ alertChannelSubscriptions: Fields[] }>('POST', `${dnsPath}${query}`, {
      body,
    });
    expect(answer.status).toBe(201);
    return answer.body.alertChannelSubscriptions;
  };
  test('a new check is subscribed to all channels unless told otherwise', async () => {
    const channel = { alertChannelId: Number(everything.ids['alertChannel']), activated: true };
    expect(await subscribers(dns(), '')).toEqual([channel]);
    expect(await subscribers(dns(), '?autoAssignAlerts=true')).toEqual([channel]);
    expect(await subscribers(dns(), '?autoAssignAlerts=false')).toEqual([]);
  });

  test('a DNS check keeps what it was sent, heartbeat and script, too', async () => {
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

  test('a check of a group is read with the settings of the group when that is asked for', async () => {
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

  test('of an incident the first update, or all of them', async () => {
    const path = everything.pathOf('/v1/incidents/{id}');
    const updates = async (query: string) =>
      (await service.call<{ incidentUpdates: Fields[] }>('GET', `${path}${query}`)).body.incidentUpdates
        .length;
    expect(await updates('')).toBe(1);
    expect(await updates('?includeAllIncidentUpdates=false')).toBe(1);
    expect(await updates('?includeAllIncidentUpdates=true')).toBe(2);
  });

  test('an analysis is pending when it is asked for', async () => {
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
