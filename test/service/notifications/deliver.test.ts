import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import PostalMime from 'postal-mime';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readNotificationConfig, type NotificationConfig } from '../../../src/config/notifications.ts';
import { createBackground, type Background } from '../../../src/service/engine/background.ts';
import { failLostNotifications } from '../../../src/service/alert-channels/notification-statements.ts';
import { insertAlerts, type AlertRow } from '../../../src/service/alerting/statements.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { handleNotifications } from '../../../src/service/notifications/deliver.ts';
import { type Calling } from '../../../src/service/notifications/http-call.ts';
import { createMailer } from '../../../src/service/notifications/email.ts';
import { queueNotifications } from '../../../src/service/alert-channels/queue.ts';
import { kindOfAddress } from '../../../src/service/engine/target-address.ts';
import { silent } from '../../helpers/agent-service.ts';
import { anyDatabase } from '../../helpers/database.ts';
import {
  startMailServer,
  startReceiver,
  type MailServer,
  type Receiver,
} from '../../helpers/notification-targets.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service.ts';

/** From an alert in the queue to its receiver, and what the log says of it. */

const time = Date.parse('2026-03-04T05:06:07.000Z');
const startedAt = '2026-03-04T05:06:00.000Z';
const checkId = '0198c0de-0000-7000-8000-000000000001';
const resultId = '0198c0de-0000-7000-8000-000000000002';

let db: Db;
let service: TestService;
let background: Background;
let mailServer: MailServer;
let config: NotificationConfig;
let timeoutMs = 10_000;
const limits = { ofCheck: 4, all: 7 };
const open: { close: () => Promise<unknown> }[] = [];

function createQueue(): Background {
  const queue = createBackground({ db, log: silent });
  const publicUrl = () => 'https://monitoring.example';
  handleNotifications(queue, {
    db,
    encryption: service?.encryption ?? encryptionOf(),
    log: silent,
    now: () => time,
    get config() {
      return config;
    },
    get calling(): Calling {
      return { privateTargets: 'allow', kindOf: kindOfAddress, timeoutMs };
    },
    sendMail: (mail) => createMailer(config, publicUrl)(mail),
    publicUrl,
    retryDelaySeconds: 0,
    limits,
  });
  return queue;
}
const encryptionOf = () => encryption;
let encryption: TestService['encryption'];

beforeAll(async () => {
  db = await anyDatabase.open();
  mailServer = await startMailServer();
  service = await startTestService(db, { now: () => time });
  await service.close();
  encryption = service.encryption;
  background = createQueue();
  await background.prepare();
  service = await startTestService(db, { now: () => time, background, encryption });
});
afterAll(async () => {
  await service.close();
  await background.stop();
  await mailServer.close();
  await anyDatabase.close();
});
beforeEach(() => {
  config = readNotificationConfig({
    SMTP_URL: mailServer.url,
    SMTP_FROM: 'Monitoring <alerts@shop.example>',
  });
});
afterEach(async () => {
  timeoutMs = 10_000;
  for (const each of open.splice(0)) await each.close();
  await db.query('delete from alert_channels');
  await db.query('delete from alert_notifications');
  await db.query('delete from account_variables');
});

async function receiver(...options: Parameters<typeof startReceiver>): Promise<Receiver> {
  const started = await startReceiver(...options);
  open.push(started);
  return started;
}

async function createChannel(type: string, channelConfig: Fields): Promise<number> {
  const { status, body } = await service.call('POST', '/v1/alert-channels', {
    body: { type, config: channelConfig },
  });
  expect([status, body]).toEqual([201, expect.anything()]);
  return Number(body['id']);
}

async function raise(channelId: number, fields: Partial<AlertRow> = {}): Promise<AlertRow> {
  const alert: AlertRow = {
    id: uuidv7(time),
    accountId: service.account.id,
    checkId,
    checkName: 'Shop "front"',
    checkType: 'API',
    checkDescription: 'The <b>front</b>',
    tags: ['team:shop'],
    groupId: null,
    groupName: null,
    alertType: 'ALERT_FAILURE',
    resultId,
    runLocation: 'eu-west-1',
    runLocationName: 'Ireland',
    runLocations: ['eu-west-1'],
    responseTime: 1234.5,
    error: 'expected 200\nbut was 503 <here>',
    statusCode: 503,
    statusText: 'Service Unavailable',
    sslDomain: null,
    sslDaysRemaining: null,
    isReminder: false,
    reminderSequence: 0,
    silenced: false,
    startedAt: new Date(startedAt),
    createdAt: new Date(time),
    ...fields,
  };
  await db.tx(async (tx) => {
    await insertAlerts(tx, [alert]);
    await queueNotifications(tx, background, {
      accountId: alert.accountId,
      channelIds: [channelId],
      alertId: alert.id,
    });
  });
  return alert;
}

