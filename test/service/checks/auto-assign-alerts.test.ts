import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkPaths } from '../../../src/service/checks/fields/paths.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { minimalBody } from './check-bodies.ts';

/** `autoAssignAlerts`: checks and groups that are subscribed to the account's alert channels when they are written. */

type Subscriptions = { alertChannelId: number; activated: boolean }[];

describe.each(databases)('autoAssignAlerts ($name)', (database) => {
  let service: TestService;
  /** The second subscribes new checks by itself. */
  let channels: [number, number];

  const write = async (method: string, path: string, body: Fields) => {
    const answer = await service.call<Fields & { alertChannelSubscriptions: Subscriptions }>(method, path, {
      body,
    });
    expect([answer.status, answer.body['attributes']]).toEqual([method === 'POST' ? 201 : 200, undefined]);
    return answer.body;
  };
  const subscribed = ({ alertChannelSubscriptions }: { alertChannelSubscriptions: Subscriptions }) =>
    alertChannelSubscriptions.map(({ alertChannelId, activated }) => [alertChannelId, activated]);
  const all = () => channels.map((id) => [id, true]);

  beforeAll(async () => {
    if (database.unavailable !== null) return;
    service = await startTestService(await database.open());
    const create = async (key: string, fields: Fields = {}) => {
      const config = { address: 'a@example.com' };
      const { body } = await service.call<{ id: number }>('POST', '/v1/alert-channels', {
        key,
        body: { type: 'EMAIL', config, ...fields },
      });
      return body.id;
    };
    const { key } = service.account;
    channels = [await create(key), await create(key, { autoSubscribe: true })];
    await create(service.foreign.key);
  });
  afterAll(async () => {
    if (database.unavailable !== null) return;
    await service.close();
    await database.close();
  });

  describe.skipIf(database.unavailable)('with a database', () => {
    // The routes of all types are one piece of code; the OpenAPI document names the query for each.
    test.each(['API', 'DNS', 'ICMP', 'TCP', 'URL'] as const)(
      '%s: a change subscribes to all channels on demand only',
      async (type) => {
        const path = `/v1/checks/${checkPaths[type]}`;
        const created = await write('POST', `${path}?autoAssignAlerts=false`, minimalBody(type));
        expect(subscribed(created)).toEqual([[channels[1], true]]);
        const one = `${path}/${String(created['id'])}`;
        const alertChannelSubscriptions: Subscriptions = [];
        expect(subscribed(await write('PUT', one, { alertChannelSubscriptions }))).toEqual([]);
        expect(subscribed(await write('PUT', one, { name: 'Shop' }))).toEqual([]);
        expect(subscribed(await write('PUT', `${one}?autoAssignAlerts=true`, {}))).toEqual(all());
      },
    );

    test.each(['v1', 'v2'])('groups of %s are subscribed on demand only', async (generation) => {
      const path = `/${generation}/check-groups`;
      expect(subscribed(await write('POST', path, { name: 'Shop' }))).toEqual([]);
      const created = await write('POST', `${path}?autoAssignAlerts=true`, { name: 'Shop' });
      expect(subscribed(created)).toEqual(all());
      const one = `${path}/${String(created['id'])}`;
      const alertChannelSubscriptions = [{ alertChannelId: channels[0], activated: false }];
      expect(subscribed(await write('PUT', one, { alertChannelSubscriptions }))).toEqual([
        [channels[0], false],
      ]);
      // A subscription that is switched off stays off.
      expect(subscribed(await write('PUT', `${one}?autoAssignAlerts=true`, {}))).toEqual([
        [channels[0], false],
        [channels[1], true],
      ]);
      expect(subscribed(await write('PUT', `${one}?autoAssignAlerts=false`, {}))).toHaveLength(2);
    });

    test.each(['/v1/checks/url/x', '/v1/check-groups/1', '/v2/check-groups/1'])(
      '%s: it is a boolean',
      async (path) => {
        const { status, body } = await service.call('PUT', `${path}?autoAssignAlerts=yes`, { body: {} });
        expect([status, body['attributes']]).toEqual([400, { autoAssignAlerts: ['must be true or false'] }]);
      },
    );
  });
});
