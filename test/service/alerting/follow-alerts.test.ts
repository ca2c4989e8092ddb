import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findAlert } from '../../../src/service/alerting/statements.ts';
import type { AlertIncidents } from '../../../src/service/alerting/raise-alerts.ts';
import type { Background } from '../../../src/service/engine/background.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import {
  addChannel,
  addWindow,
  alertsOf,
  createAlertReplica,
  endRuns,
  idleBackground,
  type Part,
  type Status,
} from '../../helpers/service/alert-runs.ts';
import { addAccount, addCheck, addLocation, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

const start = Date.parse('2026-03-01T12:00:00Z');
const minute = 60_000;

describe.each(databases)('alerts on $name', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const statements: string[] = [];
    let replicas: Db[];
    let background: Background;
    let accountId = '';
    const clock = createClock(start);
    const db = () => replicas[0]!;
    const replica = (index = 0, incidents: AlertIncidents | null = null) =>
      createAlertReplica(replicas[index]!, { background, clock, incidents });

    beforeAll(async () => {
      replicas = await database.openReplicas(2, { onStatement: ({ sql }) => void statements.push(sql) });
      background = await idleBackground(db());
    });
    beforeEach(async () => {
      clock.set(start);
      accountId = await addAccount(db());
    });
    afterAll(async () => {
      await background.stop();
      await database.close();
    });

    const check = (definition: Record<string, unknown> = {}) =>
      addCheck(db(), { accountId, now: start, definition });
    /** Settings of its own. */
    const own = (alertSettings: object) => ({ useGlobalAlertSettings: false, alertSettings });
    const threshold = (failedRunThreshold: number) => own({ runBasedEscalation: { failedRunThreshold } });
    const reminding = (amount: number, interval: number) => own({ reminders: { amount, interval } });
    const one = (status: Status, rest: Omit<Part, 'status'> = {}): Part[] => [{ status, ...rest }];
    /** Ends a run now, and has it followed. */
    async function end(checkId: string, ...statuses: Status[]) {
      for (const status of statuses) {
        clock.advance(1000);
        await endRuns(db(), [{ checkId, accountId, at: clock.now(), parts: one(status) }]);
        await replica().follow();
      }
    }

    test('a failure and its recovery: an alert snapshot, and the subscribed channels', async () => {
      const { slug } = await addLocation(db(), { accountId, slug: 'harbour' });
      const id = await check({ description: 'What it is for' });
      await db().query(`update checks set tags = '{a,b}', name = 'Shop' where id = $1`, [id]);
      const both = await addChannel(db(), { accountId, checkId: id });
      const failures = await addChannel(db(), { accountId, checkId: id, flags: 'F' });
      const recoveries = await addChannel(db(), { accountId, checkId: id, flags: 'R' });
      await addChannel(db(), { accountId, checkId: id, flags: 'D' });
      await addChannel(db(), { accountId, checkId: id, activated: false });
      const [resultId = ''] = await endRuns(db(), [
        {
          checkId: id,
          accountId,
          at: start,
          parts: one('failed', {
            location: slug,
            message: 'the response has the status 503',
            details: {
              response: {
                status: 503,
                statusText: 'Service Unavailable',
                href: 'https://shop.example.com/a?b',
              },
              certificate: { daysRemaining: 80, validTo: '2026-06-01T00:00:00Z' },
            },
          }),
        },
      ]);
      clock.advance(500);
      await replica().follow();
      await end(id, 'passed');
      expect(await alertsOf(db(), id)).toEqual([
        `FAILURE to ${both} ${failures}`,
        `RECOVERY to ${both} ${recoveries}`,
      ]);
      const [row] = await db().query<{ id: string }>(
        'select id from alerts where check_id = $1 order by id',
        [id],
      );
      expect(await findAlert(db(), row?.id ?? '')).toEqual({
        id: row?.id,
        accountId,
        checkId: id,
        locationId: null,
        checkName: 'Shop',
        checkType: 'URL',
        checkDescription: 'What it is for',
        tags: ['a', 'b'],
        groupId: null,
        groupName: null,
        alertType: 'ALERT_FAILURE',
        resultId,
        runLocation: 'harbour',
        runLocationName: 'harbour',
        runLocations: ['harbour'],
        responseTime: 12.5,
        error: 'the response has the status 503',
        statusCode: 503,
        statusText: 'Service Unavailable',
        sslDomain: 'shop.example.com',
        sslDaysRemaining: 80,
        isReminder: false,
        reminderSequence: 0,
        isLate: false,
        silenced: false,
        startedAt: new Date(start),
        createdAt: new Date(start + 500),
      });
    });

    test('degraded alerts are sent to channels with sendDegraded; channels with a failure alert also get its recovery by way of degraded', async () => {
      const id = await check();
      const usual = await addChannel(db(), { accountId, checkId: id });
      const all = await addChannel(db(), { accountId, checkId: id, flags: 'FRD' });
      await end(id, 'degraded', 'passed', 'failed', 'degraded', 'passed');
      expect(await alertsOf(db(), id)).toEqual([
        `DEGRADED to ${all}`,
        `DEGRADED_RECOVERY to ${all}`,
        `FAILURE to ${usual} ${all}`,
        `FAILURE_DEGRADED to ${all}`,
        `DEGRADED_RECOVERY to ${usual} ${all}`,
      ]);
    });

    test('all locations of a run are one run, and their state outlives the replica', async () => {
      const id = await check(threshold(2));
      const gate = { enabled: true, percentage: 50 };
      const gated = await check(own({ parallelRunFailureThreshold: gate }));
      const parts = (...statuses: Status[]) =>
        statuses.map((status, index): Part => ({
          status,
          location: `place-${index}`,
          message: `at ${index}`,
        }));
      const failing = parts('passed', 'failed', 'failed');
      await endRuns(db(), [{ checkId: id, accountId, at: start, parts: failing }]);
      await endRuns(db(), [
        { checkId: gated, accountId, at: start, parts: parts('failed', 'passed', 'passed') },
      ]);
      await replica().follow();
      expect(await alertsOf(db(), id)).toEqual([]);
      clock.advance(minute);
      await endRuns(db(), [{ checkId: id, accountId, at: clock.now(), parts: failing }]);
      await endRuns(db(), [{ checkId: gated, accountId, at: clock.now(), parts: parts('failed', 'passed') }]);
      await replica(1).follow();
      expect(await alertsOf(db(), id)).toEqual(['FAILURE_REMAIN']);
      expect(await alertsOf(db(), gated)).toEqual(['FAILURE']);
      const rows = await db().query('select run_locations, error from alerts where check_id = $1', [id]);
      expect(rows).toEqual([{ run_locations: ['place-1', 'place-2'], error: 'at 1' }]);
    });

    test('more parts than a batch has are still one run', async () => {
      const id = await check(threshold(2));
      const parts = Array.from({ length: 130 }, (_, index): Part => ({
        status: 'failed',
        location: `p${index}`,
      }));
      await endRuns(db(), [{ checkId: id, accountId, at: start, parts }]);
      for (let round = 0; round < 3; round++) await replica().follow();
      expect(await alertsOf(db(), id)).toEqual([]);
      await end(id, 'failed');
      expect(await alertsOf(db(), id)).toEqual(['FAILURE_REMAIN']);
    });

    test('errored, old and repeated results have no effect', async () => {
      const id = await check();
      await end(id, 'passed', 'errored', 'passed');
      const runId = uuidv7(start - minute);
      await endRuns(db(), [{ checkId: id, accountId, at: start - minute, runId, parts: one('failed') }]);
      await replica().follow();
      expect(await alertsOf(db(), id)).toEqual([]);
      const at = clock.now() + 1000;
      const again = uuidv7(at);
      for (const status of ['passed', 'failed'] as const) {
        await endRuns(db(), [{ checkId: id, accountId, at, runId: again, parts: one(status) }]);
        await replica().follow();
      }
      expect(await alertsOf(db(), id)).toEqual([]);
    });

    test('tests, and runs that were missed or cancelled, are not heard of', async () => {
      const id = await check();
      await end(id, 'cancelled', 'missed');
      await endRuns(db(), [{ checkId: id, accountId, at: clock.now(), isTest: true, parts: one('failed') }]);
      await replica().follow();
      expect(await alertsOf(db(), id)).toEqual([]);
      expect(await db().query('select 1 from alert_states where check_id = $1', [id])).toEqual([]);
    });

    test('two replicas at once: each run counts once, those of a check in their order', async () => {
      const ids = await Promise.all(Array.from({ length: 6 }, () => check(threshold(3))));
      const statuses = ['failed', 'failed', 'failed', 'passed', 'failed', 'failed', 'passed'] as const;
      const runs = statuses.flatMap((status, index) =>
        ids.map((checkId) => ({ checkId, accountId, at: start + index * 1000, parts: one(status) })),
      );
      // Never the same moment twice, so that alerts have an order.
      let time = start + minute;
      const ticking = { ...clock, now: () => ++time };
      const follow = async (index: number) => {
        const own = createAlertReplica(replicas[index]!, { background, clock: ticking });
        for (let round = 0; round < 8; round++) await own.follow();
      };
      const both = Promise.all([follow(0), follow(1)]);
      for (const run of runs) await endRuns(db(), [run]);
      await both;
      await follow(0);
      for (const id of ids) expect(await alertsOf(db(), id)).toEqual(['FAILURE_REMAIN', 'RECOVERY']);
    });

    test('an escalation by time is raised without a run, once, by any replica', async () => {
      const id = await check(
        own({ escalationType: 'TIME_BASED', timeBasedEscalation: { minutesFailingThreshold: 10 } }),
      );
      const channel = await addChannel(db(), { accountId, checkId: id });
      await end(id, 'failed');
      clock.advance(10 * minute - 2000);
      await Promise.all([replica(0).time(), replica(1).time()]);
      expect(await alertsOf(db(), id)).toEqual([]);
      clock.advance(2000);
      await Promise.all([replica(0).time(), replica(1).time()]);
      await end(id, 'failed', 'passed');
      clock.advance(60 * minute);
      await replica().time();
      expect(await alertsOf(db(), id)).toEqual([`FAILURE_REMAIN to ${channel}`, `RECOVERY to ${channel}`]);
    });

    test('two replicas send each reminder once, and stop with the recovery', async () => {
      const ids = await Promise.all(Array.from({ length: 5 }, () => check(reminding(2, 5))));
      const unlimited = await check(reminding(100_000, 1));
      for (const id of [...ids, unlimited]) await end(id, 'failed');
      for (let round = 0; round < 3; round++) {
        clock.advance(5 * minute);
        await Promise.all([replica(0).time(), replica(1).time()]);
      }
      for (const id of ids) {
        expect(await alertsOf(db(), id)).toEqual([
          'FAILURE',
          'FAILURE_REMAIN reminder 1',
          'FAILURE_REMAIN reminder 2',
        ]);
      }
      await end(unlimited, 'passed');
      clock.advance(5 * minute);
      await replica().time();
      expect((await alertsOf(db(), unlimited)).at(-1)).toBe('RECOVERY');
      expect(await alertsOf(db(), unlimited)).toHaveLength(5);
      const [row] = await db().query(
        'select error, is_reminder, started_at from alerts where reminder_sequence = 2',
      );
      expect(row).toMatchObject({ is_reminder: true, started_at: expect.any(Date) as Date });
    });

    test('no notification is sent for checks that are muted, deactivated or in a window, nor later for failures that began there', async () => {
      const muted = await check();
      await db().query('update checks set muted = true where id = $1', [muted]);
      const off = await check(reminding(5, 1));
      const windowed = await check();
      await db().query(`update checks set tags = '{payments}' where id = $1`, [windowed]);
      const channels = [];
      for (const checkId of [muted, off, windowed])
        channels.push(await addChannel(db(), { accountId, checkId }));
      await addWindow(db(), { accountId, tags: ['payments'], from: start, to: start + minute });
      await end(off, 'failed');
      await db().query('update checks set activated = false where id = $1', [off]);
      await end(muted, 'failed', 'passed');
      await end(windowed, 'failed');
      clock.advance(2 * minute);
      await replica().time();
      await end(windowed, 'failed', 'passed', 'failed');
      expect(await alertsOf(db(), muted)).toEqual(['FAILURE silenced']);
      expect(await alertsOf(db(), off)).toEqual([`FAILURE to ${channels[1]}`]);
      expect(await alertsOf(db(), windowed)).toEqual(['FAILURE silenced', `FAILURE to ${channels[2]}`]);
    });

    test('a failure that is muted is not reminded of until it is heard again', async () => {
      const id = await check(reminding(5, 1));
      await end(id, 'failed');
      for (const muted of [true, true, false]) {
        await db().query('update checks set muted = $2 where id = $1', [id, muted]);
        clock.advance(minute);
        await replica().time();
      }
      expect(await alertsOf(db(), id)).toEqual(['FAILURE', 'FAILURE_REMAIN reminder 3']);
    });

    test('a group with a policy overrides the check and its channels; one without does not', async () => {
      const groupOf = async (definition: object) => {
        const rows = await db().query<{ id: number }>(
          'insert into check_groups (account_id, name, definition) values ($1, $2, $3::jsonb) returning id',
          [accountId, 'Group', JSON.stringify(definition)],
        );
        return rows[0]?.id ?? 0;
      };
      const alertSettings = { runBasedEscalation: { failedRunThreshold: 2 } };
      await db().query('update accounts set alert_settings = $2::jsonb where id = $1', [
        accountId,
        JSON.stringify({ runBasedEscalation: { failedRunThreshold: 3 } }),
      ]);
      const expected: [object, number][] = [
        [{ useGlobalAlertSettings: null, alertSettings }, 1],
        [{ useGlobalAlertSettings: true, alertSettings }, 3],
        [{ useGlobalAlertSettings: false, alertSettings }, 2],
      ];
      for (const [definition, runs] of expected) {
        const groupId = await groupOf(definition);
        const id = await check(threshold(1));
        await db().query('update checks set group_id = $2 where id = $1', [id, groupId]);
        const ofCheck = await addChannel(db(), { accountId, checkId: id });
        const ofGroup = await addChannel(db(), { accountId, groupId });
        for (let count = 1; count <= runs; count++) {
          expect(await alertsOf(db(), id)).toEqual([]);
          await end(id, 'failed');
        }
        const channel = runs === 1 ? ofCheck : ofGroup;
        expect(await alertsOf(db(), id)).toEqual([`FAILURE${runs > 1 ? '_REMAIN' : ''} to ${channel}`]);
      }
      const global = await check();
      await end(global, 'failed', 'failed');
      expect(await alertsOf(db(), global)).toEqual([]);
      await end(global, 'failed');
      expect(await alertsOf(db(), global)).toEqual(['FAILURE_REMAIN']);
    });

    test('incidents are opened and resolved once, in the same transaction', async () => {
      const calls: string[] = [];
      const incidents: AlertIncidents = {
        opened: async (_tx, { trigger, alertId }) => {
          expect(alertId).toMatch(/^[0-9a-f-]{36}$/);
          calls.push(`opened ${trigger.serviceId}`);
        },
        resolved: async (_tx, { checkId }) => void calls.push(`resolved ${checkId}`),
      };
      const id = await check({ triggerIncident: { serviceId: 'web', name: 'Down', description: '' } });
      const plain = await check();
      for (const status of ['failed', 'failed', 'degraded', 'failed', 'passed', 'passed'] as const) {
        clock.advance(1000);
        for (const checkId of [id, plain]) {
          await endRuns(db(), [{ checkId, accountId, at: clock.now(), parts: one(status) }]);
        }
        await replica(0, incidents).follow();
      }
      expect(calls.filter((call) => !call.includes(plain))).toEqual(['opened web', `resolved ${id}`]);
    });

    test('a run that cannot be processed does not block other runs or timers', async () => {
      const poison = await check(own({ runBasedEscalation: null, reminders: null }));
      const other = await check(reminding(1, 1));
      const runs = [poison, other].map((checkId) => ({
        checkId,
        accountId,
        at: start,
        parts: one('failed'),
      }));
      await endRuns(db(), runs);
      await replica().follow();
      expect(await alertsOf(db(), other)).toEqual(['FAILURE']);
      await db().query(
        `insert into alert_states (check_id, account_id, status, since, alerted, alerted_at, due_at)
         values ($1, $2, 'failing', $3, true, $3, $3)`,
        [poison, accountId, new Date(start)],
      );
      clock.advance(minute);
      await replica().time();
      expect(await alertsOf(db(), other)).toEqual(['FAILURE', 'FAILURE_REMAIN reminder 1']);
      const [state] = await db().query('select due_at from alert_states where check_id = $1', [poison]);
      expect(state).toEqual({ due_at: new Date(clock.now() + 30_000) });
      await db().query('delete from checks where id = $1', [poison]);
      await db().query('delete from finished_runs');
    });

    test('a run that is postponed is followed before the later runs of its check', async () => {
      const id = await check();
      const runs = (['failed', 'passed'] as const).map((status, index) => ({
        checkId: id,
        accountId,
        at: start + index * 1000,
        parts: one(status),
      }));
      await endRuns(db(), runs);
      await db().query(`update finished_runs set not_before = $1 where status = 'failed'`, [
        new Date(clock.now() + 5_000),
      ]);
      await replica().follow();
      expect(await alertsOf(db(), id)).toEqual([]);
      clock.advance(6_000);
      await replica().follow();
      expect(await alertsOf(db(), id)).toEqual(['FAILURE', 'RECOVERY']);
    });

    test('an alert that is rolled back is raised again, once', async () => {
      const id = await check(reminding(1, 1));
      const channel = await addChannel(db(), { accountId, checkId: id });
      let crashes = 2;
      const crash = async () => {
        if (crashes-- > 0) throw new Error('the database went away');
      };
      const crashing = createAlertReplica(db(), { background, clock, after: crash });
      await endRuns(db(), [{ checkId: id, accountId, at: start, parts: one('failed') }]);
      await crashing.follow();
      expect(await alertsOf(db(), id)).toEqual([]);
      clock.advance(10_000);
      await crashing.follow();
      await crashing.follow();
      expect(await alertsOf(db(), id)).toEqual([`FAILURE to ${channel}`]);
    });

    test('passing runs of checks that pass cost one statement together', async () => {
      const ids: string[] = [];
      for (let count = 0; count < 50; count++) ids.push(await check());
      const passing = () =>
        ids.map((checkId) => ({ checkId, accountId, at: clock.now(), parts: one('passed') }));
      await endRuns(db(), passing());
      await replica().follow();
      clock.advance(minute);
      await endRuns(db(), passing());
      statements.length = 0;
      await replica().follow();
      expect(statements.filter((sql) => /alert|check_results|maintenance/.test(sql))).toEqual([
        expect.stringMatching(/^update alert_states/) as string,
      ]);
      const rows = await db().query<{ count: number }>(
        'select count(*)::integer as count from alert_states where last_run_at = $1 and check_id = any($2::uuid[])',
        [new Date(clock.now()), ids],
      );
      expect(rows[0]?.count).toBe(50);
    });

    test('a certificate that expires: each channel once at its threshold, and again for the next certificate', async () => {
      const id = await check();
      const month = await addChannel(db(), { accountId, checkId: id, ssl: 30 });
      const week = await addChannel(db(), { accountId, checkId: id, ssl: 7 });
      await addChannel(db(), { accountId, checkId: id, ssl: null });
      /** A run that sees a certificate, which expires at `expiry`. */
      async function see(daysRemaining: number, expiry: string, status: Status = 'passed') {
        clock.advance(61 * minute);
        const certificate = { daysRemaining, validTo: `${expiry}T00:00:00.000Z` };
        const details = { request: { url: 'https://shop.example.com/' }, response: null, certificate };
        await endRuns(db(), [{ checkId: id, accountId, at: clock.now(), parts: one(status, { details }) }]);
        await replica().follow();
      }
      await see(31, '2026-04-01');
      expect(await alertsOf(db(), id)).toEqual([]);
      await see(30, '2026-04-01');
      await see(30, '2026-04-01');
      await see(7, '2026-04-01');
      await see(6, '2026-04-01');
      expect(await alertsOf(db(), id)).toEqual([`SSL to ${month}`, `SSL to ${week}`]);
      await see(90, '2026-07-01');
      await see(29, '2026-07-01', 'failed');
      expect(await alertsOf(db(), id)).toEqual([
        `SSL to ${month}`,
        `SSL to ${week}`,
        'FAILURE to ' + [month, week, week + 1].join(' '),
        `SSL to ${month}`,
      ]);
      const [row] = await db().query(
        'select ssl_domain, ssl_days_remaining from alerts where check_id = $1 order by created_at',
        [id],
      );
      expect(row).toEqual({ ssl_domain: 'shop.example.com', ssl_days_remaining: 30 });
    });

    test('deleting an account deletes its alerts; deleting a check deletes only its state', async () => {
      const id = await check();
      await end(id, 'failed');
      await db().query('delete from checks where id = $1', [id]);
      expect(await alertsOf(db(), id)).toEqual(['FAILURE']);
      expect(await db().query('select 1 from alert_states where check_id = $1', [id])).toEqual([]);
      await db().query('delete from accounts where id = $1', [accountId]);
      expect(await alertsOf(db(), id)).toEqual([]);
    });
  });
});
