import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countListed } from '../../../src/service/db/count-rows.ts';
import type { Db } from '../../../src/service/db/database.ts';
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
  let db: Db;
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
    db = await database.open();
    service = await startTestService(db);
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
      ['/v1/check-alerts?page=2', 'items */0'],
      ['/v1/location-alerts?page=2', 'items */0'],
      ['/v1/alert-notifications?page=2', 'items */0'],
      ['/v1/check-sessions?page=2', 'items */0'],
      ['/v1/test-sessions?page=2', 'items */0'],
      ['/v1/reporting?limit=2', 'items 0-1/5'],
      ['/v1/reporting?limit=2&filterByTags=shop&page=2', 'items 2-2/3'],
      ['/v1/reporting?limit=3&filterByTags=shop', 'items 0-2/3'],
      ['/v1/projects/none/deployments?page=2', 'items */0'],
    ])('%s', async (path, range) => expect(await rangeOf(path)).toEqual([200, range]));

    test('another account counts only its own', async () => {
      const { headers } = await service.call('GET', '/v1/checks?limit=1', { key: service.foreign.key });
      expect(headers.get('content-range')).toBe('items */0');
    });

    test('a full page of a log has the total, also with a filter', async () => {
      const fields = { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' };
      const { body } = await service.call('POST', '/v1/checks/heartbeat', {
        body: { name: 'Nightly', heartbeat: fields },
      });
      const { id: heartbeat, heartbeat: own } = body as { id: string; heartbeat: { pingUrl: string } }; // of our own API
      const { pathname } = new URL(own.pingUrl);
      for (let ping = 0; ping < 3; ping++) expect((await service.call('GET', pathname)).status).toBe(200);
      const events = `/v1/checks/heartbeats/${heartbeat}/events`;
      expect(await rangeOf(`${events}?limit=2`)).toEqual([200, 'items 0-1/3']);
      expect(await rangeOf(`${events}?limit=3`)).toEqual([200, 'items 0-2/3']);
      await service.call('DELETE', `/v1/checks/${heartbeat}`);
    });

    test('a list by cursor has the number of entries on all pages', async () => {
      const totalOf = async (path: string) => {
        const { status, headers } = await service.call('GET', path);
        return [status, headers.get('x-total-count'), headers.get('content-range')];
      };
      for (const name of ['Web', 'Mail', 'Search'])
        await service.call('POST', '/v1/status-pages/services', { body: { name } });
      const page = { name: 'Shop', url: 'shop', cards: [] };
      await service.call('POST', '/v1/status-pages', { body: page });
      expect(await totalOf('/v1/status-pages/services?limit=2')).toEqual([200, '3', null]);
      const { body } = await service.call('GET', '/v1/status-pages/services?limit=2');
      const next = `/v1/status-pages/services?limit=2&nextId=${String(body['nextId'])}`;
      expect(await totalOf(next)).toEqual([200, '3', null]);
      expect(await totalOf('/v1/status-pages')).toEqual([200, '1', null]);
      expect(await totalOf('/v1/status-pages/incidents')).toEqual([200, '0', null]);
      expect(await totalOf('/v2/check-sessions')).toEqual([200, '0', null]);
      const { body: checks } = await service.call('GET', '/v1/checks?limit=1');
      const [check] = checks as unknown as { id: string }[]; // a list
      expect(await totalOf(`/v2/check-results/${check?.id}`)).toEqual([200, '0', null]);
      expect(await rangeOf(`/v1/check-results/${check?.id}?page=2`)).toEqual([200, 'items */0']);
      expect(await totalOf('/v1/status-pages/services?limit=0')).toEqual([400, null, null]);
    });

    test('beyond 10,000 entries the total is left out', async () => {
      const pages = await countListed(db, (counting, { limit }) =>
        counting.query('select from generate_series(1, 20000) limit $1', [limit]),
      );
      const all = await countListed(db, (counting, { limit }) =>
        counting.query('select from generate_series(1, 10000) limit $1', [limit]),
      );
      expect([pages, all]).toEqual([null, 10_000]);
    });

    test('neither an error, nor one entry, nor a list by cursor has it', async () => {
      expect(await rangeOf('/v1/checks?limit=0')).toEqual([400, null]);
      expect(await rangeOf('/v1/accounts/me')).toEqual([200, null]);
      expect(await rangeOf('/v2/check-sessions')).toEqual([200, null]);
    });
  });
});
