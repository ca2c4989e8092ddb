import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAlertFollower } from '../../../src/service/alerting/follow-alerts.ts';
import { createLocationFollower } from '../../../src/service/alerting/follow-locations.ts';
import { listAlerts } from '../../../src/service/alerting/statements.ts';
import type { Db } from '../../../src/service/db/database.ts';
import type { Background } from '../../../src/service/engine/background.ts';
import { createFinishedRuns } from '../../../src/service/results/finished-runs.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  createClock,
  silent,
} from '../../helpers/service/agent-service.ts';
import {
  addChannel,
  alertsOf,
  endRuns,
  idleBackground,
  type Status,
} from '../../helpers/service/alert-runs.ts';
import { databases } from '../../helpers/service/database.ts';

/** Alerts about locations whose own network fails: one per transition, and none about checks. */

const start = Date.parse('2026-03-01T12:00:00Z');
const second = 1000;

describe.each(databases)('location alerts on $name', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    let db: Db;
    let background: Background;
    let accountId = '';
    let locationId = '';
    let checkIds: string[] = [];
    let channel = 0;
    const clock = createClock(start);

    beforeAll(async () => {
      db = await database.open();
      background = await idleBackground(db);
    });
    beforeEach(async () => {
      clock.set(start);
      accountId = await addAccount(db);
      ({ id: locationId } = await addLocation(db, { accountId, slug: 'harbour' }));
      const options = { accountId, now: start, privateLocations: ['harbour'] };
      checkIds = [await addCheck(db, options), await addCheck(db, options)];
      channel = await addChannel(db, { accountId, checkId: checkIds[0]! });
    });
    afterAll(async () => {
      await background.stop();
      await database.close();
    });

    const follow = () => {
      const { now } = clock;
      const followers = [
        createAlertFollower({ background, incidents: null, now }),
        createLocationFollower({ background, now }),
      ];
      return createFinishedRuns({ db, followers, now, log: silent }).tick();
    };
    /** Ends runs of both checks `afterMs` after the start. */
    async function end(afterMs: number, status: Status, code?: string, ids = checkIds) {
      clock.set(start + afterMs);
      const message = 'the gateway 10.0.0.1 is not on the network';
      const part = { status, location: 'harbour', ...(code === undefined ? {} : { code, message }) };
      await endRuns(
        db,
        ids.map((checkId) => ({ checkId, accountId, at: clock.now(), parts: [part] })),
      );
      await follow();
    }
    const spoil = (afterMs: number, ids = checkIds) => end(afterMs, 'errored', 'OWN_NETWORK', ids);
    const locationAlerts = () => alertsOf(db, locationId);

    test('an outage of many runs: one alert when it begins, one when it ends, none about checks', async () => {
      const recoveries = await addChannel(db, { accountId, checkId: checkIds[1]!, flags: 'R' });
      await end(0, 'passed');
      for (let at = 10; at <= 60; at += 10) await spoil(at * second);
      expect(await locationAlerts()).toEqual([`LOCATION_NETWORK to ${channel}`]);
      // Measured again, but not long enough after the latest spoiled run.
      await end(70 * second, 'passed');
      expect(await locationAlerts()).toHaveLength(1);
      await end(125 * second, 'passed');
      await end(135 * second, 'passed');
      expect(await locationAlerts()).toEqual([
        `LOCATION_NETWORK to ${channel}`,
        `LOCATION_NETWORK_RECOVERY to ${channel}`,
      ]);
      expect(recoveries).toBeGreaterThan(0);
      for (const id of checkIds) expect(await alertsOf(db, id)).toEqual([]);
      const page = { accountId, checkId: null, from: null, to: null, limit: 10, offset: 0 };
      expect(await listAlerts(db, page)).toEqual([]);
      const [newest, oldest] = await listAlerts(db, { ...page, ofLocations: true });
      expect(newest).toMatchObject({ alertType: 'ALERT_LOCATION_NETWORK_RECOVERY', locationId });
      expect(oldest).toMatchObject({
        checkName: 'harbour',
        error: 'the gateway 10.0.0.1 is not on the network',
        startedAt: new Date(start + 10 * second),
      });
    });

    test('a check that was failing stays so: the outage neither raises nor ends its alert', async () => {
      const [id = ''] = checkIds;
      await end(0, 'failed', 'ECONNREFUSED', [id]);
      await spoil(10 * second, [id]);
      await end(20 * second, 'failed', 'ECONNREFUSED', [id]);
      await end(30 * second, 'passed', undefined, [id]);
      expect(await alertsOf(db, id)).toEqual([`FAILURE to ${channel}`, `RECOVERY to ${channel}`]);
    });

    test('the trouble lasts while one check of the location is still spoiled', async () => {
      const [first = '', other = ''] = checkIds;
      await spoil(0);
      for (let at = 70; at <= 200; at += 10) await end(at * second, 'passed', undefined, [first]);
      expect(await locationAlerts()).toEqual([`LOCATION_NETWORK to ${channel}`]);
      await end(210 * second, 'passed', undefined, [other]);
      expect(await locationAlerts()).toHaveLength(2);
    });

    test('other errors of the agent raise no alert about the location', async () => {
      await end(0, 'errored', 'ICMP_UNAVAILABLE');
      expect(await locationAlerts()).toEqual([]);
    });

    test('results of the outage that arrive late do not begin it again', async () => {
      await spoil(10 * second);
      await end(90 * second, 'passed');
      await end(100 * second, 'passed');
      await spoil(20 * second);
      expect(await locationAlerts()).toHaveLength(2);
      await spoil(200 * second);
      expect(await locationAlerts()).toHaveLength(3);
    });

    test('channels of muted checks and of other locations are not notified', async () => {
      const elsewhere = await addCheck(db, { accountId, now: start, privateLocations: ['elsewhere'] });
      await addChannel(db, { accountId, checkId: elsewhere });
      await db.query('update checks set muted = true where id = $1', [checkIds[0]]);
      await spoil(0);
      expect(await locationAlerts()).toEqual(['LOCATION_NETWORK']);
    });
  });
});