const log = async (query = '') =>
  (await service.call<Fields[]>('GET', `/v1/alert-notifications?limit=100${query}`)).body;
/** Retries come at once here: a tick ends when there are none left. */
const allTries = async () => {
  for (let round = 0; round < 2; round++) await background.tick();
};

test('WEBHOOK: a call by templates, signed and dated, with what is configured', async () => {
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
  await background.tick();
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
  expect((await service.call('GET', `/v1/alert-notifications/${String(logged!['id'])}`)).body).toEqual(
    logged,
  );
});

test('WEBHOOK: every variable of an alert, those of the account, and of the group that tells the channel', async () => {
  const target = await receiver((request, response) => response.end(`thanks for ${request.body}`));
  const names =
    'ALERT_TITLE ALERT_TYPE CHECK_NAME CHECK_ID CHECK_TYPE CHECK_DESCRIPTION GROUP_NAME CHECK_RESULT_ID RESULT_LINK RUN_LOCATION REGION RESPONSE_TIME STARTED_AT TAGS CHECK_ERROR_MESSAGE API_CHECK_RESPONSE_STATUS_CODE API_CHECK_RESPONSE_STATUS_TEXT SSL_DAYS_REMAINING SSL_CHECK_DOMAIN IS_REMINDER REMINDER_SEQUENCE AI_ANALYSIS_CLASSIFICATION AI_ANALYSIS_ROOT_CAUSE AI_ANALYSIS_USER_IMPACT AI_ANALYSIS_CODE_FIX AI_ANALYSIS_LINK PLACE TOKEN'.split(
      ' ',
    );
  const template = names.map((name) => `${name}={{{${name}}}}`).join('\n');
  const id = await createChannel('WEBHOOK', { url: target.url, template });
  await service.call('POST', '/v1/variables', { body: { key: 'PLACE', value: 'global' } });
  await service.call('POST', '/v1/variables', {
    body: { key: 'TOKEN', value: 'very-hidden-token', secret: true },
  });
  await service.call('POST', '/v1/variables', { body: { key: 'CHECK_NAME', value: 'not this' } });
  const group = await service.call('POST', '/v2/check-groups', {
    body: { name: 'Shop', environmentVariables: [{ key: 'PLACE', value: 'group' }] },
  });
  const groupId = Number(group.body['id']);
  await raise(id, { groupId, groupName: 'Shop' });
  await background.tick();
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
    RESULT_LINK: `https://monitoring.example/#result=${checkId}/${resultId}`,
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
  await service.call('PUT', `/v1/alert-channels/${id}/subscriptions`, { body: { activated: true, groupId } });
  await raise(id, {
    groupId,
    groupName: 'Shop',
    alertType: 'ALERT_SSL',
    sslDomain: 'shop.example',
    sslDaysRemaining: 7,
  });
  await background.tick();
  expect(rows()).toMatchObject({
    PLACE: 'group',
    ALERT_TITLE: 'The SSL certificate for shop.example will expire in 7 days',
    SSL_DAYS_REMAINING: '7',
    SSL_CHECK_DOMAIN: 'shop.example',
  });
  // Alerts of certificates are not in the log.
  expect(await log()).toHaveLength(1);
  await service.call('DELETE', `/v2/check-groups/${groupId}`);
});

test('WEBHOOK: a GET goes without its body, and is signed as it goes', async () => {
  const target = await receiver();
  const config = { url: target.url, method: 'GET', template: 'not sent', webhookSecret: 'key' };
  await raise(await createChannel('WEBHOOK', config));
  await background.tick();
  const [got] = target.received;
  expect([got?.method, got?.body, got?.headers['content-type']]).toEqual(['GET', '', undefined]);
  expect(got?.headers['x-service-signature']).toBe(createHmac('sha256', 'key').update('').digest('hex'));
});

