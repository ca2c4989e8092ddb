import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { channelsOf } from '../../../src/service/alert-channels/subscription-statements.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { minimalBody } from '../checks/check-bodies.ts';

/** Alert channels and who is subscribed to them: from the channel's side, the check's and the group's. */

const time = Date.parse('2026-03-04T05:06:07.000Z');
const at = new Date(time).toISOString();
const mask = '*********';

type Channel = Fields & { id: number; config: Fields; subscriptions: (Fields & { id: number })[] };
type Check = Fields & { id: string; alertChannelSubscriptions: Fields[] };

const webhook = {
  name: 'Hook',
  url: 'https://hooks.example/{{CHECK_ID}}',
  method: 'PUT',
  template: '{"t": "{{ALERT_TITLE}}"}',
  headers: [
    { key: 'x-open', value: 'a', locked: false },
    { key: 'authorization', value: 'Bearer hidden-header', locked: true },
  ],
  queryParameters: [{ key: 'token', value: 'hidden-parameter', locked: true }],
  webhookSecret: 'hidden-secret',
  webhookType: 'WEBHOOK_OTHER',
};

/** The minimal body of each type, and its stored form. */
const types: [type: string, config: Fields, shown: Fields][] = [
  ['EMAIL', { address: 'ops@shop.example' }, {}],
  ['CHAT_A', { url: 'https://chat.example/hook' }, { channel: '' }],
  ['CHAT_A_APP', { channels: ['#ops', '#shop'] }, {}],
  ['SMS', { number: '+31612345678' }, { name: '' }],
  ['CALL', { number: '+31 6 1234 5678', name: 'Duty' }, {}],
  ['PAGING_A', { serviceKey: 'hidden-key' }, { account: '', serviceName: '', serviceKey: mask }],
  ['PAGING_B', { apiKey: 'hidden-key' }, { name: '', apiKey: mask, region: 'US', priority: 'P3' }],
  [
    'WEBHOOK',
    { url: 'https://hooks.example/' },
    {
      name: '',
      method: 'POST',
      template: '',
      headers: [],
      queryParameters: [],
      webhookSecret: null,
      webhookType: null,
    },
  ],
];

