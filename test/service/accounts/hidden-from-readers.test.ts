import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertTestNotification } from '../../../src/service/alert-channels/notification-statements.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** What answers hold depends on the role: locked values are for keys that may write, URLs that act for those that may run. */

let service: TestService;
const keys: { [role: string]: string } = {};

beforeAll(async () => {
  service = await startTestService(await anyDatabase.open());
  for (const role of ['ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY']) {
    keys[role] = (await make('/v1/api-keys', { name: role, role }))['rawKey'] as string;
  }
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});

async function make(path: string, body: Fields): Promise<Fields> {
  const answer = await service.call('POST', path, { body });
  expect(answer.status).toBe(201);
  return answer.body;
}
/** Which of the texts the answers to these paths hold, by role. */
async function seen(paths: string[], texts: string[]) {
  const found: { [role: string]: string[] } = {};
  for (const [role, key] of Object.entries(keys)) {
    const answers: string[] = [];
    for (const path of paths) {
      const { status, body } = await service.call('GET', path, { key });
      expect(status).toBe(200);
      answers.push(JSON.stringify(body));
    }
    found[role] = texts.filter((text) => answers.some((answer) => answer.includes(text)));
    // Every path shows it, or none does.
    for (const text of found[role])
      expect(answers.filter((answer) => answer.includes(text))).toHaveLength(paths.length);
  }
  return found;
}

test('locked values and passwords are for keys that may write', async () => {
  const pair = { key: 'x-token', value: 'locked-header', locked: true };
  const variables = [
    { key: 'LOCKED', value: 'locked-value', locked: true },
    { key: 'SECRET', value: 'secret-value', secret: true },
    { key: 'OPEN', value: 'open-value' },
  ];
  const group = await make('/v1/check-groups', {
    name: 'g',
    locations: ['eu-west-1'],
    environmentVariables: variables,
    apiCheckDefaults: {
      url: '',
      headers: [pair],
      basicAuth: { username: 'ann', password: 'locked-password' },
    },
  });
  const check = await make('/v1/checks/api', {
    name: 'c',
    groupId: group['id'],
    environmentVariables: variables,
    request: {
      method: 'GET',
      url: 'https://example.com/',
      headers: [pair],
      basicAuth: { username: 'ann', password: 'locked-password' },
    },
  });
  const id = String(check['id']);
  const groupId = String(group['id']);
  const texts = ['locked-header', 'locked-value', 'locked-password', 'secret-value', 'open-value'];
  const writer = ['locked-header', 'locked-value', 'locked-password', 'open-value'];
  const paths = [
    `/v1/checks/${id}`,
    `/v1/checks/${id}?applyGroupSettings=true`,
    `/v1/check-groups/${groupId}/checks/${id}`,
    `/v1/check-groups/${groupId}`,
    `/v2/check-groups/${groupId}`,
  ];
  expect(await seen(paths, texts)).toEqual({
    ADMIN: writer,
    READ_WRITE: writer,
    READ_RUN: ['open-value'],
    READ_ONLY: ['open-value'],
  });
  const lists = await seen(
    ['/v1/checks', '/v1/check-groups', `/v1/check-groups/${groupId}/checks`],
    ['locked-password'],
  );
  expect([lists['READ_RUN'], lists['READ_ONLY']]).toEqual([[], []]);

  for (const variable of variables) await make('/v1/variables', variable);
  expect(await seen(['/v1/variables'], ['locked-value', 'secret-value', 'open-value'])).toEqual({
    ADMIN: ['locked-value', 'open-value'],
    READ_WRITE: ['locked-value', 'open-value'],
    READ_RUN: ['open-value'],
    READ_ONLY: ['open-value'],
  });
  expect(
    (await service.call('GET', '/v1/variables/LOCKED', { key: keys['READ_RUN'] ?? '' })).body['value'],
  ).toBe('');
});

