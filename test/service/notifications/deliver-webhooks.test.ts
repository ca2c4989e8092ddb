import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  checkId,
  notificationBench,
  resultId,
  startedAt,
  time,
} from '../../helpers/service/notification-bench.ts';

/** Webhooks: the request that a channel’s settings make of an alert. */

const bench = notificationBench();
const { receiver, createChannel, raise, log, allTries } = bench;

test('WEBHOOK: a call rendered from templates, signed and dated, with the configured headers', async () => {
  const target = await receiver();
  const template =
    '{"title": "{{ALERT_TITLE}}", "error": "{{CHECK_ERROR_MESSAGE}}", "in": "{{RUN_LOCATION}} ({{REGION}})"}';
  const id = await createChannel('WEBHOOK', {
    name: 'Hook',
    url: `${target.url}/{{CHECK_TYPE}}?name={{CHECK_NAME}}`,
    method: 'PUT',
    template,
    headers: [{ key: 'X-Own', value: 'mine', locked: true }],
    queryParameters: [{ key: 'a b', value: 'c&d', locked: false }],
    webhookSecret: 'signing secret',
  });
  const alert = await raise(id);
  await bench.background.tick();
  const [got] = target.received;
  expect(target.received).toHaveLength(1);
  expect(got?.method).toBe('PUT');
  expect(new URL(got!.path, target.url).pathname).toBe('/API');
  expect([...new URL(got!.path, target.url).searchParams]).toEqual([
    ['name', 'Shop "front"'],
    ['a b', 'c&d'],
  ]);
  expect(JSON.parse(got!.body)).toEqual({
    title: 'Check "Shop "front"" has failed',
    error: 'expected 200\nbut was 503 <here>',
    in: 'Ireland (eu-west-1)',
  });
  const [logged] = await log();
  expect(got?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-own': 'mine',
    'x-service-timestamp': String(time),
    'x-service-delivery': logged!['id'],
    'x-service-signature': createHmac('sha256', 'signing secret').update(got!.body).digest('hex'),
  });
  expect(logged).toEqual({
    id: expect.any(String),
    type: 'WEBHOOK',
    status: 'SUCCESS',
    alertChannelId: id,
    alertId: alert.id,
    alertType: 'ALERT_FAILURE',
    checkId,
    alertConfig: {
      name: 'Hook',
      url: `${target.url}/{{CHECK_TYPE}}?name={{CHECK_NAME}}`,
      method: 'PUT',
      webhookType: null,
    },
    notificationResult: 'HTTP 200: ok',
    attempts: 1,
    timestamp: new Date(time).toISOString(),
    created_at: new Date(time).toISOString(),
    updated_at: new Date(time).toISOString(),
  });
  expect((await bench.service.call('GET', `/v1/alert-notifications/${String(logged!['id'])}`)).body).toEqual(
    logged,
  );
});