test('WEBHOOK: a type stands for a body where there is no template', async () => {
  const bodies: { [webhookType: string]: unknown } = {};
  for (const webhookType of ['JSON', 'TEXT', 'CONTENT', 'CARD', 'OTHER']) {
    const target = await receiver();
    const id = await createChannel('WEBHOOK', { url: target.url, webhookType });
    expect((await service.call('GET', `/v1/alert-channels/${id}`)).body).toMatchObject({
      config: { webhookType, template: '' },
    });
    await raise(id);
    await background.tick();
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

test('a check, or a group, that is deleted while a notification waits: the alert is told as it was', async () => {
  const target = await receiver();
  const template = '{{CHECK_NAME}} {{GROUP_NAME}} {{ALERT_TYPE}}';
  const id = await createChannel('WEBHOOK', { url: target.url, template, headers: [] });
  const group = await service.call('POST', '/v2/check-groups', { body: { name: 'Shop' } });
  const groupId = Number(group.body['id']);
  const check = await service.call('POST', '/v1/checks/url', {
    body: {
      name: 'Page',
      groupId,
      locations: ['eu-west-1'],
      request: { url: 'https://shop.example/' },
      alertChannelSubscriptions: [{ alertChannelId: id, activated: true }],
    },
  });
  const gone = String(check.body['id']);
  await service.call('PUT', `/v1/alert-channels/${id}/subscriptions`, { body: { activated: true, groupId } });
  await raise(id, { checkId: gone, checkName: 'Page', groupId, groupName: 'Shop' });
  await raise(id, {
    checkId: gone,
    checkName: 'Page',
    groupId,
    groupName: 'Shop',
    alertType: 'ALERT_RECOVERY',
  });
  expect((await service.call('DELETE', `/v1/checks/${gone}`)).status).toBe(204);
  expect((await service.call('DELETE', `/v2/check-groups/${groupId}`)).status).toBe(204);
  await background.tick();
  expect(target.received.map(({ body }) => body).sort()).toEqual([
    'Page Shop ALERT_FAILURE',
    'Page Shop ALERT_RECOVERY',
  ]);
  const logged = await log(`&checkId=${gone}`);
  expect(logged.map(({ status, checkId: of }) => [status, of])).toEqual([
    ['SUCCESS', gone],
    ['SUCCESS', gone],
  ]);
});

test('WEBHOOK: an empty template is an empty body, signed too; a template that fails is told, once', async () => {
  const target = await receiver();
  await raise(await createChannel('WEBHOOK', { url: target.url, webhookSecret: 'key' }));
  await background.tick();
  expect(target.received).toEqual([expect.objectContaining({ method: 'POST', body: '' })]);
  expect(target.received[0]!.headers['x-service-signature']).toBe(
    createHmac('sha256', 'key').update('').digest('hex'),
  );
  await raise(await createChannel('WEBHOOK', { url: '{{CHECK_NAME}}', template: '{{moment "never"}}' }));
  await allTries();
  expect(
    (await log('&status=FAILURE')).map(({ notificationResult, attempts }) => [notificationResult, attempts]),
  ).toEqual([['template: "never" is not a time that is known', 1]]);
});

test('a target that refuses is tried six times, and then the log says so', async () => {
  const between: Fields[] = [];
  const target = await receiver((_request, response) => {
    void log().then(([row]) => {
      between.push(row!);
      response.writeHead(500).end('broken');
    });
  });
  await raise(await createChannel('WEBHOOK', { url: target.url }));
  await allTries();
  expect(target.received).toHaveLength(6);
  expect(
    between.map(({ status, notificationResult, attempts }) => [status, notificationResult, attempts]),
  ).toEqual(
    [0, 1, 2, 3, 4, 5].map((tries) => ['IN_PROGRESS', tries === 0 ? null : 'HTTP 500: broken', tries]),
  );
  expect(await log()).toEqual([
    expect.objectContaining({ status: 'FAILURE', notificationResult: 'HTTP 500: broken', attempts: 6 }),
  ]);
  // The same delivery each time, so that a receiver can tell.
  expect(new Set(target.received.map(({ headers }) => headers['x-service-delivery'])).size).toBe(1);
});

test('one that recovers gets it at the next try', async () => {
  let answers = 0;
  const target = await receiver((_request, response) =>
    response.writeHead((answers += 1) < 3 ? 503 : 204).end(),
  );
  await raise(await createChannel('WEBHOOK', { url: target.url }));
  await allTries();
  expect(target.received).toHaveLength(3);
  expect(await log()).toEqual([
    expect.objectContaining({ status: 'SUCCESS', notificationResult: 'HTTP 204', attempts: 3 }),
  ]);
});

test('targets that hang, are down or lead inside hold up no other, and none is lost', async () => {
  timeoutMs = 300;
  const hanging = await receiver(() => undefined);
  const gone = await receiver();
  await gone.close();
  const inside = await receiver(undefined, '127.0.0.2');
  const leading = await receiver((_request, response) =>
    response.writeHead(307, { location: inside.url }).end(),
  );
  const good = await receiver();
  const bad = await Promise.all([hanging, gone, leading].map(({ url }) => createChannel('WEBHOOK', { url })));
  const well = await createChannel('WEBHOOK', { url: good.url });
  for (const id of bad) await raise(id);
  for (let index = 0; index < 3; index++) await raise(well);
  const ticking = background.tick();
  await expect.poll(() => good.received.length, { timeout: 5000 }).toBe(3);
  expect((await log('&status=SUCCESS')).length).toBeLessThanOrEqual(3);
  await ticking;
  await allTries();
  const outcomes = Object.fromEntries(
    (await log('&status=FAILURE')).map((row) => [
      Number(row['alertChannelId']),
      [row['notificationResult'], row['attempts']],
    ]),
  );
  expect(outcomes).toEqual({
    [bad[0]!]: ['no answer within 0.3 s', 6],
    [bad[1]!]: [expect.stringContaining('ECONNREFUSED'), 6],
    [bad[2]!]: [expect.stringMatching(/^127\.0\.0\.2 is an internal address/), 1],
  });
  expect(inside.received).toEqual([]);
}, 30_000);

test('a target that hangs has four tries at a time; what waits for its turn is not tried, nor lost, nor doubled', async () => {
  const held: ServerResponse[] = [];
  let isHeld = true;
  const hanging = await receiver((_request, response) => {
    if (isHeld) held.push(response);
    else response.end();
  });
  const good = await receiver();
  const ids = [];
  for (let index = 0; index < 2; index++) ids.push(await createChannel('WEBHOOK', { url: hanging.url }));
  for (const id of ids) {
    for (let index = 0; index < limits.all; index++) await raise(id, { checkId: uuidv7(time + index) });
  }
  await raise(await createChannel('WEBHOOK', { url: good.url }));
  const ticking = background.tick();
  await expect.poll(() => [good.received.length, held.length], { timeout: 8000 }).toEqual([1, 8]);
  expect(await log('&status=IN_PROGRESS')).toHaveLength(2 * limits.all);
  isHeld = false;
  for (const response of held) response.end();
  await ticking;
  await allTries();
  expect(new Set(hanging.received.map(({ headers }) => headers['x-service-delivery'])).size).toBe(14);
  expect(hanging.received).toHaveLength(14);
  const done = await log();
  expect(new Set(done.map(({ status, attempts }) => `${String(status)} ${String(attempts)}`))).toEqual(
    new Set(['SUCCESS 1']),
  );
}, 30_000);

test('EMAIL: a mail with text and HTML, in which nothing of the alert is markup', async () => {
  await raise(await createChannel('EMAIL', { address: 'ops@shop.example' }), {
    checkName: 'Shop\r\nBcc: a@b.example <i>',
  });
  await background.tick();
  const [{ from, to, raw } = { from: '', to: [], raw: Buffer.alloc(0) }] = mailServer.mails;
  const mail = await PostalMime.parse(raw);
  expect([from, to]).toEqual(['alerts@shop.example', ['ops@shop.example']]);
  const [logged] = await log();
  expect(mail).toMatchObject({
    from: { name: 'Monitoring', address: 'alerts@shop.example' },
    subject: 'Check "Shop Bcc: a@b.example <i>" has failed',
    messageId: `<${String(logged!['id'])}@shop.example>`,
  });
  expect(mail.bcc).toBeUndefined();
  for (const text of [
    'Ireland',
    '1235 ms',
    '503 Service Unavailable',
    'team:shop',
    `#result=${checkId}/${resultId}`,
  ]) {
    expect(mail.text).toContain(text);
    expect(mail.html).toContain(text);
  }
  expect(mail.text).toContain('but was 503 <here>');
  expect(mail.html).toContain('but was 503 &lt;here&gt;');
  expect(mail.html).not.toContain('<i>');
  expect(logged).toMatchObject({ status: 'SUCCESS', alertConfig: { address: 'ops@shop.example' } });
  expect(String(logged!['notificationResult'])).toMatch(/^250 /);
});

test('EMAIL: a mail server that says nothing, or trickles without end, is left', async () => {
  const sockets = new Set<Socket>();
  const closed: Promise<unknown>[] = [];
  const trickling = createServer((socket) => {
    sockets.add(socket);
    closed.push(new Promise((resolve) => socket.once('close', resolve)));
    socket.on('error', () => undefined);
    if (sockets.size === 1) return;
    socket.write('220 hello\r\n');
    const timer = setInterval(() => socket.write('250-and more\r\n'), 20);
    socket.once('close', () => clearInterval(timer));
  });
  trickling.listen(0, '127.0.0.1');
  await once(trickling, 'listening');
  const { port } = trickling.address() as AddressInfo; // it listens on TCP
  const urls = { SMTP_URL: `smtp://127.0.0.1:${port}` };
  const send = createMailer(readNotificationConfig(urls), () => 'https://monitoring.example', {
    longestMs: 300,
  });
  const mail = { to: 'ops@shop.example', subject: 's', text: 't', html: 'h', id: 'x' };
  for (let time = 1; time <= 2; time++) {
    expect(await send(mail)).toEqual({
      delivered: false,
      result: 'the mail server had not taken the mail after 0.3 s',
      retry: true,
    });
    expect(sockets.size).toBe(time);
    await closed[time - 1];
  }
  trickling.close();
});

test('EMAIL: a mail server that refuses for ever, for now, or is not there', async () => {
  const id = await createChannel('EMAIL', { address: 'nobody@shop.example' });
  const outcome = async () => {
    await raise(id);
    await allTries();
    const [row] = await log();
    await db.query('delete from alert_notifications');
    return [row!['status'], row!['attempts'], row!['notificationResult']];
  };
  mailServer.refuseWith(550);
  expect(await outcome()).toEqual(['FAILURE', 1, expect.stringContaining('no such user')]);
  mailServer.refuseWith(450);
  expect(await outcome()).toEqual(['FAILURE', 6, expect.stringContaining('no such user')]);
  mailServer.refuseWith(null);
  config = readNotificationConfig({ SMTP_URL: mailServer.url.replace('pass%20word', 'wrong') });
  expect((await outcome())[0]).toBe('FAILURE');
  config = readNotificationConfig({ SMTP_URL: 'smtp://127.0.0.1:1' });
  expect(await outcome()).toEqual(['FAILURE', 6, expect.stringContaining('ECONNREFUSED')]);
  config = readNotificationConfig({});
  expect(await outcome()).toEqual(['FAILURE', 1, 'SMTP_URL is not set, so this channel can not be used']);
}, 30_000);

test.each<[type: string, channel: Fields, variable: string]>([
  ['CHAT_A_APP', { channels: ['#ops'] }, 'CHAT_A_APP_URL'],
  ['PAGING_A', { serviceKey: 'key' }, 'PAGING_A_URL'],
  ['PAGING_B', { apiKey: 'key', region: 'EU' }, 'PAGING_B_URL'],
  ['SMS', { number: '+31612345678' }, 'SMS_URL'],
  ['CALL', { number: '+31612345678' }, 'CALL_URL'],
])('%s without its variable: the log names it', async (type, channel, variable) => {
  await raise(await createChannel(type, channel));
  await background.tick();
  expect(await log()).toEqual([
    expect.objectContaining({
      status: 'FAILURE',
      attempts: 1,
      notificationResult: `${variable} is not set, so this channel can not be used`,
    }),
  ]);
});

const bodies = (target: Receiver) => target.received.map(({ body }) => JSON.parse(body) as Fields);

test('CHAT_A: a message in a room', async () => {
  const target = await receiver();
  await raise(await createChannel('CHAT_A', { url: `${target.url}/hook`, channel: '#ops' }), {
    alertType: 'ALERT_RECOVERY',
  });
  await background.tick();
  const title = 'Check "Shop "front"" has recovered';
  expect(bodies(target)).toEqual([
    {
      channel: '#ops',
      text: title,
      attachments: [
        expect.objectContaining({ title, color: '#2c9a4b', title_link: expect.stringContaining('#result=') }),
      ],
    },
  ]);
  expect(target.received[0]!.body).toContain('but was 503 &lt;here&gt;');
});

test('CHAT_A_APP: each room once, however many tries it takes', async () => {
  const refused = { answers: 0 };
  const target = await receiver(({ body }, response) => {
    const isTold = (JSON.parse(body) as Fields)['channel'] === '#ops' || (refused.answers += 1) > 2;
    response.end(JSON.stringify(isTold ? { ok: true } : { ok: false, error: 'channel_not_found' }));
  });
  config = readNotificationConfig({ CHAT_A_APP_URL: target.url, CHAT_A_APP_TOKEN: 'app-token-of-chat' });
  await raise(await createChannel('CHAT_A_APP', { channels: ['#ops', '#shop'] }));
  await allTries();
  expect(bodies(target).map(({ channel }) => channel)).toEqual(['#ops', '#shop', '#shop', '#shop']);
  expect(target.received[0]!.headers.authorization).toBe('Bearer app-token-of-chat');
  expect(await log()).toEqual([
    expect.objectContaining({ status: 'SUCCESS', notificationResult: 'told #ops, #shop', attempts: 3 }),
  ]);
});

test('PAGING_A: an alarm of a check is raised once and ends; that of a certificate is another one', async () => {
  const target = await receiver((_request, response) => response.writeHead(202).end('{}'));
  config = readNotificationConfig({ PAGING_A_URL: `${target.url}/v2/enqueue` });
  const id = await createChannel('PAGING_A', {
    account: 'shop',
    serviceName: 'front',
    serviceKey: 'routing key',
  });
  for (const alertType of [
    'ALERT_FAILURE',
    'ALERT_FAILURE_DEGRADED',
    'ALERT_RECOVERY',
    'ALERT_SSL',
  ] as const) {
    await raise(id, { alertType, sslDomain: 'shop.example', sslDaysRemaining: 3 });
    await background.tick();
  }
  const told = bodies(target).map((body) => [
    body['routing_key'],
    body['event_action'],
    body['dedup_key'],
    (body['payload'] as Fields | undefined)?.['severity'],
  ]);
  expect(told).toEqual([
    ['routing key', 'trigger', `check-${checkId}`, 'critical'],
    ['routing key', 'trigger', `check-${checkId}`, 'warning'],
    ['routing key', 'resolve', `check-${checkId}`, undefined],
    ['routing key', 'trigger', `ssl-${checkId}`, 'warning'],
  ]);
  expect(JSON.stringify(await log())).not.toContain('routing key');
});

test('PAGING_B: an alert is created and closed by its alias, in the region of the channel', async () => {
  const [us, eu] = [await receiver(), await receiver()];
  config = readNotificationConfig({
    PAGING_B_URL: us.url,
    PAGING_B_EU_URL: eu.url,
    PAGING_B_AUTH_SCHEME: 'Key',
  });
  await raise(await createChannel('PAGING_B', { apiKey: 'k1', priority: 'P1' }));
  const id = await createChannel('PAGING_B', { apiKey: 'k2', region: 'EU' });
  await raise(id, { alertType: 'ALERT_RECOVERY' });
  await background.tick();
  expect(us.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/v2/alerts', 'Key k1'],
  ]);
  expect(bodies(us)).toEqual([
    expect.objectContaining({ alias: `check-${checkId}`, priority: 'P1', tags: ['team:shop'] }),
  ]);
  expect(eu.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    [`/v2/alerts/check-${checkId}/close?identifierType=alias`, 'Key k2'],
  ]);
});

test('SMS and CALL: a gateway is asked', async () => {
  const target = await receiver();
  config = readNotificationConfig({
    SMS_URL: `${target.url}/sms`,
    SMS_TOKEN: 'sms-token-of-gateway',
    CALL_URL: `${target.url}/call`,
  });
  await raise(await createChannel('SMS', { number: '+31 6 1234-5678', name: 'Duty' }));
  await background.tick();
  await raise(await createChannel('CALL', { number: '+31612345678' }));
  await background.tick();
  expect(target.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/sms', 'Bearer sms-token-of-gateway'],
    ['/call', undefined],
  ]);
  const message = 'Check "Shop "front"" has failed';
  expect(bodies(target)).toEqual([
    {
      to: '+31612345678',
      name: 'Duty',
      message: `${message} https://monitoring.example/#result=${checkId}/${resultId}`,
    },
    { to: '+31612345678', name: '', message: `${message}.` },
  ]);
});

