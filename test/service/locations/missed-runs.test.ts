import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addCheck, addLocation } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** Runs that no agent took in time, over time and by check. */

const now = Date.parse('2026-03-05T12:00:00.000Z');
const hour = 3_600_000;

describe.each(databases)('missed runs ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    let api: TestService;
    let path: string;
    let often: string;
    beforeAll(async () => {
      api = await startTestService(await database.open(), { now: () => now });
      const { db, account } = api;
      const office = await addLocation(db, { accountId: account.id, slug: 'office' });
      path = `/v1/private-locations/${office.id}/missed-runs`;
      often = await addCheck(db, { accountId: account.id, privateLocations: ['office'], now });
      const once = await addCheck(db, { accountId: account.id, privateLocations: ['office'], now });
      const missed = (at: number, count?: number) => ({
        at,
        status: 'missed' as const,
        runLocation: 'office',
        details: count === undefined ? {} : { count },
      });
      await storeRuns(db, { accountId: account.id, checkId: often }, [
        missed(now - 2 * hour, 5),
        missed(now - 2 * hour + 1000, 2),
        missed(now - 5 * hour),
        missed(now - 30 * hour, 100),
        { ...missed(now - hour, 50), runLocation: 'elsewhere' },
        { at: now - hour, runLocation: 'office' },
      ]);
      await storeRuns(db, { accountId: account.id, checkId: once }, [missed(now - 2 * hour + 2000)]);
    });
    afterAll(async () => {
      await api.close();
      await database.close();
    });

    test('of the last day, by check and in parts', async () => {
      const { status, body } = await api.call('GET', path);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        from: '2026-03-04T12:00:00.000Z',
        to: '2026-03-05T12:00:00.000Z',
        bucketSeconds: 900,
        buckets: [
          { from: '2026-03-05T07:00:00.000Z', count: 1 },
          { from: '2026-03-05T10:00:00.000Z', count: 8 },
        ],
        checks: [{ checkId: often, count: 8, lastAt: '2026-03-05T10:00:01.000Z' }, { count: 1 }],
      });
    });

    test('of any range up to 31 days', async () => {
      const query = (days: number) => `${path}?from=${now / 1000 - days * 86_400}&to=${now / 1000}`;
      const { body } = await api.call<{ bucketSeconds: number; checks: { count: number }[] }>(
        'GET',
        query(31),
      );
      expect([body.bucketSeconds, body.checks[0]?.count]).toEqual([43_200, 108]);
      expect((await api.call('GET', query(32))).status).toBe(400);
      expect((await api.call('GET', `${path}?from=${now / 1000 + 5}`)).status).toBe(400);
      expect((await api.call('GET', path, { key: api.foreign.key })).status).toBe(404);
    });
  });
});
