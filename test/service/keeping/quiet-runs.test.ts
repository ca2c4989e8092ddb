import { describe, expect, it } from 'vitest';
import type { Assignment } from '../../../src/protocol/assignments.ts';
import { createLocationFollower } from '../../../src/service/alerting/follow-locations.ts';
import { makeRollupPartition, rollUp } from '../../../src/service/analytics/rollup-statements.ts';
import { noteRollups } from '../../../src/service/analytics/rollup-work.ts';
import type { Background } from '../../../src/service/engine/background.ts';
import { createErrorFollower } from '../../../src/service/error-groups/follow-errors.ts';
import { listStatuses } from '../../../src/service/results/status-statements.ts';
import {
  addChannel,
  alertsOf,
  createAlertReplica,
  idleBackground,
} from '../../helpers/service/alert-runs.ts';
import { addCheck, connectAgent, createClock, resultOf } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench, keptResult, type KeepingAgent } from './keeping-bench.ts';

/** Uneventful runs of held checks leave only their results, and everything else is as if they came through the queue. */

const start = '2026-03-04T05:06:07.000Z';
const minute = 60_000;
const hour = 60 * minute;
/** Checks are due at 6 s past each minute. */
const first = Date.parse('2026-03-04T05:07:06.000Z');

type Step = {
  status?: 'passed' | 'failed' | 'degraded' | 'errored';
  /** Milliseconds. */
  time?: number;
  /** Days until the certificate expires. */
  days?: number;
  code?: string;
  /** The first attempt failed. */
  isRetried?: boolean;
};
const times = (count: number, step: Step = {}): Step[] => Array.from({ length: count }, () => step);
const failed: Step = { status: 'failed', code: 'TIMEOUT' };

/** What each check meets, minute by minute. */
const streams: { readonly [name: string]: { steps: Step[]; definition?: object } } = {
  calm: { steps: times(20) },
  flapping: {
    steps: [
      ...times(4),
      failed,
      ...times(3),
      failed,
      failed,
      ...times(3),
      failed,
      failed,
      failed,
      ...times(4),
    ],
    definition: {
      alertSettings: {
        escalationType: 'RUN_BASED',
        runBasedEscalation: { failedRunThreshold: 2 },
        reminders: { amount: 1, interval: 1 },
      },
    },
  },
  'by time': {
    steps: [...times(4), ...times(6, failed), ...times(3), failed, ...times(6)],
    definition: {
      alertSettings: {
        escalationType: 'TIME_BASED',
        timeBasedEscalation: { minutesFailingThreshold: 3 },
      },
    },
  },
  degraded: {
    steps: [
      ...times(3),
      ...times(2, { status: 'degraded' }),
      ...times(3),
      { status: 'degraded' },
      failed,
      ...times(10),
    ],
  },
  times: { steps: times(20).map((_, index) => ({ time: [10, 30, 20, 15, 40, 5, 22][index % 7] ?? 10 })) },
  certificate: { steps: times(20).map((_, index) => ({ days: index < 8 ? 40 : index < 12 ? 31 : 29 })) },
  network: {
    steps: [...times(5), ...times(3, { status: 'errored', code: 'OWN_NETWORK' }), ...times(12)],
  },
  retried: { steps: times(20).map((_, index) => (index % 6 === 4 ? { isRetried: true } : {})) },
};

const fieldsOf = ({ status = 'passed', time = 12.5, days, code }: Step) => ({
  status,
  responseTime: time,
  hasFailures: status === 'failed',
  hasErrors: status === 'errored',
  isDegraded: status === 'degraded',
  reason: code === undefined ? null : { code, owner: 'target', message: `it is ${code}` },
  details:
    days === undefined ? {} : { certificate: { daysRemaining: days, validTo: '2026-04-13T00:00:00.000Z' } },
});
const firstAttempt = { ...fieldsOf(failed), resultType: 'ATTEMPT', attempt: 1, attempts: 0 };