test('WEBHOOK: every variable of an alert, of the account and of the group', async () => {
  const target = await receiver((request, response) => response.end(`thanks for ${request.body}`));
  const names =
    'ALERT_TITLE ALERT_TYPE CHECK_NAME CHECK_ID CHECK_TYPE CHECK_DESCRIPTION GROUP_NAME CHECK_RESULT_ID RESULT_LINK RUN_LOCATION REGION RESPONSE_TIME STARTED_AT TAGS CHECK_ERROR_MESSAGE API_CHECK_RESPONSE_STATUS_CODE API_CHECK_RESPONSE_STATUS_TEXT SSL_DAYS_REMAINING SSL_CHECK_DOMAIN IS_REMINDER REMINDER_SEQUENCE IS_LATE AI_ANALYSIS_CLASSIFICATION AI_ANALYSIS_ROOT_CAUSE AI_ANALYSIS_USER_IMPACT AI_ANALYSIS_CODE_FIX AI_ANALYSIS_LINK PLACE TOKEN'.split(
      ' ',
    );
  const template = names.map((name) => `${name}={{{${name}}}}`).join('\n');
  const id = await createChannel('WEBHOOK', { url: target.url, template });
  await bench.service.call('POST', '/v1/variables', { body: { key: 'PLACE', value: 'global' } });
  await bench.service.call('POST', '/v1/variables', {
    body: { key: 'TOKEN', value: 'very-hidden-token', secret: true },
  });
  await bench.service.call('POST', '/v1/variables', { body: { key: 'CHECK_NAME', value: 'not this' } });
  const group = await bench.service.call('POST', '/v2/check-groups', {
    body: { name: 'Shop', environmentVariables: [{ key: 'PLACE', value: 'group' }] },
  });
  const groupId = Number(group.body['id']);
  await raise(id, { groupId, groupName: 'Shop' });
  await bench.background.tick();
  const rows = () =>
    Object.fromEntries(
      target.received
        .at(-1)!
        .body.replace('expected 200\n', 'expected 200 ')
        .split('\n')
        .map((line) => /^([A-Z_]+)=([^]*)$/.exec(line)?.slice(1) ?? ['', '']),
    ) as { [name: string]: string };
  expect(rows()).toEqual({
    ALERT_TITLE: 'Check "Shop "front"" has failed',
    ALERT_TYPE: 'ALERT_FAILURE',
    CHECK_NAME: 'Shop "front"',
    CHECK_ID: checkId,
    CHECK_TYPE: 'API',
    CHECK_DESCRIPTION: 'The <b>front</b>',
    GROUP_NAME: 'Shop',
    CHECK_RESULT_ID: resultId,
    RESULT_LINK: `https://monitoring.example/checks/${checkId}/runs/${resultId}`,
    RUN_LOCATION: 'Ireland',
    REGION: 'eu-west-1',
    RESPONSE_TIME: '1234.5',
    STARTED_AT: startedAt,
    TAGS: 'team:shop',
    CHECK_ERROR_MESSAGE: 'expected 200 but was 503 <here>',
    API_CHECK_RESPONSE_STATUS_CODE: '503',
    API_CHECK_RESPONSE_STATUS_TEXT: 'Service Unavailable',
    SSL_DAYS_REMAINING: '',
    SSL_CHECK_DOMAIN: '',
    IS_REMINDER: 'false',
    REMINDER_SEQUENCE: '0',
    IS_LATE: 'false',
    AI_ANALYSIS_CLASSIFICATION: '',
    AI_ANALYSIS_ROOT_CAUSE: '',
    AI_ANALYSIS_USER_IMPACT: '',
    AI_ANALYSIS_CODE_FIX: '',
    AI_ANALYSIS_LINK: '',
    PLACE: 'global',
    TOKEN: 'very-hidden-token',
  });
  // The receiver has repeated a secret: the log does not.
  const [logged] = await log();
  expect(logged!['notificationResult']).toMatch(/TOKEN=\*{9}/);
  expect(JSON.stringify(logged)).not.toContain('very-hidden-token');
  await bench.service.call('PUT', `/v1/alert-channels/${id}/subscriptions`, {
    body: { activated: true, groupId },
  });
  await raise(id, {
    groupId,
    groupName: 'Shop',
    alertType: 'ALERT_SSL',
    sslDomain: 'shop.example',
    sslDaysRemaining: 7,
  });
  await bench.background.tick();
  expect(rows()).toMatchObject({
    PLACE: 'group',
    ALERT_TITLE: 'The SSL certificate for shop.example will expire in 7 days',
    SSL_DAYS_REMAINING: '7',
    SSL_CHECK_DOMAIN: 'shop.example',
  });
  // Alerts of certificates are not in the log.
  expect(await log()).toHaveLength(1);
  await bench.service.call('DELETE', `/v2/check-groups/${groupId}`);
});

test('WEBHOOK: a GET is sent without a body and signed without it', async () => {
  const target = await receiver();
  const config = { url: target.url, method: 'GET', template: 'not sent', webhookSecret: 'key' };
  await raise(await createChannel('WEBHOOK', config));
  await bench.background.tick();
  const [got] = target.received;
  expect([got?.method, got?.body, got?.headers['content-type']]).toEqual(['GET', '', undefined]);
  expect(got?.headers['x-service-signature']).toBe(createHmac('sha256', 'key').update('').digest('hex'));
});

test('WEBHOOK: a webhook type has a default body without a template', async () => {
  const bodies: { [webhookType: string]: unknown } = {};
  for (const webhookType of ['JSON', 'TEXT', 'CONTENT', 'CARD', 'OTHER']) {
    const target = await receiver();
    const id = await createChannel('WEBHOOK', { url: target.url, webhookType });
    expect((await bench.service.call('GET', `/v1/alert-channels/${id}`)).body).toMatchObject({
      config: { webhookType, template: '' },
    });
    await raise(id);
    await bench.background.tick();
    const { body } = target.received[0]!;
    bodies[webhookType] = body === '' ? '' : JSON.parse(body);
  }
  const text = expect.stringMatching(
    /^Check "Shop "front"" has failed\nShop "front", Ireland\n[^]+$/,
  ) as unknown;
  expect(bodies).toMatchObject({
    JSON: {
      title: 'Check "Shop "front"" has failed',
      type: 'ALERT_FAILURE',
      check: { id: checkId, name: 'Shop "front"', type: 'API' },
      result: { location: 'Ireland', region: 'eu-west-1', error: 'expected 200\nbut was 503 <here>' },
    },
    TEXT: { text },
    CONTENT: { content: text },
    CARD: { type: 'message', attachments: [{ content: { type: 'AdaptiveCard' } }] },
    OTHER: '',
  });
});

test('WEBHOOK: an empty template is an empty body, also signed; a failing template is logged once', async () => {
  const target = await receiver();
  await raise(await createChannel('WEBHOOK', { url: target.url, webhookSecret: 'key' }));
  await bench.background.tick();
  expect(target.received).toEqual([expect.objectContaining({ method: 'POST', body: '' })]);
  expect(target.received[0]!.headers['x-service-signature']).toBe(
    createHmac('sha256', 'key').update('').digest('hex'),
  );
  await raise(await createChannel('WEBHOOK', { url: '{{CHECK_NAME}}', template: '{{moment "never"}}' }));
  await allTries();
  expect(
    (await log('&status=FAILURE')).map(({ notificationResult, attempts }) => [notificationResult, attempts]),
  ).toEqual([['template: "never" is not a known time', 1]]);
});
