import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { failLostNotifications } from '../../../src/service/alert-channels/notification-statements.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { queueNotifications } from '../../../src/service/alert-channels/queue.ts';
import { type Fields } from '../../helpers/service/service.ts';
import { checkId, limits, notificationBench, time } from '../../helpers/service/notification-bench.ts';

/** From an alert in the queue to its receiver, whichever type the channel has, and the log of it. */

const bench = notificationBench();
const { receiver, createChannel, raise, log, allTries } = bench;

test('the notification of a check or group that was deleted is sent unchanged', async () => {
  const target = await receiver();
  const template = '{{CHECK_NAME}} {{GROUP_NAME}} {{ALERT_TYPE}}';
  const id = await createChannel('WEBHOOK', { url: target.url, template, headers: [] });
  const group = await bench.service.call('POST', '/v2/check-groups', { body: { name: 'Shop' } });
  const groupId = Number(group.body['id']);
  const check = await bench.service.call('POST', '/v1/checks/url', {
    body: {
      name: 'Page',
      groupId,
      locations: ['eu-west-1'],
      request: { url: 'https://shop.example/' },
      alertChannelSubscriptions: [{ alertChannelId: id, activated: true }],
    },
  });
  const gone = String(check.body['id']);
  await bench.service.call('PUT', `/v1/alert-channels/${id}/subscriptions`, {
    body: { activated: true, groupId },
  });
  await raise(id, { checkId: gone, checkName: 'Page', groupId, groupName: 'Shop' });
  await raise(id, {
    checkId: gone,
    checkName: 'Page',
    groupId,
    groupName: 'Shop',
    alertType: 'ALERT_RECOVERY',
  });
  expect((await bench.service.call('DELETE', `/v1/checks/${gone}`)).status).toBe(204);
  expect((await bench.service.call('DELETE', `/v2/check-groups/${groupId}`)).status).toBe(204);
  await bench.background.tick();
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

test('a failing target is tried six times, then the failure is logged', async () => {
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
  // The same delivery id each time, so that a receiver can recognise it.
  expect(new Set(target.received.map(({ headers }) => headers['x-service-delivery'])).size).toBe(1);
});

test('a target that recovers gets the notification at the next try', async () => {
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
  bench.timeoutMs = 300;
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
  const ticking = bench.background.tick();
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

test('a hanging target has four concurrent tries; waiting notifications are neither lost nor duplicated', async () => {
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
  const ticking = bench.background.tick();
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

test('an alert of many channels takes as many statements as one of a single channel', async () => {
  const ids: number[] = [];
  for (let index = 0; index < 30; index++) ids.push(await createChannel('SMS', { number: '+31612345678' }));
  const alert = await raise(ids[0]!);
  let statements = 0;
  await bench.db.tx((tx) => {
    const counted: typeof tx.query = (...of) => ((statements += 1), tx.query(...of));
    const about = {
      accountId: bench.service.account.id,
      channelIds: [...ids.slice(1), 987_654],
      alertId: alert.id,
    };
    return queueNotifications({ ...tx, query: counted }, bench.background, about);
  });
  expect(statements).toBe(2);
  await allTries();
  expect(await log('&status=FAILURE')).toHaveLength(30);
  // The service's clock is far behind the database's here. Those that waited for a turn did wait.
  const [delays] = await bench.db.query<{ early: number }>(
    `select count(*) filter (where start_after < created_on)::integer as early
     from background.job where name = 'notifications'`,
  );
  expect(delays).toEqual({ early: 0 });
});

test('two replicas at the same time notify each channel once', async () => {
  const second = bench.createQueue();
  await second.prepare();
  const target = await receiver();
  const channels: number[] = [];
  for (let index = 0; index < 30; index++) {
    channels.push(await createChannel('WEBHOOK', { url: `${target.url}/${index}` }));
  }
  for (const channel of channels) await raise(channel);
  await Promise.all([bench.background.tick(), second.tick(), bench.background.tick(), second.tick()]);
  await allTries();
  await second.stop();
  expect(target.received).toHaveLength(30);
  expect(new Set(target.received.map(({ headers }) => headers['x-service-delivery'])).size).toBe(30);
  expect((await log()).map(({ status, attempts }) => `${String(status)} ${String(attempts)}`)).toEqual(
    Array.from({ length: 30 }, () => 'SUCCESS 1'),
  );
});

test('after a crash between the call and the log, the notification is sent again with the same id and logged once', async () => {
  const target = await receiver();
  const id = await createChannel('WEBHOOK', { url: target.url });
  await raise(id);
  // What a killed process leaves: the call is made, the log and the queue do not know.
  await bench.background.tick();
  const [{ id: notificationId } = { id: '' }] = await log();
  await bench.db.query(
    `update alert_notifications set status = 'IN_PROGRESS', updated_at = null where id = $1`,
    [notificationId],
  );
  await bench.background.send(bench.db, 'notifications', { notificationId });
  await bench.background.tick();
  expect(target.received.map(({ headers }) => headers['x-service-delivery'])).toEqual([
    notificationId,
    notificationId,
  ]);
  // And between the log and the queue: not sent again.
  await bench.background.send(bench.db, 'notifications', { notificationId });
  await bench.background.tick();
  expect(target.received).toHaveLength(2);
  expect(await log()).toEqual([expect.objectContaining({ status: 'SUCCESS' })]);
});

test('a notification whose last try never finished becomes a failure', async () => {
  await raise(await createChannel('WEBHOOK', { url: 'http://127.0.0.1:1' }));
  const swept = (before: number) =>
    failLostNotifications(bench.db, { before: new Date(before), now: new Date(time), limit: 10 });
  expect(await swept(time)).toBe(0);
  expect(await swept(time + 1)).toBe(1);
  expect(await log()).toEqual([
    expect.objectContaining({ status: 'FAILURE', notificationResult: 'the last try did not end' }),
  ]);
  await bench.background.tick();
});

test('a flapping check does not flood a channel, or block other checks', async () => {
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
  await allTries();
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
  // An hour later it is sent again.
  const later = time + hourMs + 100_000;
  await raise(id, { createdAt: new Date(later) });
  await bench.background.tick();
  expect(await log(`&from=${later / 1000}`)).toEqual([expect.objectContaining({ status: 'SUCCESS' })]);
});

test('above the limit, the recovery from an alert that was sent is sent, and nothing else', async () => {
  const target = await receiver();
  const id = await createChannel('WEBHOOK', { url: target.url, template: '{{ALERT_TYPE}}' });
  const types = () => target.received.splice(0).map(({ body }) => body);
  const flaps = async (count: number, from: number) => {
    for (let index = 0; index < count; index++) {
      const alertType = index % 2 === 0 ? 'ALERT_FAILURE' : 'ALERT_RECOVERY';
      await raise(id, { alertType, createdAt: new Date(time + from + index) });
    }
    await allTries();
  };
  await flaps(limits.ofCheck - 1, 0);
  expect(types()).toEqual(['ALERT_FAILURE', 'ALERT_RECOVERY', 'ALERT_FAILURE']);
  // The last one within the limit is a reminder. However often the check flaps afterwards, one recovery follows.
  await raise(id, { alertType: 'ALERT_FAILURE_REMAIN', isReminder: true, createdAt: new Date(time + 10) });
  await raise(id, { alertType: 'ALERT_FAILURE_REMAIN', isReminder: true, createdAt: new Date(time + 11) });
  await raise(id, { alertType: 'ALERT_RECOVERY', createdAt: new Date(time + 12) });
  await flaps(6, 20);
  expect(types()).toEqual(['ALERT_FAILURE_REMAIN', 'ALERT_RECOVERY']);
  expect(await log('&status=RATE_LIMITED')).toHaveLength(7);
});

test('a deleted channel, an unreadable secret, a channel of another account', async () => {
  const gone = await createChannel('WEBHOOK', { url: 'http://127.0.0.1:1' });
  await raise(gone);
  await bench.service.call('DELETE', `/v1/alert-channels/${gone}`);
  const sealed = await createChannel('PAGING_A', { serviceKey: 'key' });
  await bench.db.query(
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
      ['FAILURE', expect.stringMatching(/^its secrets cannot be read: /)],
    ]),
  );
  await raise(sealed, { accountId: bench.service.foreign.id });
  expect(await log()).toHaveLength(2);
  const foreign = await bench.service.call<Fields[]>('GET', '/v1/alert-notifications', {
    key: bench.service.foreign.key,
  });
  expect(foreign.body).toEqual([]);
});

test('a channel test shows the status of the answer and not its body', async () => {
  const inside = await receiver((_request, response) => response.writeHead(403).end('credentials of a host'));
  const id = await createChannel('WEBHOOK', { url: inside.url });
  expect((await bench.service.call('POST', `/v1/alert-channels/${id}/test`)).status).toBe(202);
  await allTries();
  const good = await receiver((_request, response) => response.end('content of a host'));
  const second = await createChannel('CHAT_A', { url: good.url });
  expect((await bench.service.call('POST', `/v1/alert-channels/${second}/test`)).status).toBe(202);
  await allTries();
  expect(
    (await log())
      .map(({ notificationResult }) => notificationResult)
      .sort((a, b) => String(a).localeCompare(String(b))),
  ).toEqual(['HTTP 200', 'HTTP 403']);
});

test('a channel test is sent in the same way', async () => {
  const target = await receiver();
  const id = await createChannel('WEBHOOK', { url: target.url, template: '{{ALERT_TITLE}}' });
  const answer = await bench.service.call('POST', `/v1/alert-channels/${id}/test`);
  expect(answer.status).toBe(202);
  await bench.background.tick();
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
  await bench.background.tick();
  const found = async (query: string) => (await log(query)).map(({ alertId }) => alertId);
  expect(await found('')).toEqual([second.id, first.id]);
  expect(await found(`&alertChannelId=${a}`)).toEqual([first.id]);
  expect(await found(`&checkId=${checkId}`)).toHaveLength(2);
  expect(await found('&checkId=none')).toEqual([]);
  expect(await found(`&alertId=${second.id}`)).toEqual([second.id]);
  expect(await found('&status=FAILURE')).toEqual([second.id]);
  expect(await found(`&from=${(time + 30_000) / 1000}`)).toEqual([second.id]);
  expect(await found(`&to=${(time + 30_000) / 1000}`)).toEqual([first.id]);
  const page = await bench.service.call<Fields[]>('GET', '/v1/alert-notifications?limit=1&page=2');
  expect(page.body.map(({ alertId }) => alertId)).toEqual([first.id]);
  for (const query of ['status=DONE', 'from=2&to=1', 'alertChannelId=0', 'what=1']) {
    expect((await bench.service.call('GET', `/v1/alert-notifications?${query}`)).status).toBe(400);
  }
  expect((await bench.service.call('GET', '/v1/alert-notifications/none')).status).toBe(404);
});

test('a person can try a notification again that was not delivered', async () => {
  let status = 500;
  const target = await receiver((_request, response) => void response.writeHead(status).end('answer'));
  const id = await createChannel('WEBHOOK', { url: target.url, headers: [] });
  await raise(id);
  await allTries();
  const [failed] = await log();
  expect(failed).toMatchObject({ status: 'FAILURE', attempts: 6 });
  status = 200;
  const path = `/v1/alert-notifications/${String(failed?.['id'])}/retry`;
  const { account, foreign } = bench.service;
  expect((await bench.service.call('POST', path, { key: foreign.key })).status).toBe(404);
  const retried = await bench.service.call('POST', path, { key: account.key });
  expect([retried.status, retried.body['status']]).toEqual([202, 'IN_PROGRESS']);
  expect((await bench.service.call('POST', path)).status).toBe(409);
  await allTries();
  expect((await log())[0]).toMatchObject({ status: 'SUCCESS', attempts: 7 });
  expect(target.received).toHaveLength(7);
  const again = await bench.service.call('POST', path);
  expect([again.status, again.body['message']]).toEqual([
    409,
    'The notification was delivered, so it cannot be tried again.',
  ]);
  // An older one after a newer one would be the channel's last word.
  status = 500;
  await raise(id);
  await allTries();
  const [old] = await log();
  status = 200;
  await raise(id);
  await allTries();
  const late = await bench.service.call('POST', `/v1/alert-notifications/${String(old?.['id'])}/retry`);
  expect([late.status, late.body['message']]).toEqual([
    409,
    'The notification was followed by a newer one of the same check, so it cannot be tried again.',
  ]);
});
