import { describe, expect, test } from 'vitest';
import { resultStatuses } from '../../../src/protocol/result.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { databases } from '../../helpers/service/database.ts';
import { statusFields } from '../../helpers/service/error-body.ts';
import type { Fields } from '../../helpers/service/service.ts';
import { iso, resultsBench, time, type Result } from './results-bench.ts';

/** Statuses of checks, and the overview that the pages load. */

describe.each(databases)('check statuses ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const bench = resultsBench(database);
    const { createCheck, store } = bench;

    async function storeStatus(checkId: string, resultId: string, status = 'passed') {
      await bench.service.db.query(
        `insert into check_statuses (check_id, account_id, status, has_failures, has_errors, is_degraded, longest_run,
           shortest_run, last_run_location, last_check_run_id, last_started_at, ssl_days_remaining, reason, created_at)
         values ($1, $2, $3, false, false, false, 20.5, 10, 'eu-west-1', $4, $5, 30, null, $5)`,
        [checkId, bench.service.account.id, status, resultId, new Date(time)],
      );
    }

    test('another account sees no results and no statuses', async () => {
      const { service } = bench;
      const checkId = await createCheck();
      const { id } = await store(checkId);
      await storeStatus(checkId, id);
      const foreign = { key: service.foreign.key };
      for (const path of [
        `/v1/check-results/${checkId}`,
        `/v1/check-results/${checkId}/${id}`,
        `/v1/check-statuses/${checkId}`,
      ]) {
        expect((await service.call('GET', path, foreign)).status).toBe(404);
        expect((await service.call('GET', path)).status).toBe(200);
      }
      expect((await service.call('GET', '/v1/check-statuses', foreign)).body).toEqual([]);
    });

    test('statuses: one, and a page of all in the order of the checks', async () => {
      const { service } = bench;
      const checkId = await createCheck();
      const before = await service.call('GET', `/v1/check-statuses/${checkId}`);
      expect([before.status, before.body]).toEqual([
        404,
        {
          ...statusFields(404),
          message: `There is no check with a status ${checkId}.`,
          attributes: { checkId: ['names no check with a status of this account'] },
        },
      ]);
      const resultId = uuidv7(time);
      await storeStatus(checkId, resultId, 'degraded');
      const status = {
        checkId,
        name: 'A URL check',
        status: 'degraded',
        hasFailures: false,
        hasErrors: false,
        isDegraded: false,
        longestRun: 20.5,
        shortestRun: 10,
        lastRunLocation: 'eu-west-1',
        lastCheckRunId: resultId,
        lastStartedAt: iso(time),
        sslDaysRemaining: 30,
        reason: null,
        created_at: iso(time),
        updated_at: null,
      };
      expect((await service.call('GET', `/v1/check-statuses/${checkId}`)).body).toEqual(status);
      const all = await service.call<Fields[]>('GET', '/v1/check-statuses?limit=100');
      expect(all.body.filter((item) => item['checkId'] === checkId)).toEqual([status]);
      const page = await service.call<Fields[]>('GET', '/v1/check-statuses?limit=1&page=2');
      expect(page.body).toEqual([all.body[1]]);
      expect((await service.call('GET', '/v1/check-statuses?limit=101')).status).toBe(400);
    });

    test('the overview returns everything in one response', async () => {
      const { service } = bench;
      const checkId = await createCheck();
      for (const [index, status] of resultStatuses.entries()) {
        await store(checkId, { startedAt: time - index * 1000, status });
      }
      await store(checkId, { resultType: 'ATTEMPT' });
      await storeStatus(checkId, uuidv7());
      const { status, body } = await service.call('GET', '/web/overview?limit=100');
      expect(status).toBe(200);
      const { checks, locations, account } = body as {
        checks: Result[];
        locations: Fields[];
        account: Fields;
      };
      expect(account).toEqual({ name: 'First' });
      expect(locations).toContainEqual({
        name: 'eu-west-1',
        slugName: 'eu-west-1',
        agentCount: 0,
        lastSeen: null,
        minAgentVersion: null,
        runningAgents: [],
        keyCount: 0,
      });
      expect(checks.find(({ id }) => id === checkId)).toMatchObject({
        name: 'A URL check',
        status: { status: 'passed' },
        results: resultStatuses.map((name, index) => ({
          status: name,
          responseTime: 12.5,
          runLocation: 'eu-west-1',
          startedAt: iso(time - index * 1000),
        })),
      });
    });

    test('the overview has checks with the settings of their group, and no scripts', async () => {
      const { service } = bench;
      const group = await service.call<{ id: number }>('POST', '/v2/check-groups', {
        body: { name: 'Off', activated: false, muted: true, locations: ['eu-west-2'] },
      });
      const created = await service.call<{ id: string }>('POST', '/v1/checks/browser', {
        body: { name: 'Shop', script: 'a secret recipe', locations: ['eu-west-1'], groupId: group.body.id },
      });
      const { body } = await service.call('GET', '/web/overview?limit=100');
      const { checks } = body as { checks: Fields[] };
      const shown = checks.find(({ id }) => id === created.body.id);
      expect(shown).toMatchObject({
        activated: false,
        muted: true,
        locations: ['eu-west-2'],
        privateLocations: [],
      });
      expect(JSON.stringify(body)).not.toContain('recipe');
    });
  });
});