describe.each(databases)('uneventful runs: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);
    let background: Background | null = null;

    async function followers() {
      background ??= await idleBackground(current().db);
      const deps = { background, now: clock.now };
      const others = [createErrorFollower(), createLocationFollower(deps), noteRollups];
      return createAlertReplica(current().db, {
        background,
        clock,
        after: async (tx, runs) => {
          for (const follower of others) await follower(tx, runs);
        },
      });
    }

    async function addChecks(): Promise<Map<string, string>> {
      const { db, accountId } = current();
      const ids = new Map<string, string>();
      for (const [name, { definition = {} }] of Object.entries(streams)) {
        const settings = { useGlobalAlertSettings: false, ...definition };
        const common = { accountId, privateLocations: ['office'], now: clock.now() };
        const id = await addCheck(db, { ...common, definition: settings });
        await addChannel(db, { accountId, checkId: id, flags: 'FRD', ssl: 30 });
        ids.set(name, id);
      }
      return ids;
    }

    /** One minute after the other; everything is followed in between. */
    async function live(
      base: number,
      report: (dueAt: number, stepOf: (name: string) => Step) => Promise<void>,
    ): Promise<void> {
      const replica = await followers();
      for (let index = 0; index < 20; index++) {
        const dueAt = base + index * minute;
        clock.set(dueAt + 1_000);
        await report(dueAt, (name) => streams[name]?.steps[index] ?? {});
        await replica.follow();
        await replica.time();
      }
    }

    /** What the service knows in the end, with times as distances from `base`. */
    async function knowledge(ids: ReadonlyMap<string, string>, base: number) {
      const { db, accountId } = current();
      const since = (at: Date | null) => (at === null ? null : at.getTime() - base);
      const statuses = await listStatuses(db, { accountId, limit: 100, offset: 0 });
      const found: Record<string, unknown> = {};
      for (const [name, id] of ids) {
        const results = await db.query<{ id: string; at: Date; others: string }>(
          `select id, started_at as at, concat_ws(' ', result_type, status, response_time, attempts, run_location,
             stopped_at - started_at, reason) as others from check_results where check_id = $1 order by started_at, attempts`,
          [id],
        );
        const status = statuses.find(({ checkId }) => checkId === id);
        const alerts = await db.query<{ at: Date; others: string }>(
          `select started_at as at, concat_ws(' ', alert_type, silenced, reminder_sequence, response_time, error,
             ssl_days_remaining, run_location) as others from alerts where check_id = $1 order by id`,
          [id],
        );
        const [state] = await db.query<Record<string, unknown> & { since: Date | null }>(
          `select status, since, runs, alerted, told, told_failure, silent, reminders, has_incident from alert_states
           where check_id = $1`,
          [id],
        );
        const groups = await db.query<{ first: Date; last: Date; message: string }>(
          `select first_seen as first, last_seen as last, cleaned_error_message as message from error_groups
           where check_id = $1 order by first_seen, 3`,
          [id],
        );
        for (const at of [base, base + hour]) {
          const from = new Date(Math.floor(at / hour) * hour);
          await makeRollupPartition(db, from);
          await rollUp(db, { checkType: 'URL', checkIds: [id], hour: from });
        }
        const rollups = await db.query<{ hour: Date }>(
          `select metric, hour, run_location, status, group_key, count, sum, least, greatest from check_rollups
           where check_id = $1 order by metric, hour, status, group_key`,
          [id],
        );
        const due = await db.query<{ hour: Date }>(
          'select hour from rollups_due where check_id = $1 order by hour',
          [id],
        );
        const kinds = (await alertsOf(db, id)).map((alert) => alert.replace(/ to .*/, ' to its channel'));
        found[name] = {
          results: results.map(({ at, others }) => [since(at), others]),
          status: status && {
            ...status,
            checkId: null,
            name: null,
            createdAt: since(status.createdAt),
            updatedAt: since(status.updatedAt),
            lastStartedAt: since(status.lastStartedAt),
            lastCheckRunId: since(results.find((result) => result.id === status.lastCheckRunId)?.at ?? null),
          },
          alerts: alerts.map(({ at, others }) => [since(at), others]),
          kinds,
          state: { ...state, since: since(state?.since ?? null) },
          groups: groups.map(({ first: from, last, message }) => [since(from), since(last), message]),
          rollups: rollups.map((row) => ({ ...row, hour: since(row.hour) })),
          due: due.map(({ hour: at }) => since(at)),
        };
      }
      const ofLocation = await db.query<{ at: Date; kind: string }>(
        `select started_at as at, alert_type as kind from alerts where location_id is not null and started_at >= $1 order by id`,
        [new Date(base)],
      );
      return { found, ofLocation: ofLocation.map(({ at, kind }) => [since(at), kind]) };
    }

    const count = async (table: string) => {
      const [row] = await current().db.query<{ count: number }>(
        `select count(*)::integer as count from ${table}`,
      );
      return row?.count ?? 0;
    };

    async function connected(): Promise<KeepingAgent> {
      const agent = await current().connect();
      await agent.renewHeld();
      await current().handOut();
      await agent.renewHeld();
      return agent;
    }

    it('leave the same alerts, statuses, error groups and rollups as runs of the queue', async () => {
      const { db, service, office } = current();
      await db.query('delete from location_networks');
      const queued = await addChecks();
      const names = new Map([...queued].map(([name, id]) => [id, name]));
      const agent = await connectAgent(service.app, office);
      await live(first, async (dueAt, stepOf) => {
        await service.scheduler.tick();
        for (const job of await agent.claim()) {
          const step = stepOf(names.get(job.checkId) ?? '');
          const attempt = step.isRetried === true ? 2 : 1;
          const last = { ...fieldsOf(step), attempt, attempts: attempt - 1 };
          if (attempt > 1) await agent.report(resultOf(job, dueAt + 2, firstAttempt));
          expect(await agent.report(resultOf(job, dueAt + 5, last))).toMatchObject([{ outcome: 'stored' }]);
        }
      });
      const byQueue = await knowledge(queued, first);
      const endsOfQueue = await count('finished_jobs');
      expect(endsOfQueue).toBe(20 * queued.size);

      await db.query('delete from checks');
      await db.query('delete from location_networks');
      const base = first + 24 * hour;
      clock.set(base - minute + 1_000);
      const heldChecks = await addChecks();
      const holder = await connected();
      const byId = new Map([...heldChecks].map(([name, id]) => [id, name]));
      expect(holder.held.size).toBe(heldChecks.size);
      await live(base, async (dueAt, stepOf) => {
        await holder.renewHeld();
        const results = [...holder.held.values()].flatMap((check) => {
          const step = stepOf(byId.get(check.checkId) ?? '');
          if (step.isRetried !== true) return [keptResult(check, dueAt, fieldsOf(step))];
          const before = keptResult(check, dueAt, firstAttempt);
          const startedAt = new Date(dueAt + 2).toISOString();
          const stoppedAt = new Date(dueAt + 22).toISOString();
          const last = { ...fieldsOf(step), sequenceId: before['sequenceId'], attempt: 2, attempts: 1 };
          return [{ ...before, startedAt, stoppedAt }, keptResult(check, dueAt, last)];
        });
        for (const { outcome } of await holder.report(...results)) expect(outcome).toBe('stored');
      });
      const byHolder = await knowledge(heldChecks, base);
      for (const name of heldChecks.keys()) expect(byHolder.found[name], name).toEqual(byQueue.found[name]);
      expect(byHolder.ofLocation).toEqual(byQueue.ofLocation);
      // What this test compares has happened.
      expect(byQueue.ofLocation).toHaveLength(2);
      const alerts = (name: string) => (byQueue.found[name] as { kinds: string[] }).kinds.length;
      expect(['calm', 'flapping', 'by time', 'degraded', 'certificate', 'times'].map(alerts)).toEqual([
        0,
        expect.any(Number),
        2,
        expect.any(Number),
        1,
        0,
      ]);
      expect(alerts('flapping')).toBeGreaterThanOrEqual(4);
      // Most runs have no record of their end.
      expect((await count('finished_jobs')) - endsOfQueue).toBeLessThan(endsOfQueue / 2);
    }, 120_000);

    async function calmCheck(): Promise<{
      agent: KeepingAgent;
      check: Assignment;
      replica: Awaited<ReturnType<typeof followers>>;
    }> {
      const { db, accountId } = current();
      const id = await addCheck(db, {
        accountId,
        privateLocations: ['office'],
        now: clock.now(),
        definition: {
          useGlobalAlertSettings: false,
          alertSettings: { escalationType: 'RUN_BASED', runBasedEscalation: { failedRunThreshold: 1 } },
        },
      });
      await addChannel(db, { accountId, checkId: id });
      const agent = await connected();
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      const replica = await followers();
      clock.set(first + 1_000);
      await agent.report(keptResult(check, first));
      await replica.follow();
      return { agent, check, replica };
    }
    const statusOf = async () => {
      const { db, accountId } = current();
      const [status] = await listStatuses(db, { accountId, limit: 10, offset: 0 });
      return status && { status: status.status, at: status.lastStartedAt.getTime() };
    };

    it('have no job, no record of their end and nothing that waits to be followed', async () => {
      const { agent, check } = await calmCheck();
      const [ends, before] = [await count('finished_jobs'), await count('check_results')];
      const [row] = await current().db.query<{ xmin: string }>('select xmin::text from alert_states');
      for (let index = 1; index <= 3; index++) {
        clock.set(first + index * minute + 1_000);
        const result = keptResult(check, first + index * minute);
        expect(await agent.report(result)).toMatchObject([{ outcome: 'stored' }]);
        expect(await agent.report(result)).toMatchObject([{ outcome: 'duplicate' }]);
      }
      expect([await count('finished_jobs'), await count('check_results')]).toEqual([ends, before + 3]);
      expect([await count('jobs'), await count('finished_runs')]).toEqual([0, 0]);
      expect(await current().db.query('select xmin::text from alert_states')).toEqual([row]);
      expect(await statusOf()).toEqual({ status: 'passed', at: first + 3 * minute + 5 });
    });

    it('count once if two agents have made them', async () => {
      const { agent, check } = await calmCheck();
      clock.set(first + minute + 1_000);
      await agent.report(keptResult(check, first + minute));
      await agent.renewHeld({ isLeaving: true });
      await current().handOut();
      const other = await connected();
      const own = other.held.get(check.checkId);
      if (own === undefined) throw new Error('not held');
      expect(await other.report(keptResult(own, first + minute))).toMatchObject([{ outcome: 'superseded' }]);
      // A run that was made is not missed.
      clock.set(first + 3 * minute + 1_000);
      const range = {
        from: new Date(first + minute).toISOString(),
        to: new Date(first + 2 * minute).toISOString(),
      };
      const report = keptResult(own, first + minute, {
        status: 'missed',
        details: { ...range, count: 2 },
        reason: { code: 'NO_AGENT', owner: 'ours', message: 'it was not running' },
      });
      await other.report(report);
      const rows = await current().db.query<{ status: string; at: Date }>(
        `select status, started_at as at from check_results where started_at > $1 order by started_at`,
        [new Date(first + 30_000)],
      );
      expect(rows).toEqual([
        { status: 'passed', at: new Date(first + minute + 5) },
        { status: 'missed', at: new Date(first + 2 * minute) },
      ]);
    });

    it('are known when an older run fails late, and when a newer one fails', async () => {
      const { agent, check, replica } = await calmCheck();
      for (const index of [2, 3]) {
        clock.set(first + index * minute + 1_000);
        await agent.report(keptResult(check, first + index * minute));
      }
      expect(await agent.report(keptResult(check, first + minute, fieldsOf(failed)))).toMatchObject([
        { outcome: 'stored' },
      ]);
      await replica.follow();
      expect(await statusOf()).toEqual({ status: 'passed', at: first + 3 * minute + 5 });
      expect(await alertsOf(current().db, check.checkId)).toEqual([]);
      clock.set(first + 4 * minute + 1_000);
      await agent.report(keptResult(check, first + 4 * minute));
      clock.set(first + 5 * minute + 1_000);
      await agent.report(keptResult(check, first + 5 * minute, fieldsOf(failed)));
      expect(await statusOf()).toEqual({ status: 'failed', at: first + 5 * minute + 5 });
      await replica.follow();
      expect((await alertsOf(current().db, check.checkId)).map((alert) => alert.split(' ')[0])).toEqual([
        'FAILURE',
      ]);
    });

    it('leave whole statuses behind when agents may hold no checks any more', async () => {
      const { agent, check } = await calmCheck();
      clock.set(first + minute + 1_000);
      await agent.report(keptResult(check, first + minute));
      await current().release();
      const rows = await current().db.query('select is_behind, last_started_at from check_statuses');
      expect(rows).toEqual([{ is_behind: false, last_started_at: new Date(first + minute + 5) }]);
    });
  });
});
