import { afterAll, beforeAll, expect, test } from 'vitest';
import { mayAct, roles, type Role } from '../../../src/service/http/fields/roles.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/**
 * Every route with the role that it needs. A new route fails the test until it is in the table: choose its role, and set
 * `access` in its config unless its method says it (READ_ONLY for GET, READ_WRITE for others).
 */

const routes: { readonly [R in Role | 'none']: readonly string[] } = {
  none: [
    'GET /health',
    'POST /v1/sign-in',
    'POST /v1/sign-out',
    'GET /v1/badges/checks/{id}',
    'GET /v1/badges/groups/{id}',
    'GET /v1/badges/status-pages/{url}',
    'GET /ping/{token}',
    'POST /ping/{token}',
    'GET /checks/{id}/trigger/{token}',
    'POST /checks/{id}/trigger/{token}',
    'GET /check-groups/{id}/trigger/{token}',
    'POST /check-groups/{id}/trigger/{token}',
  ],
  ADMIN: [
    'POST /v1/private-locations',
    'PUT /v1/private-locations/{id}',
    'DELETE /v1/private-locations/{id}',
    'POST /v1/private-locations/{id}/keys',
    'DELETE /v1/private-locations/{id}/keys/{keyId}',
    'POST /v1/locations/{code}/keys',
    'DELETE /v1/locations/{code}/keys/{keyId}',
    'PUT /v1/accounts/me',
    'GET /v1/api-keys',
    'POST /v1/api-keys',
    'GET /v1/api-keys/{id}',
    'PUT /v1/api-keys/{id}',
    'DELETE /v1/api-keys/{id}',
  ],
  READ_RUN: [
    'POST /v1/checks/heartbeats/{checkId}/events',
    'POST /v1/root-cause-analyses/error-groups/{errorGroupId}',
    'POST /v1/check-sessions/trigger',
    'POST /v1/check-sessions/{checkSessionId}/cancel',
    'POST /v2/check-sessions/trigger',
    'POST /v2/check-sessions/{checkSessionId}/cancel',
    'POST /v1/test-sessions/trigger',
    'POST /v1/test-sessions/{testSessionId}/cancel',
  ],
  READ_WRITE: [
    'GET /v1/resources',
    'GET /v1/playwright-bundles/{key}/content',
    'POST /v1/projects/test',
    'POST /v1/projects/deploy',
    'DELETE /v1/projects/{logicalId}',
    'POST /v1/projects/{logicalId}/deployments/{id}/cancel',
    'POST /v1/alert-notifications/{id}/retry',
    'POST /v1/checks/agentic',
    'PUT /v1/checks/agentic/{id}',
    'POST /v1/checks',
    'PUT /v1/checks/{id}',
    'POST /v1/checks/api',
    'PUT /v1/checks/api/{id}',
    'POST /v1/checks/browser',
    'PUT /v1/checks/browser/{id}',
    'POST /v1/checks/heartbeat',
    'PUT /v1/checks/heartbeat/{id}',
    'POST /v1/checks/icmp',
    'PUT /v1/checks/icmp/{id}',
    'POST /v1/checks/grpc',
    'PUT /v1/checks/grpc/{id}',
    'POST /v1/checks/traceroute',
    'PUT /v1/checks/traceroute/{id}',
    'POST /v1/checks/ssl',
    'PUT /v1/checks/ssl/{id}',
    'POST /v1/checks/multistep',
    'PUT /v1/checks/multistep/{id}',
    'POST /v1/checks/tcp',
    'PUT /v1/checks/tcp/{id}',
    'POST /v1/checks/playwright',
    'PUT /v1/checks/playwright/{id}',
    'POST /v1/checks/url',
    'PUT /v1/checks/url/{id}',
    'POST /v1/checks/dns',
    'PUT /v1/checks/dns/{id}',
    'POST /v1/checks/agentic/try',
    'POST /v1/checks/api/try',
    'POST /v1/checks/browser/try',
    'POST /v1/checks/dns/try',
    'POST /v1/checks/icmp/try',
    'POST /v1/checks/multistep/try',
    'POST /v1/checks/playwright/try',
    'POST /v1/checks/grpc/try',
    'POST /v1/checks/traceroute/try',
    'POST /v1/checks/ssl/try',
    'POST /v1/checks/tcp/try',
    'POST /v1/checks/url/try',
    'DELETE /v1/checks/{id}',
    'POST /v1/triggers/checks/{checkId}',
    'DELETE /v1/triggers/checks/{checkId}',
    'POST /v1/triggers/check-groups/{groupId}',
    'DELETE /v1/triggers/check-groups/{groupId}',
    'POST /v1/playwright-bundles',
    'DELETE /v1/playwright-bundles/{key}',
    'POST /v1/check-groups',
    'PUT /v1/check-groups/{id}',
    'DELETE /v1/check-groups/{id}',
    'POST /v2/check-groups',
    'PUT /v2/check-groups/{id}',
    'DELETE /v2/check-groups/{id}',
    'POST /v1/snippets',
    'PUT /v1/snippets/{id}',
    'DELETE /v1/snippets/{id}',
    'POST /v1/variables',
    'PUT /v1/variables/{key}',
    'DELETE /v1/variables/{key}',
    'POST /v1/client-certificates',
    'PUT /v1/client-certificates/{id}',
    'DELETE /v1/client-certificates/{id}',
    'PATCH /v1/error-groups/{id}',
    'POST /v1/alert-channels',
    'PUT /v1/alert-channels/{id}',
    'DELETE /v1/alert-channels/{id}',
    'POST /v1/alert-channels/{id}/test',
    'PUT /v1/alert-channels/{id}/subscriptions',
    'DELETE /v1/alert-channels/{id}/subscriptions/{subscriptionId}',
    'DELETE /v1/check-sessions/{checkSessionId}',
    'DELETE /v2/check-sessions/{checkSessionId}',
    'DELETE /v1/test-sessions/{testSessionId}',
    'POST /v1/maintenance-windows',
    'PUT /v1/maintenance-windows/{id}',
    'DELETE /v1/maintenance-windows/{id}',
    'POST /v1/maintenance-windows/{id}/occurrences/{occurrenceId}/cancel',
    'POST /v1/maintenance-windows/{id}/occurrences/{occurrenceId}/updates',
    'PUT /v1/maintenance-windows/{id}/occurrences/{occurrenceId}/updates/{updateId}',
    'DELETE /v1/maintenance-windows/{id}/occurrences/{occurrenceId}/updates/{updateId}',
    'POST /v1/status-pages/services',
    'PUT /v1/status-pages/services/{id}',
    'DELETE /v1/status-pages/services/{id}',
    'POST /v1/status-pages/incidents',
    'PUT /v1/status-pages/incidents/{id}',
    'DELETE /v1/status-pages/incidents/{id}',
    'POST /v1/status-pages/incidents/{id}/incident-updates',
    'PUT /v1/status-pages/incidents/{id}/incident-updates/{updateId}',
    'DELETE /v1/status-pages/incidents/{id}/incident-updates/{updateId}',
    'POST /v1/status-pages',
    'PUT /v1/status-pages/{id}',
    'DELETE /v1/status-pages/{id}',
    'POST /v1/status-pages/{id}/subscriptions',
    'DELETE /v1/status-pages/{id}/subscriptions/{subscriptionId}',
    'POST /v1/incidents',
    'PUT /v1/incidents/{id}',
    'DELETE /v1/incidents/{id}',
    'POST /v1/incidents/{id}/updates',
    'PUT /v1/incidents/{id}/updates/{updateId}',
    'DELETE /v1/incidents/{id}/updates/{updateId}',
  ],
  READ_ONLY: [
    'POST /v1/status-pages/previews',
    'GET /v1/status-pages/previews/page',
    'GET /v1/projects',
    'GET /v1/projects/{logicalId}',
    'GET /v1/projects/{logicalId}/deployments',
    'GET /v1/projects/{logicalId}/deployments/{id}',
    'GET /v1/projects/{logicalId}/deployments/{id}/completion',
    'GET /v1/projects/{logicalId}/deployments/{id}/events',
    'GET /v1/checks-overview',
    'GET /v1/checks/{id}/timeline',
    'GET /v1/alert-days',
    'GET /v1/checks/{id}/active-runs',
    'GET /v1/checks/{id}/suite-runs',
    'GET /v1/checks/{id}/suite-tests',
    'GET /v1/maintenance-windows/occurrences',
    'GET /v1/private-locations/{id}/agents',
    'GET /v1/private-locations/{id}/missed-runs',
    'GET /v1/events',
    'GET /v1/checks',
    'GET /v1/checks/{id}',
    'GET /v1/checks/heartbeats/{checkId}/events',
    'GET /v1/checks/heartbeats/{checkId}/events/{id}',
    'GET /v1/checks/heartbeats/{checkId}/availability',
    'GET /v1/triggers/checks',
    'GET /v1/triggers/checks/{checkId}',
    'GET /v1/triggers/check-groups',
    'GET /v1/triggers/check-groups/{groupId}',
    'GET /v1/badges/checks/{id}/url',
    'GET /v1/badges/groups/{id}/url',
    'GET /v1/playwright-bundles',
    'GET /v1/playwright-bundles/{key}',
    'GET /v1/check-groups',
    'GET /v1/check-groups/{id}',
    'GET /v2/check-groups',
    'GET /v2/check-groups/{id}',
    'GET /v1/check-groups/{id}/checks',
    'GET /v1/check-groups/{groupId}/checks/{checkId}',
    'GET /v1/snippets',
    'GET /v1/snippets/{id}',
    'GET /v1/variables',
    'GET /v1/variables/{key}',
    'GET /v1/client-certificates',
    'GET /v1/client-certificates/{id}',
    'GET /v1/runtimes',
    'GET /v1/runtimes/{id}',
    'GET /v1/private-locations',
    'GET /v1/private-locations/{id}',
    'GET /v1/locations',
    'GET /v1/locations/{code}/keys',
    'GET /v1/check-results/{checkId}',
    'GET /v2/check-results/{checkId}',
    'GET /v1/check-results/{checkId}/{checkResultId}',
    'GET /v1/check-results/{checkId}/{checkResultId}/assets',
    'GET /v1/check-results/{checkId}/{checkResultId}/assets/{name}',
    'GET /v1/check-statuses',
    'GET /v1/check-statuses/{checkId}',
    'GET /v1/check-alerts',
    'GET /v1/check-alerts/{checkId}',
    'GET /v1/location-alerts',
    'GET /v1/error-groups/checks/{checkId}',
    'GET /v1/error-groups/{id}',
    'GET /v1/root-cause-analyses/{id}',
    'GET /v1/alert-channels',
    'GET /v1/alert-channels/{id}',
    'GET /v1/alert-channels/{id}/subscriptions',
    'GET /v1/alert-channels/{id}/subscriptions/{subscriptionId}',
    'GET /v1/alert-notifications',
    'GET /v1/alert-notifications/{id}',
    'GET /v1/analytics/agentic-checks/{id}',
    'GET /v1/analytics/api-checks/{id}',
    'GET /v1/analytics/browser-checks/{id}',
    'GET /v1/analytics/heartbeat-checks/{id}',
    'GET /v1/analytics/heartbeat-monitors/{id}',
    'GET /v1/analytics/icmp-checks/{id}',
    'GET /v1/analytics/grpc-checks/{id}',
    'GET /v1/analytics/traceroute/{id}',
    'GET /v1/analytics/ssl/{id}',
    'GET /v1/analytics/icmp-monitors/{id}',
    'GET /v1/analytics/multistep-checks/{id}',
    'GET /v1/analytics/tcp-checks/{id}',
    'GET /v1/analytics/tcp-monitors/{id}',
    'GET /v1/analytics/playwright-checks/{id}',
    'GET /v1/analytics/url-checks/{id}',
    'GET /v1/analytics/url-monitors/{id}',
    'GET /v1/analytics/dns-checks/{id}',
    'GET /v1/analytics/dns-monitors/{id}',
    'POST /v1/analytics/checks',
    'GET /v1/analytics/metrics',
    'GET /v1/reporting',
    'GET /v1/report-days',
    'GET /v1/private-locations/{id}/metrics',
    'GET /v1/metrics',
    'GET /v1/check-sessions',
    'GET /v1/check-sessions/{checkSessionId}',
    'GET /v1/check-sessions/{checkSessionId}/completion',
    'GET /v2/check-sessions',
    'GET /v2/check-sessions/{checkSessionId}',
    'GET /v2/check-sessions/{checkSessionId}/completion',
    'GET /v1/test-sessions',
    'GET /v1/test-sessions/{testSessionId}',
    'GET /v1/test-sessions/{testSessionId}/completion',
    'GET /v1/maintenance-windows',
    'GET /v1/maintenance-windows/{id}',
    'GET /v1/maintenance-windows/{id}/occurrences',
    'GET /v1/maintenance-windows/{id}/occurrences/{occurrenceId}',
    'GET /v1/status-pages/services',
    'GET /v1/status-pages/services/{id}',
    'GET /v1/status-pages/incidents',
    'GET /v1/status-pages/incidents/{id}',
    'GET /v1/status-pages/incidents/{id}/incident-updates',
    'GET /v1/status-pages/incidents/{id}/incident-updates/{updateId}',
    'GET /v1/status-pages',
    'GET /v1/status-pages/{id}',
    'GET /v1/status-pages/{id}/subscriptions',
    'GET /v1/status-pages/{id}/subscriptions/{subscriptionId}',
    'GET /v1/incidents',
    'GET /v1/incidents/{id}',
    'GET /v1/incidents/{id}/updates',
    'GET /v1/incidents/{id}/updates/{updateId}',
    'GET /v1/accounts',
    'GET /v1/accounts/me',
    'GET /v1/me',
  ],
};