test('an alert of many channels takes as many statements as one of a single channel', async () => {
  const ids: number[] = [];
  for (let index = 0; index < 30; index++) ids.push(await createChannel('SMS', { number: '+31612345678' }));
  const alert = await raise(ids[0]!);
  let statements = 0;
  await db.tx((tx) => {
    const counted: typeof tx.query = (...of) => ((statements += 1), tx.query(...of));
    const about = {
      accountId: service.account.id,
      channelIds: [...ids.slice(1), 987_654],
      alertId: alert.id,
    };
    return queueNotifications({ ...tx, query: counted }, background, about);
  });
  expect(statements).toBe(2);
  await background.tick();
  expect(await log('&status=FAILURE')).toHaveLength(30);
});

test('two replicas that look at once tell each channel once', async () => {
  const second = createQueue();
  await second.prepare();
  const target = await receiver();
  const channels: number[] = [];
  for (let index = 0; index < 30; index++) {
    channels.push(await createChannel('WEBHOOK', { url: `${target.url}/${index}` }));
  }
  for (const channel of channels) await raise(channel);
  await Promise.all([background.tick(), second.tick(), background.tick(), second.tick()]);
  await allTries();
  await second.stop();
  expect(target.received).toHaveLength(30);
  expect(new Set(target.received.map(({ headers }) => headers['x-service-delivery'])).size).toBe(30);
  expect((await log()).map(({ status, attempts }) => `${String(status)} ${String(attempts)}`)).toEqual(
    Array.from({ length: 30 }, () => 'SUCCESS 1'),
  );
});