describe.each(databases)('alert channels ($name)', (database) => {
  let service: TestService;

  beforeAll(async () => {
    if (database.unavailable !== null) return;
    service = await startTestService(await database.open(), { now: () => time });
  });
  afterAll(async () => {
    if (database.unavailable !== null) return;
    await service.close();
    await database.close();
  });

  const call = <B = Channel>(method: string, path: string, body?: unknown, key?: string) =>
    service.call<B>(method, path, { body, ...(key === undefined ? {} : { key }) });
  const create = async (fields: Fields = {}, key?: string) => {
    const body = { type: 'EMAIL', config: { address: 'ops@shop.example' }, ...fields };
    const answer = await call('POST', '/v1/alert-channels', body, key);
    expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ type: body.type })]);
    return answer.body;
  };
  const createCheck = async (fields: Fields = {}, query = '') => {
    const { status, body } = await call<Check>('POST', `/v1/checks/url${query}`, minimalBody('URL', fields));
    expect([status, body]).toEqual([201, expect.objectContaining({ checkType: 'URL' })]);
    return body;
  };
  const attributes = (answer: { body: Fields }) => answer.body['attributes'];
  const removeAll = () => service.db.query('delete from alert_channels');

  describe.skipIf(database.unavailable)('with a database', () => {
    test.each(types)(
      '%s: is created with defaults, read, sent back as read, and deleted',
      async (type, config, more) => {
        const created = await create({ type, config });
        const { id } = created;
        const channel = {
          id,
          type,
          config: { ...config, ...more },
          subscriptions: [],
          sendRecovery: true,
          sendFailure: true,
          sendDegraded: false,
          sslExpiry: false,
          sslExpiryThreshold: 30,
          autoSubscribe: false,
          created_at: at,
          updated_at: null,
        };
        expect(created).toEqual(channel);
        expect((await call('GET', `/v1/alert-channels/${id}`)).body).toEqual(channel);
        const changed = await call('PUT', `/v1/alert-channels/${id}`, channel);
        expect([changed.status, changed.body]).toEqual([200, { ...channel, updated_at: at }]);
        const listed = await call<Channel[]>('GET', '/v1/alert-channels?limit=100');
        expect(listed.body.find((one) => one.id === id)).toEqual({ ...channel, updated_at: at });
        expect((await call('DELETE', `/v1/alert-channels/${id}`)).status).toBe(204);
        expect((await call('GET', `/v1/alert-channels/${id}`)).status).toBe(404);
        expect((await call('DELETE', `/v1/alert-channels/${id}`)).status).toBe(404);
      },
    );

    test('secrets are encrypted at rest, never shown, and kept when they are sent back', async () => {
      const { id, config } = await create({ type: 'WEBHOOK', config: webhook });
      const shown = {
        ...webhook,
        headers: [webhook.headers[0], { key: 'authorization', value: mask, locked: true }],
        queryParameters: [{ key: 'token', value: mask, locked: true }],
        webhookSecret: mask,
      };
      expect(config).toEqual(shown);
      const stored = async () => {
        const [row] = await service.db.query<{ config: typeof webhook }>(
          'select config from alert_channels where id = $1',
          [id],
        );
        return row!.config;
      };
      const before = await stored();
      expect(JSON.stringify(before)).not.toContain('hidden');
      const opened = (row: typeof webhook) =>
        [row.webhookSecret, row.headers[1]!.value, row.queryParameters[0]!.value].map((value) =>
          service.encryption.open(value),
        );
      const secrets = ['hidden-secret', 'Bearer hidden-header', 'hidden-parameter'];
      expect(opened(before)).toEqual(secrets);
      await call('PUT', `/v1/alert-channels/${id}`, { config: shown });
      expect(opened(await stored())).toEqual(secrets);
      const empty = {
        ...webhook,
        webhookSecret: '',
        headers: [{ key: 'authorization', value: '', locked: true }],
      };
      const changed = await call('PUT', `/v1/alert-channels/${id}`, { config: empty });
      expect(changed.body.config['webhookSecret']).toBe(mask);
      const after = await stored();
      expect(service.encryption.open(after.headers[0]!.value)).toBe('Bearer hidden-header');
      const gone = await call('PUT', `/v1/alert-channels/${id}`, {
        config: { ...webhook, webhookSecret: null },
      });
      expect(gone.body.config['webhookSecret']).toBeNull();
      // A masked value must match a stored one.
      const headers = [{ key: 'x-new', value: mask, locked: true }];
      const unknown = { ...webhook, headers, webhookSecret: mask };
      const refused = await call('PUT', `/v1/alert-channels/${id}`, { config: unknown });
      expect([refused.status, attributes(refused)]).toEqual([
        400,
        { 'config.webhookSecret': ['is required'], 'config.headers.0.value': ['is required'] },
      ]);
      for (const [type, field] of [
        ['PAGING_A', 'serviceKey'],
        ['PAGING_B', 'apiKey'],
      ] as const) {
        const answer = await call('POST', '/v1/alert-channels', { type, config: { [field]: '' } });
        expect([answer.status, attributes(answer)]).toEqual([400, { [`config.${field}`]: ['is required'] }]);
      }
    });

    test.each<[body: Fields, problems: Fields]>([
      [{}, { type: ['is required'], config: ['is required'] }],
      [{ type: 'FAX', config: {} }, { type: [expect.stringMatching(/^must be one of EMAIL, /)] }],
      [{ type: 'EMAIL', config: {} }, { 'config.address': ['is required'] }],
      [{ type: 'EMAIL', config: { address: 'nobody' } }, { 'config.address': ['must be: a mail address'] }],
      [
        { type: 'EMAIL', config: { address: 'a@b.example', url: 'x' } },
        { 'config.url': ['is not a known field'] },
      ],
      [{ type: 'CHAT_A_APP', config: { channels: [] } }, { 'config.channels': ['must have 1 to 20 items'] }],
      [
        { type: 'SMS', config: { number: 'home' } },
        { 'config.number': [expect.stringMatching(/^must be: /)] },
      ],
      [
        { type: 'WEBHOOK', config: { url: 'ftp://x/', method: 'TRACE' } },
        { 'config.method': [expect.stringMatching(/^must be one of POST/)] },
      ],
      [
        { type: 'WEBHOOK', config: { url: 'ftp://x/' } },
        { 'config.url': ['must begin with http:// or https://'] },
      ],
      [
        { type: 'WEBHOOK', config: { url: 'http://x/', template: '{{#if}}' } },
        { 'config.template': [expect.stringMatching(/^is not a valid template: Parse error/)] },
      ],
      [
        {
          type: 'WEBHOOK',
          config: {
            url: 'http://x/',
            headers: [
              { key: 'Content-Length', value: '5' },
              { key: 'x-a', value: 'a\r\nx-b: c' },
              { key: 'x-c', value: 'caf\u00e9' },
            ],
          },
        },
        {
          'config.headers.0.key': ['must not be Content-Length: the service sets it'],
          'config.headers.1.value': [expect.stringMatching(/^must have no line breaks/)],
        },
      ],
      [
        { type: 'EMAIL', config: { address: 'a@b.example' }, sslExpiryThreshold: 31 },
        { sslExpiryThreshold: ['must be from 1 to 30'] },
      ],
      [
        { type: 'EMAIL', config: { address: 'a@b.example' }, sslExpiryThreshold: 0 },
        { sslExpiryThreshold: ['must be from 1 to 30'] },
      ],
      [
        { type: 'EMAIL', config: { address: 'a@b.example' }, subscriptions: [{ activated: true }] },
        { 'subscriptions.0.checkId': ['or groupId is required'] },
      ],
      [
        {
          type: 'EMAIL',
          config: { address: 'a@b.example' },
          subscriptions: [
            { activated: true, groupId: 99 },
            { activated: false, checkId: 'no id' },
            { groupId: 1 },
          ],
        },
        { 'subscriptions.2.activated': ['is required'] },
      ],
    ])('refused: %j', async (body, problems) => {
      const answer = await call('POST', '/v1/alert-channels', body);
      expect([answer.status, attributes(answer)]).toEqual([400, problems]);
    });

    test('the type of a channel cannot be changed', async () => {
      const { id } = await create();
      const answer = await call('PUT', `/v1/alert-channels/${id}`, { type: 'SMS' });
      expect([answer.status, Object.keys(attributes(answer) as Fields)]).toEqual([400, ['type']]);
    });

    test('a subscription is created, read, listed, changed and removed; the check and the group show it', async () => {
      await removeAll();
      const check = await createCheck();
      const group = (await call<Channel>('POST', '/v2/check-groups', { name: 'Shop' })).body;
      const { id } = await create();
      const path = `/v1/alert-channels/${id}/subscriptions`;
      const ofCheck = await call<Channel>('PUT', path, { activated: true, checkId: check.id });
      const subscription = {
        id: ofCheck.body.id,
        alertChannelId: id,
        activated: true,
        checkId: check.id,
        groupId: null,
      };
      expect([ofCheck.status, ofCheck.body]).toEqual([200, subscription]);
      const ofGroup = await call<Channel>('PUT', path, { activated: true, groupId: group.id, checkId: null });
      expect(ofGroup.body).toEqual({
        ...subscription,
        id: ofGroup.body.id,
        checkId: null,
        groupId: group.id,
      });
      // The same again is the same subscription.
      const off = await call<Channel>('PUT', path, { ...subscription, activated: false });
      expect(off.body).toEqual({ ...subscription, activated: false });
      expect((await call<Fields[]>('GET', path)).body).toEqual([off.body, ofGroup.body]);
      expect((await call('GET', `${path}/${ofCheck.body.id}`)).body).toEqual(off.body);
      expect((await call('GET', `/v1/alert-channels/${id}`)).body.subscriptions).toEqual([
        off.body,
        ofGroup.body,
      ]);
      const shownCheck = (await call<Check>('GET', `/v1/checks/${check.id}`)).body;
      expect(shownCheck.alertChannelSubscriptions).toEqual([{ alertChannelId: id, activated: false }]);
      expect(shownCheck['alertChannels']).toEqual({ email: [], webhook: [], chat_a: [], sms: [] });
      const shownGroup = (await call<Check>('GET', `/v1/check-groups/${group.id}`)).body;
      expect(shownGroup.alertChannelSubscriptions).toEqual([{ alertChannelId: id, activated: true }]);
      expect((await call('DELETE', `${path}/${ofCheck.body.id}`)).status).toBe(204);
      expect((await call('DELETE', `${path}/${ofCheck.body.id}`)).status).toBe(404);
      expect((await call('GET', `${path}/${ofCheck.body.id}`)).status).toBe(404);
      // Checks and channels take their subscriptions with them.
      await call('PUT', path, { activated: true, checkId: check.id });
      await service.call('DELETE', `/v1/checks/${check.id}`);
      expect((await call<Fields[]>('GET', path)).body).toHaveLength(1);
      await service.call('DELETE', `/v1/alert-channels/${id}`);
      expect(
        (await call<Check>('GET', `/v1/check-groups/${group.id}`)).body.alertChannelSubscriptions,
      ).toEqual([]);
    });

    test('a subscription refers to one check or one group of this account', async () => {
      const { id } = await create();
      const foreign = await create({}, service.foreign.key);
      const group = (await call<Channel>('POST', '/v2/check-groups', { name: 'Theirs' }, service.foreign.key))
        .body;
      const path = `/v1/alert-channels/${id}/subscriptions`;
      const noCheck = '0198c0de-0000-7000-8000-000000000000';
      const cases: [Fields, Fields][] = [
        [{ activated: true }, { checkId: ['or groupId is required'] }],
        [{ activated: true, checkId: noCheck, groupId: 1 }, { checkId: ['and groupId exclude each other'] }],
        [{ activated: true, checkId: noCheck }, { checkId: [`names no check of this account (${noCheck})`] }],
        [{ activated: true, checkId: 'x' }, { checkId: ['names no check of this account (x)'] }],
        [
          { activated: true, groupId: group.id },
          { groupId: [`names no check group of this account (${group.id})`] },
        ],
        [{ checkId: noCheck }, { activated: ['is required'] }],
      ];
      for (const [body, problems] of cases) {
        const answer = await call('PUT', path, body);
        expect([answer.status, attributes(answer)]).toEqual([400, problems]);
      }
      for (const [method, suffix, body] of [
        ['GET', '', undefined],
        ['PUT', '', { sendDegraded: true }],
        ['DELETE', '', undefined],
        ['POST', '/test', undefined],
        ['GET', '/subscriptions', undefined],
        ['PUT', '/subscriptions', { activated: true, checkId: noCheck }],
        ['GET', '/subscriptions/1', undefined],
        ['DELETE', '/subscriptions/1', undefined],
      ] as const) {
        for (const of of [foreign.id, 'x', 999_999]) {
          expect([
            method,
            suffix,
            (await call(method, `/v1/alert-channels/${of}${suffix}`, body)).status,
          ]).toEqual([method, suffix, 404]);
        }
      }
      expect(
        (await call<Channel[]>('GET', '/v1/alert-channels?limit=100')).body.map((one) => one.id),
      ).not.toContain(foreign.id);
    });

    test('a body of a channel sets all of its subscriptions', async () => {
      await removeAll();
      const [one, two] = [await createCheck(), await createCheck()];
      const group = (await call<Channel>('POST', '/v2/check-groups', { name: 'Shop' })).body;
      const channel = await create({
        subscriptions: [
          { activated: true, checkId: one.id },
          { activated: false, groupId: group.id },
        ],
      });
      const told = (row: Channel) =>
        row.subscriptions.map(({ checkId, groupId, activated }) => [checkId ?? groupId, activated] as const);
      expect(told(channel)).toEqual([
        [one.id, true],
        [group.id, false],
      ]);
      const path = `/v1/alert-channels/${channel.id}`;
      const changed = await call('PUT', path, {
        subscriptions: [
          { activated: true, checkId: two.id },
          { activated: true, groupId: group.id },
        ],
      });
      expect(new Map(told(changed.body))).toEqual(
        new Map<unknown, boolean>([
          [group.id, true],
          [two.id, true],
        ]),
      );
      expect(told((await call('PUT', path, { sendDegraded: true })).body)).toHaveLength(2);
      // What was read in part is not all that there is.
      expect(told((await call('PUT', path, { subscriptions: [], isPartial: true })).body)).toHaveLength(2);
      expect(told((await call('PUT', path, { subscriptions: [] })).body)).toEqual([]);
      const twice = [
        { activated: true, checkId: one.id },
        { activated: true, checkId: one.id },
      ];
      const refused = await call('PUT', path, { subscriptions: twice });
      expect([refused.status, attributes(refused)]).toEqual([
        400,
        { 'subscriptions.1.checkId': ['is given twice'] },
      ]);
    });

    test('new checks are subscribed to all channels, or to those with autoSubscribe; the body takes precedence', async () => {
      await removeAll();
      const [a, b, c] = [await create(), await create({ autoSubscribe: true }), await create()];
      const ids = ({ alertChannelSubscriptions }: Check) =>
        alertChannelSubscriptions.map(({ alertChannelId, activated }) => [alertChannelId, activated]);
      expect(ids(await createCheck())).toEqual([a.id, b.id, c.id].map((id) => [id, true]));
      expect(ids(await createCheck({}, '?autoAssignAlerts=false'))).toEqual([[b.id, true]]);
      const said = {
        alertChannelSubscriptions: [{ alertChannelId: b.id, activated: false }, { alertChannelId: c.id }],
      };
      expect(ids(await createCheck(said, '?autoAssignAlerts=false'))).toEqual([
        [b.id, false],
        [c.id, true],
      ]);
      const check = await createCheck(said);
      expect(ids(check)).toEqual([
        [a.id, true],
        [b.id, false],
        [c.id, true],
      ]);
      // Left out stays; given replaces.
      const path = `/v1/checks/url/${check.id}`;
      expect(ids((await call<Check>('PUT', path, { name: 'Other' })).body)).toHaveLength(3);
      expect(ids((await call<Check>('PUT', path, { ...check, alertChannelSubscriptions: [] })).body)).toEqual(
        [],
      );
      const refused = await call('PUT', path, {
        alertChannelSubscriptions: [
          { alertChannelId: a.id },
          { alertChannelId: 999_999 },
          { alertChannelId: a.id },
        ],
      });
      expect([refused.status, attributes(refused)]).toEqual([
        400,
        {
          'alertChannelSubscriptions.1.alertChannelId': ['names no alert channel of this account (999999)'],
          'alertChannelSubscriptions.2.alertChannelId': [`is given twice (${a.id})`],
        },
      ]);
      const foreign = await create({}, service.foreign.key);
      const group = await call('POST', '/v1/check-groups', {
        name: 'Group',
        alertChannelSubscriptions: [{ alertChannelId: foreign.id }],
      });
      expect([group.status, Object.keys(attributes(group) as Fields)]).toEqual([
        400,
        ['alertChannelSubscriptions.0.alertChannelId'],
      ]);
    });

    test('checks show the details of their channels, in lists too, and of their group with its settings', async () => {
      await removeAll();
      await create({ config: { address: 'a@shop.example' } });
      await create({ type: 'WEBHOOK', config: webhook });
      await create({ type: 'CHAT_A', config: { url: 'https://chat.example/hook', channel: '#ops' } });
      await create({ type: 'SMS', config: { number: '+31612345678', name: 'Duty' } });
      const pager = await create({ type: 'PAGING_A', config: { serviceKey: 'hidden-key' } });
      const group = (
        await call<Channel>('POST', '/v1/check-groups', {
          name: 'Shop',
          alertChannelSubscriptions: [{ alertChannelId: pager.id }],
        })
      ).body;
      const check = await createCheck({ groupId: group.id });
      const alertChannels = {
        email: [{ address: 'a@shop.example' }],
        webhook: [
          {
            url: webhook.url,
            name: 'Hook',
            method: 'PUT',
            headers: [webhook.headers[0], { key: 'authorization', value: mask, locked: true }],
            queryParameters: [{ key: 'token', value: mask, locked: true }],
          },
        ],
        chat_a: [{ url: 'https://chat.example/hook' }],
        sms: [{ number: '+31612345678', name: 'Duty' }],
      };
      expect(check['alertChannels']).toEqual(alertChannels);
      const listed = (await call<Check[]>('GET', '/v1/checks?limit=100')).body.find(
        ({ id }) => id === check.id,
      );
      expect(listed?.['alertChannels']).toEqual(alertChannels);
      const applied = (await call<Check[]>('GET', `/v1/check-groups/${group.id}/checks`)).body;
      expect(applied.map((one) => [one.alertChannelSubscriptions, one['alertChannels']])).toEqual([
        [[{ alertChannelId: pager.id, activated: true }], { email: [], webhook: [], chat_a: [], sms: [] }],
      ]);
      const { db, account } = service;
      const of = { accountId: account.id, checkId: check.id, groupId: group.id };
      expect((await channelsOf(db, { ...of, ofGroup: true })).map(({ id }) => id)).toEqual([pager.id]);
      expect(await channelsOf(db, { ...of, ofGroup: false })).toHaveLength(5);
    });
  });
});
