import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { createErrorFollower } from '../../../src/service/error-groups/follow-errors.ts';
import {
  addChannel,
  alertsOf,
  createAlertReplica,
  endRuns,
  idleBackground,
} from '../../helpers/service/alert-runs.ts';
import type { Background } from '../../../src/service/engine/background.ts';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Failed runs of SSL, GRPC and TRACEROUTE checks: alerts, error groups, statuses, reports and the exporter. */

const start = Date.parse('2026-03-05T12:00:30.000Z');
const failures = [
  ['SSL', 'CERT_EXPIRES_SOON', 'shop.example expires in 3 days, on 2026-03-08'],
  ['GRPC', 'GRPC_HEALTH', 'the health service answers NOT_SERVING'],
  ['TRACEROUTE', 'DESTINATION_NOT_REACHED', 'the target did not answer within 30 hops'],
] as const;

describe.each(databases)('types of networks on $name', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const clock = createClock(start);
    let db: Db;
    let service: TestService;
    let background: Background;

    beforeAll(async () => {
      db = await database.open();
      background = await idleBackground(db);
      service = await startTestService(db, { now: clock.now });
    });
    afterAll(async () => {
      await service.close();
      await background.stop();
      await database.close();
    });

    test.each(failures)('%s', async (checkType, code, message) => {
      const accountId = service.account.id;
      const checkId = await addCheck(db, { accountId, checkType, now: clock.now() });
      const channel = await addChannel(db, { accountId, checkId });
      const { follow } = createAlertReplica(db, {
        background,
        clock,
        after: createErrorFollower(async () => undefined),
      });
      const end = async (status: 'passed' | 'failed') => {
        clock.advance(10_000);
        const parts = [{ status, ...(status === 'failed' ? { code, message } : {}) }];
        const [id = ''] = await endRuns(db, [{ checkId, accountId, at: clock.now(), checkType, parts }]);
        await follow();
        return id;
      };
      await end('passed');
      const failed = await end('failed');

      expect(await alertsOf(db, checkId)).toEqual([`FAILURE to ${channel}`]);
      const groups = await service.call<Fields[]>('GET', `/v1/error-groups/checks/${checkId}`);
      expect(groups.body).toMatchObject([{ checkId, rawErrorMessage: message }]);
      const result = await service.call('GET', `/v1/check-results/${checkId}/${failed}`);
      expect(result.body).toMatchObject({
        checkType,
        hasFailures: true,
        errorGroupIds: [groups.body[0]?.['id']],
      });
      const status = await service.call('GET', `/v1/check-statuses/${checkId}`);
      expect(status.body).toMatchObject({ checkId, hasFailures: true });

      const range = `from=${start / 1000 - 3600}&to=${start / 1000 + 3600}`;
      const report = await service.call<Fields[]>('GET', `/v1/reporting?${range}`);
      expect(report.status).toBe(200);
      expect(report.body.map((one) => one['checkId'])).toContain(checkId);
      const page = await fetch(`${service.url}/v1/metrics`, {
        headers: { authorization: `Bearer ${service.account.key}` },
      });
      const lines = (await page.text()).split('\n').filter((line) => line.includes(checkId));
      expect(lines.find((line) => line.startsWith('check_up{'))).toMatch(/ 0$/);
      expect(lines.join('\n')).toContain(`check_type="${checkType}"`);
      await end('passed');
      expect(await alertsOf(db, checkId)).toEqual([`FAILURE to ${channel}`, `RECOVERY to ${channel}`]);
    });
  });
});
