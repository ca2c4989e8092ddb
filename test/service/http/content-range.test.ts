import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contentRange } from '../../../src/service/http/content-range.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { minimalBody } from '../checks/check-bodies.ts';

/** `content-range` of lists. */

test.each([
  [{ offset: 10, count: 10, total: 57 }, 'items 10-19/57'],
  [{ offset: 0, count: 1, total: 1 }, 'items 0-0/1'],
  [{ offset: 20, count: 5, total: null }, 'items 20-24/*'],
  [{ offset: 0, count: 0, total: 0 }, 'items */0'],
  [{ offset: 50, count: 0, total: 7 }, 'items */7'],
])('%j is %s', (page, text) => expect(contentRange(page)).toBe(text));

describe.each(databases)('lists ($name)', (database) => {
  let service: TestService;
  let groupId: unknown;
  let channelId: unknown;

  const create = async (path: string, fields: object) => {
    const { status, body } = await service.call('POST', path, { body: fields });
    expect([status, body['attributes']]).toEqual([201, undefined]);
    return body['id'];
  };
  const rangeOf = async (path: string) => {
    const { status, headers } = await service.call('GET', path);
    return [status, headers.get('content-range')];
  };

  beforeAll(async () => {
    if (database.unavailable !== null) return;
    service = await startTestService(await database.open());
    channelId = await create('/v1/alert-channels', { type: 'EMAIL', config: { address: 'a@example.com' } });
    groupId = await create('/v1/check-groups', { name: 'Shop' });
    for (let made = 0; made < 5; made++) {
      const tags = made < 3 ? ['shop'] : [];
      await create('/v1/checks/url', minimalBody('URL', { tags, groupId: made < 3 ? groupId : null }));
      await create('/v1/snippets', { name: `snippet${made}`, script: '1' });
      await create('/v1/variables', { key: `KEY_${made}`, value: '1' });
      await create('/v1/private-locations', { name: `Office ${made}`, slugName: `office-${made}` });
    }
  });
  afterAll(async () => {
    if (database.unavailable !== null) return;
    await service.close();
    await database.close();
  });

  describe.skipIf(database.unavailable)('with a database', () => {
    test.each([
      ['', 'items 0-4/5'],
      ['?limit=2', 'items 0-1/5'],
      ['?limit=2&page=2', 'items 2-3/5'],
      ['?limit=2&page=3', 'items 4-4/5'],
      ['?limit=5', 'items 0-4/5'],
      ['?limit=5&page=2', 'items */5'],
      ['?limit=2&page=9', 'items */5'],
    ])('/v1/checks%s', async (query, range) => {
      for (const path of ['/v1/checks', '/v1/snippets', '/v1/variables', '/v1/private-locations'])
        expect([path, ...(await rangeOf(`${path}${query}`))]).toEqual([path, 200, range]);
    });

    test('a filter counts, and so do the members of a group and the subscriptions of a channel', async () => {
      expect(await rangeOf('/v1/checks?limit=2&tag=shop')).toEqual([200, 'items 0-1/3']);
      expect(await rangeOf('/v1/checks?limit=2&checkType=DNS')).toEqual([200, 'items */0']);
      expect(await rangeOf(`/v1/check-groups/${String(groupId)}/checks?limit=2`)).toEqual([
        200,
        'items 0-1/3',
      ]);
      const subscriptions = `/v1/alert-channels/${String(channelId)}/subscriptions?limit=2`;
      expect(await rangeOf(subscriptions)).toEqual([200, 'items 0-1/5']);
    });

    test.each([
      ['/v1/check-groups?limit=1', 'items 0-0/1'],
      ['/v2/check-groups?limit=1', 'items 0-0/1'],
      ['/v1/alert-channels?limit=1', 'items 0-0/1'],
      ['/v1/api-keys?limit=1', 'items 0-0/1'],
      ['/v1/accounts?limit=1', 'items 0-0/1'],
      ['/v1/accounts?limit=1&page=2', 'items */1'],
      ['/v1/incidents?limit=2', 'items */0'],
      ['/v1/maintenance-windows', 'items */0'],
      ['/v1/maintenance-windows?limit=1&page=2', 'items */0'],
      ['/v1/client-certificates', 'items */0'],
      ['/v1/check-statuses?page=2', 'items */0'],
      ['/v1/locations', 'items 0-21/22'],
      ['/v1/runtimes', 'items 0-6/7'],
      ['/v1/check-alerts', 'items */0'],
      // Nobody counts the logs.
      ['/v1/check-alerts?page=2', 'items */*'],
    ])('%s', async (path, range) => expect(await rangeOf(path)).toEqual([200, range]));

    test('another account counts only its own', async () => {
      const { headers } = await service.call('GET', '/v1/checks?limit=1', { key: service.foreign.key });
      expect(headers.get('content-range')).toBe('items */0');
    });

    test('neither an error, nor one entry, nor a list by cursor has it', async () => {
      expect(await rangeOf('/v1/checks?limit=0')).toEqual([400, null]);
      expect(await rangeOf('/v1/accounts/me')).toEqual([200, null]);
      expect(await rangeOf('/v2/check-sessions')).toEqual([200, null]);
    });
  });
});