test('a process that ends between the call and the log: told again with the same id, logged once', async () => {
  const target = await receiver();
  const id = await createChannel('WEBHOOK', { url: target.url });
  await raise(id);
  // What a killed process leaves: the call is made, the log and the queue do not know.
  await background.tick();
  const [{ id: notificationId } = { id: '' }] = await log();
  await db.query(`update alert_notifications set status = 'IN_PROGRESS', updated_at = null where id = $1`, [
    notificationId,
  ]);
  await background.send(db, 'notifications', { notificationId });
  await background.tick();
  expect(target.received.map(({ headers }) => headers['x-service-delivery'])).toEqual([
    notificationId,
    notificationId,
  ]);
  // And between the log and the queue: not told again.
  await background.send(db, 'notifications', { notificationId });
  await background.tick();
  expect(target.received).toHaveLength(2);
  expect(await log()).toEqual([expect.objectContaining({ status: 'SUCCESS' })]);
});

test('one whose last try never ended is no success: it becomes a failure', async () => {
  await raise(await createChannel('WEBHOOK', { url: 'http://127.0.0.1:1' }));
  const swept = (before: number) =>
    failLostNotifications(db, { before: new Date(before), now: new Date(time), limit: 10 });
  expect(await swept(time)).toBe(0);
  expect(await swept(time + 1)).toBe(1);
  expect(await log()).toEqual([
    expect.objectContaining({ status: 'FAILURE', notificationResult: 'the last try did not end' }),
  ]);
  await background.tick();
});

