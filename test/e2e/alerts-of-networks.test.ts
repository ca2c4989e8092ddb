import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTargets, type Targets } from '../../src/targets/targets.ts';
import { startReceiver, type Receiver } from '../helpers/service/notification-targets.ts';
import { until } from './program.ts';
import { startWholeWay, type WholeWay } from './whole-way.ts';

/**
 * Alerts about SSL, GRPC and TRACEROUTE checks, from real runs to a webhook: each variable that docs/notifications.md
 * documents is in the template.
 */

type Result = {
  id: string;
  startedAt: string;
  responseTime: number;
  reason: { code: string; message: string };
  details: { daysUntilExpiry?: number };
};

const page = readFileSync(join(import.meta.dirname, '../../docs/notifications.md'), 'utf8');
/** The names in the first column of the table; those that begin with an underscore continue the first of their row. */
const rows = page.slice(page.indexOf('| variable ')).split('\n\n', 1)[0] ?? '';
const variables = rows
  .split('\n')
  .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name))
  .map((name) => (name.startsWith('_') ? `AI_ANALYSIS${name}` : name));

let way: WholeWay;
let targets: Targets;
let receiver: Receiver;
let groupId: number;

beforeAll(async () => {
  targets = await startTargets();
  receiver = await startReceiver();
  way = await startWholeWay({ authority: targets.caCertificate, agentEnv: {} });
  const template = JSON.stringify(Object.fromEntries(variables.map((name) => [name, `{{${name}}}`])));
  const config = { name: 'Hook', url: `${receiver.url}/`, template };
  expect(await way.api('POST', '/v1/alert-channels', { type: 'WEBHOOK', config })).toMatchObject({
    status: 201,
  });
  const group = await way.api<{ id: number }>('POST', '/v2/check-groups', {
    name: 'Networks',
    privateLocations: [way.keys.locationSlug],
  });
  expect(group.status).toBe(201);
  groupId = group.body.id;
}, 180_000);
afterAll(async () => {
  await way.close();
  await receiver.close();
  await targets.close();
});

const cases = [
  {
    type: 'SSL',
    path: 'ssl',
    request: () => ({ sslConfig: { hostname: '127.0.0.1', port: targets.ports.expired } }),
    error: /expired/,
    domain: '127.0.0.1',
  },
  {
    type: 'GRPC',
    path: 'grpc',
    request: () => ({
      url: '127.0.0.1',
      port: targets.ports.grpc,
      grpcConfig: { mode: 'HEALTH', tls: false, service: 'closed' },
    }),
    error: /NOT_SERVING/,
    domain: '',
  },
  {
    type: 'TRACEROUTE',
    path: 'traceroute',
    request: () => ({
      url: '127.0.0.1',
      protocol: 'UDP',
      ptrLookup: false,
      assertions: [{ source: 'HOP_COUNT', property: '', comparison: 'GREATER_THAN', target: '5' }],
    }),
    error: /HOP_COUNT|hop count|hops/i,
    domain: '',
  },
] as const;

test('the page documents variables', () => {
  expect(variables).toEqual(expect.arrayContaining(['ALERT_TITLE', 'IS_LATE', 'AI_ANALYSIS_LINK']));
  expect(variables).toHaveLength(27);
});

test.each(cases)(
  '$type',
  async ({ type, path, request, error, domain }) => {
    const created = await way.api<{ id: string }>('POST', `/v1/checks/${path}`, {
      name: `${type} of <the shop>`,
      description: 'From "outside"',
      tags: ['team:shop', 'net'],
      groupId,
      privateLocations: [way.keys.locationSlug],
      frequency: 1440,
      request: request(),
    });
    expect([created.status, created.body]).toEqual([201, expect.anything()]);
    const { id } = created.body;
    const target = { checkId: [id] };
    expect(await way.api('POST', '/v1/check-sessions/trigger', { target })).toMatchObject({ status: 201 });
    const { result } = await way.finalResult<Result>(id);
    expect(result.reason.message).toMatch(error);
    // The certificate of the sample target expired ten days before the target started.
    if (type === 'SSL') expect([-10, -11]).toContain(result.details.daysUntilExpiry);
    const sent = await until(
      () => receiver.received.find(({ body }) => body.includes(id)),
      `an alert about ${type}`,
    );
    expect(JSON.parse(sent.body)).toEqual({
      ALERT_TITLE: `Check "${type} of <the shop>" has failed`,
      ALERT_TYPE: 'ALERT_FAILURE',
      CHECK_NAME: `${type} of <the shop>`,
      CHECK_ID: id,
      CHECK_TYPE: type,
      CHECK_DESCRIPTION: 'From "outside"',
      GROUP_NAME: 'Networks',
      CHECK_RESULT_ID: result.id,
      RESULT_LINK: `${way.base}/checks/${id}/runs/${result.id}`,
      RUN_LOCATION: expect.stringMatching(/./) as string,
      REGION: way.keys.locationSlug,
      RESPONSE_TIME: String(result.responseTime),
      STARTED_AT: result.startedAt,
      TAGS: 'team:shop,net',
      CHECK_ERROR_MESSAGE: result.reason.message,
      API_CHECK_RESPONSE_STATUS_CODE: '',
      API_CHECK_RESPONSE_STATUS_TEXT: '',
      SSL_DAYS_REMAINING: String(result.details.daysUntilExpiry ?? ''),
      SSL_CHECK_DOMAIN: domain,
      IS_REMINDER: 'false',
      REMINDER_SEQUENCE: '0',
      IS_LATE: 'false',
      AI_ANALYSIS_CLASSIFICATION: '',
      AI_ANALYSIS_ROOT_CAUSE: '',
      AI_ANALYSIS_USER_IMPACT: '',
      AI_ANALYSIS_CODE_FIX: '',
      AI_ANALYSIS_LINK: '',
    });
  },
  60_000,
);
