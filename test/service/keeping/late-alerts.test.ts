import { describe, expect, it } from 'vitest';
import type { Assignment } from '../../../src/protocol/assignments.ts';
import { listAlerts } from '../../../src/service/alerting/statements.ts';
import type { Background } from '../../../src/service/engine/background.ts';
import { alertFacts, alertVariables } from '../../../src/service/notifications/alert-variables.ts';
import { addChannel, createAlertReplica, idleBackground } from '../../helpers/service/alert-runs.ts';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench, keptResult, type KeepingAgent } from './keeping-bench.ts';

/** Alerts about runs that took place while the service was away: the same rules, and marked as late. */

const start = '2026-03-04T05:06:07.000Z';
const minute = 60_000;
/** Checks are due at 6 s past each minute. */
const first = Date.parse('2026-03-04T05:07:06.000Z');
const failed = {
  status: 'failed',
  hasFailures: true,
  reason: { code: 'TIMEOUT', owner: 'target', message: 'it did not answer' },
};

describe.each(databases)('late alerts: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);
    let background: Background | null = null;

    type Scene = {
      agent: KeepingAgent;
      /** Reports the runs of these minutes in one call. */
      deliver: (outcomes: Record<number, 'passed' | 'failed'>) => Promise<void>;
      follow: () => Promise<unknown>;
      /** Reports them, and follows them. */
      report: (outcomes: Record<number, 'passed' | 'failed'>) => Promise<void>;
      time: () => Promise<void>;
      alerts: () => Promise<string[]>;
    };
    async function scene(alertSettings: object): Promise<Scene> {
      const { db, accountId } = current();
      background ??= await idleBackground(db);
      const replica = createAlertReplica(db, { background, clock });
      const definition = { useGlobalAlertSettings: false, alertSettings };
      const id = await addCheck(db, {
        accountId,
        privateLocations: ['office'],
        now: clock.now(),
        definition,
      });
      await addChannel(db, { accountId, checkId: id });
      const agent = await current().connect();
      await agent.renewHeld();
      await current().handOut();
      await agent.renewHeld();
      const check: Assignment | undefined = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      const deliver: Scene['deliver'] = async (outcomes) => {
        clock.advance(1_000);
        const results = Object.entries(outcomes).map(([index, outcome]) =>
          keptResult(check, first + Number(index) * minute, outcome === 'failed' ? failed : {}),
        );
        for (const { outcome } of await agent.report(...results)) expect(outcome).toBe('stored');
      };
      return {
        agent,
        deliver,
        follow: () => replica.follow(),
        // Alerts of one moment have no order.
        report: async (outcomes) => {
          await deliver(outcomes);
          await replica.follow();
        },
        time: () => {
          clock.advance(1_000);
          return replica.time();
        },
        alerts: async () => {
          const page = { checkId: id, from: null, to: null, limit: 10, offset: 0 };
          const rows = await listAlerts(db, { accountId, ...page });
          return rows.reverse().map((alert) => {
            const context = { alert, publicUrl: 'http://service.example' };
            const isShown = alertFacts(context).some(({ name }) => name === 'Late');
            expect(alertVariables(context)['IS_LATE']).toBe(isShown);
            return `${alert.alertType} of minute ${Math.floor((alert.startedAt.getTime() - first) / minute)}${isShown ? ', late' : ''}`;
          });
        },
      };
    }
    const byRuns = { escalationType: 'RUN_BASED', runBasedEscalation: { failedRunThreshold: 2 } };
    const byTime = { escalationType: 'TIME_BASED', timeBasedEscalation: { minutesFailingThreshold: 5 } };

    it('are raised by the number of runs, once, and later ones are not late', async () => {
      const { agent, report, alerts } = await scene(byRuns);
      clock.set(first + 1_000);
      await report({ 0: 'passed' });
      // Away for half an hour.
      clock.set(first + 30 * minute + 1_000);
      await report({ 1: 'failed', 2: 'passed', 3: 'failed', 4: 'failed' });
      expect(await alerts()).toEqual(['ALERT_FAILURE_REMAIN of minute 4, late']);
      await report({ 5: 'failed', 6: 'passed', 30: 'passed' });
      await agent.renewHeld({ reportedTo: clock.now() });
      for (const index of [31, 32]) {
        clock.set(first + index * minute + 1_000);
        await report({ [index]: 'failed' });
      }
      expect(await alerts()).toEqual([
        'ALERT_FAILURE_REMAIN of minute 4, late',
        'ALERT_RECOVERY of minute 6, late',
        'ALERT_FAILURE_REMAIN of minute 32',
      ]);
    });

    it('are not raised by time if a later run has ended the failure, which the service learns of last', async () => {
      const { agent, report, time, alerts } = await scene(byTime);
      clock.set(first + 1_000);
      await report({ 0: 'passed' });
      await agent.renewHeld({ reportedTo: first });
      clock.set(first + 30 * minute + 1_000);
      await report({ 1: 'failed', 2: 'failed' });
      await time();
      expect(await alerts()).toEqual([]);
      await report({ 3: 'passed' });
      await agent.renewHeld({ reportedTo: clock.now() });
      await time();
      expect(await alerts()).toEqual([]);
    });

    it('are not raised by time before the runs that the service has are followed', async () => {
      const { agent, deliver, follow, report, time, alerts } = await scene(byTime);
      clock.set(first + 1_000);
      await report({ 0: 'passed' });
      await agent.renewHeld({ reportedTo: first });
      clock.set(first + 30 * minute + 1_000);
      await report({ 1: 'failed', 2: 'failed' });
      await deliver({ 3: 'passed' });
      await agent.renewHeld({ reportedTo: clock.now() });
      await time();
      expect(await alerts()).toEqual([]);
      await follow();
      await time();
      expect(await alerts()).toEqual([]);
    });

    it('are raised by time if the failure went on, or if no later run is to come', async () => {
      const { agent, report, time, alerts } = await scene(byTime);
      clock.set(first + 1_000);
      await report({ 0: 'passed' });
      await agent.renewHeld({ reportedTo: first });
      clock.set(first + 30 * minute + 1_000);
      await report({ 1: 'failed', 2: 'failed' });
      await report({ 6: 'failed' });
      expect(await alerts()).toEqual(['ALERT_FAILURE_REMAIN of minute 6, late']);
      await report({ 7: 'passed', 8: 'failed' });
      await time();
      expect(await alerts()).toHaveLength(2);
      // It has made no run since.
      await agent.renewHeld({ reportedTo: clock.now() });
      await time();
      expect(await alerts()).toEqual([
        'ALERT_FAILURE_REMAIN of minute 6, late',
        'ALERT_RECOVERY of minute 7, late',
        'ALERT_FAILURE_REMAIN of minute 8',
      ]);
    });
  });
});