test('a check that flaps does not flood a channel, and does not take it from the others', async () => {
  const target = await receiver();
  const id = await createChannel('WEBHOOK', { url: target.url });
  const hourMs = 3_600_000;
  for (let index = 0; index < limits.ofCheck + 2; index++) {
    await raise(id, { createdAt: new Date(time + index) });
  }
  const others: string[] = [];
  for (let index = 0; index < 4; index++) {
    others.push((await raise(id, { checkId: uuidv7(time), createdAt: new Date(time + 60_000 + index) })).id);
  }
  await background.tick();
  expect(target.received).toHaveLength(limits.all);
  const limited = await log('&status=RATE_LIMITED');
  expect(limited.map(({ notificationResult }) => notificationResult)).toEqual([
    'this channel has had 7 notifications within an hour',
    'this channel has had 4 notifications of this check within an hour',
    'this channel has had 4 notifications of this check within an hour',
  ]);
  for (const [index, alertId] of others.entries()) {
    const status = index < 3 ? 'SUCCESS' : 'RATE_LIMITED';
    expect(await log(`&alertId=${alertId}`)).toEqual([expect.objectContaining({ status })]);
  }
  // An hour later it is told again.
  const later = time + hourMs + 100_000;
  await raise(id, { createdAt: new Date(later) });
  await background.tick();
  expect(await log(`&from=${later / 1000}`)).toEqual([expect.objectContaining({ status: 'SUCCESS' })]);
});

