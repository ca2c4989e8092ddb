import { describe, expect, it } from 'vitest';
import { bringChecksForward } from '../../../src/service/scheduling/schedule.ts';
import { createScheduler } from '../../../src/service/scheduling/scheduler.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  resultOf,
  silent,
  type TestAgent,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { schedulerBench, start } from '../../helpers/service/scheduler-bench.ts';

/** When runs become due, at which locations, and that each run is made and claimed once. */

const minute = 60_000;

describe.each(databases)('scheduler: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const bench = schedulerBench(database);
    const { clock, jobs, missed } = bench;

    it('runs a check at its due times, without drift', async () => {
      const { db, service, accountId, office } = bench;
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      const agent = await connectAgent(service.app, office);
      const due: string[] = [];
      // Each second, and a little late, for ten minutes.
      for (let second = 0; second < 600; second++) {
        clock.advance(1000);
        if (second % 10 === 0 || (clock.now() - 6_000) % minute < 2_000) {
          await service.scheduler.tick();
          for (const job of await agent.claim()) {
            due.push(job.dueAt);
            await agent.report(resultOf(job, clock.now()));
          }
        }
      }
      expect(due).toEqual(
        Array.from({ length: 10 }, (_, n) =>
          new Date(Date.parse('2026-03-04T05:07:06Z') + n * minute).toISOString(),
        ),
      );
      expect(await missed()).toEqual([]);
    });

    it.each([false, true])(
      'a clock that is set back does not delay any check; service stopped in between: %s',
      async (isStopped) => {
        const { db, service, accountId } = bench;
        await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
        clock.advance(86_400_000);
        await service.scheduler.tick();
        clock.advance(minute);
        await service.scheduler.tick();
        clock.set(start);
        const { scheduler } = isStopped ? await createAgentService(db, clock) : service;
        await scheduler.tick();
        clock.advance(minute);
        await scheduler.tick();
        const first = (await jobs()).at(-1)?.at.getTime() ?? 0;
        clock.advance(minute);
        await scheduler.tick();
        const later = (await jobs()).at(-1)?.at.getTime() ?? 0;
        expect(Math.abs(first - Date.parse(start) - minute / 2)).toBeLessThanOrEqual(minute / 2);
        expect(later - first).toBe(minute);
      },
    );

    it('after a wrong clock is set back, on-demand jobs and retries run at once; scheduled ones are created again', async () => {
      const { db, service, accountId, office } = bench;
      const future = Date.parse(start) + 86_400_000;
      const ids: string[] = [];
      for (let count = 0; count < 5; count++)
        ids.push(await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() }));
      clock.set(future);
      await service.scheduler.tick();
      const [scheduled, asked, retried, backedOff, leased] = ids;
      const change = (id: string | undefined, set: string, values: unknown[] = []) =>
        db.query(`update jobs set ${set} where check_id = $1`, [id, ...values]);
      await change(asked, `run_source = 'TRIGGER_API'`);
      await change(retried, 'attempt = 2');
      // A backoff that a clock which is right may have asked for.
      const backoff = new Date(Date.parse(start) + 3_600_000);
      await change(backedOff, 'attempt = 2, not_before = $2, expires_at = $2', [backoff]);
      await change(leased, `state = 'leased', lease_token = gen_random_uuid(), lease_expires_at = $2`, [
        new Date(future + 30_000),
      ]);
      clock.set(start);
      await service.scheduler.tick();
      const rows = await db.query<{ id: string; at: Date }>(
        `select check_id as id, case state when 'leased' then lease_expires_at else not_before end as at from jobs`,
      );
      const at = new Map(rows.map((row) => [row.id, row.at.getTime() - Date.parse(start)]));
      expect([scheduled, asked, retried, backedOff, leased].map((id) => at.get(id ?? ''))).toEqual([
        undefined,
        0,
        0,
        3_600_000,
        30_000,
      ]);
      const agent = await connectAgent(service.app, office);
      expect(
        (await agent.claim()).map(({ checkId }) => checkId).toSorted((a, b) => (a < b ? -1 : 1)),
      ).toEqual([asked ?? '', retried ?? ''].toSorted((a, b) => (a < b ? -1 : 1)));
    });

    it('moves due times back in batches, by whole intervals, and leaves other checks unchanged', async () => {
      const { db, accountId } = bench;
      const now = clock.now();
      const after = [30_000, 100_000, 150_000, 3_600_000, 86_400_000];
      const ids: string[] = [];
      for (const _ of after) ids.push(await addCheck(db, { accountId, privateLocations: ['office'], now }));
      await db.query(
        `update checks c set next_due_at = $3::timestamptz + make_interval(secs => item.ms / 1000.0)
         from unnest($1::uuid[], $2::float8[]) as item (id, ms) where c.id = item.id`,
        [ids, after, new Date(now)],
      );
      for (const atOnce of [2, 5, 100]) {
        await bringChecksForward(db, { now: new Date(now), atOnce });
        const rows = await db.query<{ id: string; due: Date }>('select id, next_due_at as due from checks');
        const due = new Map(rows.map((row) => [row.id, row.due.getTime() - now]));
        expect(ids.map((id) => due.get(id))).toEqual([30_000, 100_000, 30_000, minute, minute]);
      }
    });

    it('runs a check every 10 s', async () => {
      const { db, service, accountId } = bench;
      await addCheck(db, {
        accountId,
        privateLocations: ['office'],
        frequency: 0,
        frequencyOffset: 10,
        now: clock.now(),
      });
      // Not so long that unclaimed ones are cleared up.
      for (let second = 0; second < 28; second++) {
        clock.advance(1000);
        await service.scheduler.tick();
      }
      const times = (await jobs()).map(({ at }) => at.getTime());
      const [first] = times;
      expect(times.length).toBeGreaterThanOrEqual(2);
      expect(times).toEqual(times.map((_, n) => (first ?? 0) + n * 10_000));
    });

    it('leaves out checks that are switched off, and those without a location', async () => {
      const { db, service, accountId } = bench;
      await addCheck(db, { accountId, privateLocations: ['office'], activated: false, now: clock.now() });
      await addCheck(db, { accountId, privateLocations: ['gone'], now: clock.now() });
      clock.advance(minute);
      await service.scheduler.tick();
      expect(await jobs()).toEqual([]);
      expect(
        await db.query('select 1 from checks where activated and next_due_at <= $1', [new Date(clock.now())]),
      ).toEqual([]);
    });

    it('lets the locations take turns', async () => {
      const { db, service, accountId } = bench;
      await addLocation(db, { accountId, slug: 'home' });
      await addLocation(db, { accountId, slug: 'eu-west-1' });
      await addCheck(db, {
        accountId,
        locations: ['eu-west-1'],
        privateLocations: ['office', 'home'],
        now: clock.now(),
      });
      const seen: string[] = [];
      for (let n = 0; n < 6; n++) {
        clock.advance(minute);
        await service.scheduler.tick();
        seen.push(...(await jobs()).slice(-1).map(({ location }) => location));
        await db.query('delete from jobs');
      }
      expect(seen).toEqual(['eu-west-1', 'office', 'home', 'eu-west-1', 'office', 'home']);
    });

    it('runs in all locations at once with runParallel, as one run', async () => {
      const { db, service, accountId } = bench;
      await addLocation(db, { accountId, slug: 'home' });
      await addCheck(db, {
        accountId,
        privateLocations: ['office', 'home'],
        runParallel: true,
        now: clock.now(),
      });
      clock.advance(minute);
      await service.scheduler.tick();
      const made = await jobs();
      expect(made.map(({ location }) => location)).toEqual(['home', 'office']);
      expect(new Set(made.map(({ run }) => run)).size).toBe(1);
    });

    it('creates each run once, however many replicas schedule', async () => {
      const { db, replicas, accountId } = bench;
      const checks = 230;
      for (let n = 0; n < checks; n++) {
        await addCheck(db, {
          accountId,
          privateLocations: ['office'],
          frequency: 1,
          frequencyOffset: 1,
          now: clock.now(),
        });
      }
      const schedulers = replicas.flatMap((replica) =>
        [1, 2].map(() => createScheduler({ db: replica, now: clock.now, log: silent, random: Math.random })),
      );
      for (let n = 1; n <= 3; n++) {
        clock.advance(minute);
        await Promise.all(schedulers.map((scheduler) => scheduler.tick()));
        expect((await jobs()).length).toBe(checks * n);
        await db.query(`update jobs set expires_at = expires_at + interval '1 hour'`);
      }
      const made = await jobs();
      expect(new Set(made.map(({ checkId, at }) => `${checkId} ${at.toISOString()}`)).size).toBe(checks * 3);
    });

    it('gives each job to one agent, however many claim, and loses none', async () => {
      const { db, replicas, service, accountId, office } = bench;
      for (let n = 0; n < 150; n++) {
        await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      }
      const services = await Promise.all(replicas.map((replica) => createAgentService(replica, clock)));
      const agents: TestAgent[] = [];
      for (let n = 0; n < 9; n++) {
        const app = services[n % services.length]?.app;
        if (app !== undefined) agents.push(await connectAgent(app, office));
      }
      clock.advance(minute);
      await service.scheduler.tick();
      const claimed = await Promise.all(agents.flatMap((agent) => [agent.claim(10), agent.claim(10)]));
      const ids = claimed.flat().map(({ jobId }) => jobId);
      expect(ids.length).toBe(150);
      expect(new Set(ids).size).toBe(150);
      const answers = await Promise.all(
        claimed.map(async (some, n) => {
          const reporter = agents[(n + 1) % agents.length] as TestAgent;
          return some.length === 0 ? [] : reporter.report(...some.map((job) => resultOf(job, clock.now())));
        }),
      );
      expect(answers.flat().map(({ outcome }) => outcome)).toEqual(Array(150).fill('stored'));
      expect(await db.query('select count(*) as results from check_results')).toEqual([{ results: 150 }]);
      await Promise.all(services.map(({ app }) => app.close()));
    });

    it('runs by itself once started, wakes when a run is due, and stops', async () => {
      const { db, accountId } = bench;
      const real = createScheduler({ db, now: Date.now, log: silent, random: Math.random });
      const checkId = await addCheck(db, {
        accountId,
        privateLocations: ['office'],
        frequency: 0,
        frequencyOffset: 10,
        now: Date.now(),
      });
      const dueAt = Date.now() + 1_500;
      await db.query('update checks set next_due_at = $2, offset_seconds = $3 where id = $1', [
        checkId,
        new Date(dueAt),
        (dueAt % 10_000) / 1000,
      ]);
      real.start();
      await expect.poll(async () => (await jobs()).length, { timeout: 8_000, interval: 20 }).toBe(1);
      const [made] = await db.query<{ due: Date; created: Date }>(
        'select due_at as due, created_at as created from jobs',
      );
      expect(made?.due.getTime()).toBe(dueAt);
      await real.stop();
      const before = await db.query('select next_due_at from checks');
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(await db.query('select next_due_at from checks')).toEqual(before);
    });
  });
});