let service: TestService;
let documented: { [path: string]: { [method: string]: { 'x-role'?: Role } } };
const keys = new Map<Role, string>();

beforeAll(async () => {
  service = await startTestService(await anyDatabase.open());
  documented = ((await (await fetch(`${service.url}/openapi.json`)).json()) as { paths: typeof documented })
    .paths;
  for (const role of roles) {
    const { body } = await service.call<{ rawKey: string }>('POST', '/v1/api-keys', {
      body: { name: role, role },
    });
    keys.set(role, body.rawKey);
  }
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});

test('the table lists every route', () => {
  const found: { [role: string]: string[] } = {};
  for (const [path, operations] of Object.entries(documented)) {
    for (const [method, operation] of Object.entries(operations)) {
      (found[operation['x-role'] ?? 'none'] ??= []).push(`${method.toUpperCase()} ${path}`);
    }
  }
  const sorted = (lists: { readonly [role: string]: readonly string[] }) =>
    Object.fromEntries(Object.entries(lists).map(([role, names]) => [role, [...names].sort()]));
  expect(sorted(found)).toEqual(sorted(routes));
});

/** The answer to a request that names nothing and has no body, so that it changes nothing. */
async function answer(route: string, key: string) {
  const [method = '', path = ''] = route.split(' ');
  const named = path.replaceAll(/\{\w+\}/g, 'none');
  const response = await fetch(`${service.url}${named}`, {
    method,
    headers: { authorization: `Bearer ${key}` },
  });
  // A stream of events does not end by itself.
  if (response.headers.get('content-type')?.startsWith('text/event-stream') === true) {
    await response.body?.cancel();
    return { status: response.status, text: '' };
  }
  return { status: response.status, text: await response.text() };
}