test('a channel that goes, a secret that can not be read, a channel of another account', async () => {
  const gone = await createChannel('WEBHOOK', { url: 'http://127.0.0.1:1' });
  await raise(gone);
  await service.call('DELETE', `/v1/alert-channels/${gone}`);
  const sealed = await createChannel('PAGING_A', { serviceKey: 'key' });
  await db.query(
    `update alert_channels set config = config || '{"serviceKey": "sealed:1:00000000:AAAA"}' where id = $1`,
    [sealed],
  );
  await raise(sealed);
  await allTries();
  expect(
    (await log()).map(({ status, notificationResult }) => [status, notificationResult]).reverse(),
  ).toEqual(
    expect.arrayContaining([
      ['FAILURE', 'the channel was deleted'],
      ['FAILURE', expect.stringMatching(/^its secrets can not be read: /)],
    ]),
  );
  await raise(sealed, { accountId: service.foreign.id });
  expect(await log()).toHaveLength(2);
  const foreign = await service.call<Fields[]>('GET', '/v1/alert-notifications', {
    key: service.foreign.key,
  });
  expect(foreign.body).toEqual([]);
});

test('a test of a channel goes the same way', async () => {
  const target = await receiver();
  const id = await createChannel('WEBHOOK', { url: target.url, template: '{{ALERT_TITLE}}' });
  const answer = await service.call('POST', `/v1/alert-channels/${id}/test`);
  expect(answer.status).toBe(202);
  await background.tick();
  expect(target.received.map(({ body }) => body)).toEqual([
    'Check \\"Test of this alert channel\\" has recovered',
  ]);
  expect(await log()).toEqual([
    expect.objectContaining({
      id: answer.body['alertNotificationId'],
      status: 'SUCCESS',
      alertId: null,
      checkId: null,
      alertType: 'NO_ALERT',
    }),
  ]);
});