test('URLs that start runs and ping are for keys that may run', async () => {
  const heartbeat = await make('/v1/checks/heartbeat', {
    name: 'h',
    heartbeat: { period: 1, periodUnit: 'hours', grace: 1, graceUnit: 'minutes' },
  });
  const { pingUrl } = heartbeat['heartbeat'] as { pingUrl: string };
  const token = pingUrl.slice(pingUrl.lastIndexOf('/') + 1);
  const forRunners = (text: string) => ({
    ADMIN: [text],
    READ_WRITE: [text],
    READ_RUN: [text],
    READ_ONLY: [],
  });
  expect(await seen([`/v1/checks/${String(heartbeat['id'])}`, '/v1/checks'], [token])).toEqual(
    forRunners(token),
  );

  const request = { url: 'https://example.com/' };
  const check = await make('/v1/checks/url', { name: 'u', locations: ['eu-west-1'], request });
  const path = `/v1/triggers/checks/${String(check['id'])}`;
  const trigger = await make(path, {});
  expect(await seen([path], [String(trigger['token'])])).toEqual(forRunners(String(trigger['token'])));
});

test('URLs, header values and query parameters of alert channels are for keys that may write', async () => {
  const webhook = await make('/v1/alert-channels', {
    type: 'WEBHOOK',
    config: {
      name: 'hook',
      url: 'http://127.0.0.1:1/hook-secret',
      headers: [{ key: 'authorization', value: 'header-secret' }],
      queryParameters: [{ key: 'token', value: 'query-secret' }],
    },
    autoSubscribe: true,
  });
  const chat = await make('/v1/alert-channels', {
    type: 'CHAT_A',
    config: { url: 'https://chat.example/chat-secret', channel: 'alerts' },
    autoSubscribe: true,
  });
  const request = { url: 'https://example.com/' };
  const group = await make('/v1/check-groups', {
    name: 'g2',
    alertChannelSubscriptions: [webhook, chat].map(({ id }) => ({ alertChannelId: id, activated: true })),
  });
  const check = await make('/v1/checks/url', {
    name: 'u',
    groupId: group['id'],
    locations: ['eu-west-1'],
    request,
  });
  const checkPath = `/v1/checks/${String(check['id'])}`;
  const forWriters = (texts: string[]) => ({
    ADMIN: texts,
    READ_WRITE: texts,
    READ_RUN: [],
    READ_ONLY: [],
  });
  const texts = ['hook-secret', 'header-secret', 'query-secret', 'chat-secret'];
  expect(
    await seen(
      [
        '/v1/alert-channels',
        checkPath,
        `${checkPath}?applyGroupSettings=true`,
        '/v1/checks',
        `/v1/check-groups/${String(group['id'])}/checks`,
      ],
      texts,
    ),
  ).toEqual(forWriters(texts));

  // The log of deliveries has the URL in the config, and here in the text as well.
  await insertTestNotification(service.db, {
    accountId: service.account.id,
    channelId: Number(webhook['id']),
    now: new Date(),
  });
  await service.db.query(
    `update alert_notifications set result = 'No answer from http://127.0.0.1:1/hook-secret' where channel_id = $1`,
    [webhook['id']],
  );
  const [logged] = (await service.call<Fields[]>('GET', '/v1/alert-notifications')).body;
  const logs = ['/v1/alert-notifications', `/v1/alert-notifications/${String(logged?.['id'])}`];
  expect(await seen(logs, ['hook-secret'])).toEqual(forWriters(['hook-secret']));
  const reader = keys['READ_ONLY'] ?? '';
  expect((await service.call('GET', logs[1] ?? '', { key: reader })).body['notificationResult']).toBe(
    'No answer from *********',
  );

  // What a reader has seen may be sent back by a writer: the stored values stay.
  for (const { id } of [webhook, chat]) {
    const path = `/v1/alert-channels/${String(id)}`;
    const { config } = (await service.call('GET', path, { key: reader })).body;
    expect(JSON.stringify(config)).toContain('*********');
    expect((await service.call('PUT', path, { body: { config } })).status).toBe(200);
  }
  expect((await seen(['/v1/alert-channels'], ['hook-secret', 'chat-secret']))['ADMIN']).toEqual([
    'hook-secret',
    'chat-secret',
  ]);
  const masked = { type: 'CHAT_A', config: { url: '*********' } };
  expect((await service.call('POST', '/v1/alert-channels', { body: masked })).body['attributes']).toEqual({
    'config.url': ['is required'],
  });
});