test.each(roles)(
  'a key of the role %s uses the routes of its role and of those after it, and no others',
  async (role) => {
    const key = keys.get(role) ?? '';
    // Deleted resources and keys would change what the others see; a path without a parameter has no such route.
    for (const needed of roles) {
      for (const route of routes[needed]) {
        const { status, text } = await answer(route, key);
        const isRefused =
          status === 403 && text.includes(`needs an API key with the role ${needed}; yours is ${role}`);
        expect([route, isRefused]).toEqual([route, !mayAct(role, needed)]);
        if (!isRefused) expect([route, status === 401 || status === 403]).toEqual([route, false]);
      }
    }
  },
);

test('a refusal names both roles, in the form of all errors', async () => {
  const refused = await service.call('POST', '/v1/snippets', {
    key: keys.get('READ_RUN') ?? '',
    body: 'not read',
  });
  expect([refused.status, refused.body]).toEqual([
    403,
    {
      statusCode: 403,
      error: 'Forbidden',
      message: 'This request needs an API key with the role READ_WRITE; yours is READ_RUN.',
      attributes: { authorization: ['has the role READ_RUN; this request needs READ_WRITE'] },
    },
  ]);
});

test('HEAD needs what GET needs', async () => {
  const head = async (role: Role) =>
    (
      await fetch(`${service.url}/v1/api-keys`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${keys.get(role) ?? ''}` },
      })
    ).status;
  expect([await head('READ_WRITE'), await head('ADMIN')]).toEqual([403, 200]);
});