test('the log by its filters and pages', async () => {
  const target = await receiver();
  const [a, b] = [
    await createChannel('WEBHOOK', { url: target.url }),
    await createChannel('SMS', { number: '112 112' }),
  ];
  const first = await raise(a, { createdAt: new Date(time) });
  const second = await raise(b, { createdAt: new Date(time + 60_000) });
  await background.tick();
  const found = async (query: string) => (await log(query)).map(({ alertId }) => alertId);
  expect(await found('')).toEqual([second.id, first.id]);
  expect(await found(`&alertChannelId=${a}`)).toEqual([first.id]);
  expect(await found(`&checkId=${checkId}`)).toHaveLength(2);
  expect(await found('&checkId=none')).toEqual([]);
  expect(await found(`&alertId=${second.id}`)).toEqual([second.id]);
  expect(await found('&status=FAILURE')).toEqual([second.id]);
  expect(await found(`&from=${(time + 30_000) / 1000}`)).toEqual([second.id]);
  expect(await found(`&to=${(time + 30_000) / 1000}`)).toEqual([first.id]);
  const page = await service.call<Fields[]>('GET', '/v1/alert-notifications?limit=1&page=2');
  expect(page.body.map(({ alertId }) => alertId)).toEqual([first.id]);
  for (const query of ['status=DONE', 'from=2&to=1', 'alertChannelId=0', 'what=1']) {
    expect((await service.call('GET', `/v1/alert-notifications?${query}`)).status).toBe(400);
  }
  expect((await service.call('GET', '/v1/alert-notifications/none')).status).toBe(404);
});
