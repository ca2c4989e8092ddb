import { describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { databases } from '../../helpers/service/database.ts';
import { statusFields } from '../../helpers/service/error-body.ts';
import type { Fields } from '../../helpers/service/service.ts';
import { iso, resultsBench, time } from './results-bench.ts';

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
  });
});
