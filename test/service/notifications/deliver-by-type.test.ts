import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import { readNotificationConfig } from '../../../src/config/notifications.ts';
import { createMailer } from '../../../src/service/notifications/email.ts';
import { type Fields } from '../../helpers/service/service.ts';
import { bodiesOf, checkId, notificationBench, resultId } from '../../helpers/service/notification-bench.ts';

/** Mail, chat, paging, text messages and calls: the request that each type of channel makes of an alert. */

const bench = notificationBench();
const { receiver, createChannel, raise, log, allTries } = bench;

test('EMAIL: a mail with text and HTML, in which the texts of the alert are escaped', async () => {
  await raise(await createChannel('EMAIL', { address: 'ops@shop.example' }), {
    checkName: 'Shop\r\nBcc: a@b.example <i>',
  });
  await bench.background.tick();
  const [{ from, to, raw } = { from: '', to: [], raw: Buffer.alloc(0) }] = bench.mailServer.mails;
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
    `/checks/${checkId}/runs/${resultId}`,
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

test('EMAIL: a mail server that is silent, or sends endlessly, is given up', async () => {
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
      result: 'the mail server did not accept the mail within 0.3 s',
      retry: true,
    });
    expect(sockets.size).toBe(time);
    await closed[time - 1];
  }
  trickling.close();
});

test('EMAIL: an answer that the database cannot store loses those characters', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('554 no \0mail today\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  bench.config = readNotificationConfig({ SMTP_URL: `smtp://127.0.0.1:${port}` });
  await raise(await createChannel('EMAIL', { address: 'ops@shop.example' }));
  await allTries();
  server.close();
  expect(await log()).toEqual([
    expect.objectContaining({
      status: 'FAILURE',
      notificationResult: expect.stringContaining('554 no mail today'),
    }),
  ]);
}, 30_000);

test('EMAIL: a mail server that refuses permanently, temporarily, or is unreachable', async () => {
  const id = await createChannel('EMAIL', { address: 'nobody@shop.example' });
  const outcome = async () => {
    await raise(id);
    await allTries();
    const [row] = await log();
    await bench.db.query('delete from alert_notifications');
    return [row!['status'], row!['attempts'], row!['notificationResult']];
  };
  bench.mailServer.refuseWith(550);
  expect(await outcome()).toEqual(['FAILURE', 1, expect.stringContaining('no such user')]);
  bench.mailServer.refuseWith(450);
  expect(await outcome()).toEqual(['FAILURE', 6, expect.stringContaining('no such user')]);
  bench.mailServer.refuseWith(null);
  bench.config = readNotificationConfig({ SMTP_URL: bench.mailServer.url.replace('pass%20word', 'wrong') });
  expect((await outcome())[0]).toBe('FAILURE');
  bench.config = readNotificationConfig({ SMTP_URL: 'smtp://127.0.0.1:1' });
  expect(await outcome()).toEqual(['FAILURE', 6, expect.stringContaining('ECONNREFUSED')]);
  bench.config = readNotificationConfig({});
  expect(await outcome()).toEqual(['FAILURE', 1, 'SMTP_URL is not set, so this channel cannot be used']);
}, 30_000);

test.each<[type: string, channel: Fields, variable: string]>([
  ['CHAT_A_APP', { channels: ['#ops'] }, 'CHAT_A_APP_URL'],
  ['PAGING_A', { serviceKey: 'key' }, 'PAGING_A_URL'],
  ['PAGING_B', { apiKey: 'key', region: 'EU' }, 'PAGING_B_URL'],
  ['SMS', { number: '+31612345678' }, 'SMS_URL'],
  ['CALL', { number: '+31612345678' }, 'CALL_URL'],
])('%s without its variable: the log names it', async (type, channel, variable) => {
  await raise(await createChannel(type, channel));
  await bench.background.tick();
  expect(await log()).toEqual([
    expect.objectContaining({
      status: 'FAILURE',
      attempts: 1,
      notificationResult: `${variable} is not set, so this channel cannot be used`,
    }),
  ]);
});

test('CHAT_A: a message in a room', async () => {
  const target = await receiver();
  await raise(await createChannel('CHAT_A', { url: `${target.url}/hook`, channel: '#ops' }), {
    alertType: 'ALERT_RECOVERY',
  });
  await bench.background.tick();
  const title = 'Check "Shop "front"" has recovered';
  expect(bodiesOf(target)).toEqual([
    {
      channel: '#ops',
      text: title,
      attachments: [
        expect.objectContaining({ title, color: '#2c9a4b', title_link: expect.stringContaining('/runs/') }),
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
  bench.config = readNotificationConfig({
    CHAT_A_APP_URL: target.url,
    CHAT_A_APP_TOKEN: 'app-token-of-chat',
  });
  await raise(await createChannel('CHAT_A_APP', { channels: ['#ops', '#shop'] }));
  await allTries();
  expect(bodiesOf(target).map(({ channel }) => channel)).toEqual(['#ops', '#shop', '#shop', '#shop']);
  expect(target.received[0]!.headers.authorization).toBe('Bearer app-token-of-chat');
  expect(await log()).toEqual([
    expect.objectContaining({ status: 'SUCCESS', notificationResult: 'sent to #ops, #shop', attempts: 3 }),
  ]);
});

test('PAGING_A: an alarm of a check is raised once and resolved; that of a certificate is separate', async () => {
  const target = await receiver((_request, response) => response.writeHead(202).end('{}'));
  bench.config = readNotificationConfig({ PAGING_A_URL: `${target.url}/v2/enqueue` });
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
    await bench.background.tick();
  }
  const told = bodiesOf(target).map((body) => [
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
  bench.config = readNotificationConfig({
    PAGING_B_URL: us.url,
    PAGING_B_EU_URL: eu.url,
    PAGING_B_AUTH_SCHEME: 'Key',
  });
  await raise(await createChannel('PAGING_B', { apiKey: 'k1', priority: 'P1' }));
  const id = await createChannel('PAGING_B', { apiKey: 'k2', region: 'EU' });
  await raise(id, { alertType: 'ALERT_RECOVERY' });
  await bench.background.tick();
  expect(us.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/v2/alerts', 'Key k1'],
  ]);
  expect(bodiesOf(us)).toEqual([
    expect.objectContaining({ alias: `check-${checkId}`, priority: 'P1', tags: ['team:shop'] }),
  ]);
  expect(eu.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    [`/v2/alerts/check-${checkId}/close?identifierType=alias`, 'Key k2'],
  ]);
});

test('SMS and CALL: a gateway is asked', async () => {
  const target = await receiver();
  bench.config = readNotificationConfig({
    SMS_URL: `${target.url}/sms`,
    SMS_TOKEN: 'sms-token-of-gateway',
    CALL_URL: `${target.url}/call`,
  });
  await raise(await createChannel('SMS', { number: '+31 6 1234-5678', name: 'Duty' }));
  await bench.background.tick();
  await raise(await createChannel('CALL', { number: '+31612345678' }));
  await bench.background.tick();
  expect(target.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/sms', 'Bearer sms-token-of-gateway'],
    ['/call', undefined],
  ]);
  const message = 'Check "Shop "front"" has failed';
  expect(bodiesOf(target)).toEqual([
    {
      to: '+31612345678',
      name: 'Duty',
      message: `${message} https://monitoring.example/checks/${checkId}/runs/${resultId}`,
    },
    { to: '+31612345678', name: '', message: `${message}.` },
  ]);
});
