import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { bringChecksBack } from '../../../src/service/scheduling/schedule.ts';
import { createScheduler } from '../../../src/service/scheduling/scheduler.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  emptyAccounts,
  resultOf,
  silent,
  type AgentService,
  type TestAgent,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

const start = '2026-03-04T05:06:07.000Z';
const minute = 60_000;

describe.each(databases)('scheduler: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    let db: Db;
    let replicas: Db[];
    let service: AgentService;
    let accountId: string;
    let office: { id: string; slug: string; key: string };

    beforeAll(async () => {
      replicas = await database.openReplicas(3);
      db = replicas[0] as Db;
    });
    beforeEach(async () => {
      clock.set(start);
      await emptyAccounts(db);
      service = await createAgentService(db, clock);
      accountId = await addAccount(db);
      office = await addLocation(db, { accountId, slug: 'office' });
    });
    afterEach(() => service.app.close());
    afterAll(() => database.close());

    const jobs = () =>
      db.query<{ at: Date; location: string; run: string; checkId: string }>(
        'select due_at as at, run_location as location, run_id as run, check_id as "checkId" from jobs order by due_at, run_location',
      );
    const missed = () =>
      db.query<{
        details: unknown;
        status: string;
        started: Date;
        stopped: Date;
        location: string;
        reason: { code: string };
      }>(
        `select body->'details' as details, status, started_at as started, stopped_at as stopped,
           run_location as location, reason from check_results where status = 'missed' order by started_at, run_location`,
      );
    const codes = async () => (await missed()).map(({ reason }) => reason.code);

    it('runs a check at its moments, for ever without drift', async () => {
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
      'a clock that was wrong and is set back keeps no check from its moments; meanwhile stopped: %s',
      async (isStopped) => {
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

    it('jobs of a clock that was wrong: those asked for, and retries, come at once; scheduled ones are made again', async () => {
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

    it('brings checks back some at a time, as whole intervals, and leaves the others', async () => {
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
        await bringChecksBack(db, { now: new Date(now), atOnce });
        const rows = await db.query<{ id: string; due: Date }>('select id, next_due_at as due from checks');
        const due = new Map(rows.map((row) => [row.id, row.due.getTime() - now]));
        expect(ids.map((id) => due.get(id))).toEqual([30_000, 100_000, 30_000, minute, minute]);
      }
    });

    it('runs a check every 10 s', async () => {
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

    it('makes each run once, however many replicas schedule', async () => {
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

    it('records what was due while the service was down as one record, and makes no burst of it', async () => {
      const checkId = await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      clock.set('2026-03-04T06:06:40.000Z'); // 05:07:06 … 06:06:06 were due
      await service.scheduler.tick();
      expect(await jobs()).toEqual([]);
      expect(await missed()).toEqual([
        {
          status: 'missed',
          location: 'office',
          details: {
            count: 60,
            from: '2026-03-04T05:07:06.000Z',
            to: '2026-03-04T06:06:06.000Z',
            reason: 'NOT_SCHEDULED',
          },
          started: new Date('2026-03-04T05:07:06.000Z'),
          stopped: new Date('2026-03-04T06:06:06.000Z'),
          reason: {
            code: 'NOT_SCHEDULED',
            owner: 'ours',
            message: 'the service was not running when the run was due',
          },
        },
      ]);
      clock.set('2026-03-04T06:07:06.000Z');
      await service.scheduler.tick();
      expect((await jobs()).map((job) => [job.checkId, job.at.toISOString()])).toEqual([
        [checkId, '2026-03-04T06:07:06.000Z'],
      ]);
    });

    it('still makes a run that a short restart has delayed', async () => {
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      clock.set('2026-03-04T05:07:30.000Z');
      await service.scheduler.tick();
      expect((await jobs()).map(({ at }) => at.toISOString())).toEqual(['2026-03-04T05:07:06.000Z']);
      expect(await missed()).toEqual([]);
    });

    it('records runs of a location without agents as one record, until one runs', async () => {
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await service.scheduler.tick();
      const steps = async (until: string) => {
        while (clock.now() < Date.parse(until)) {
          clock.advance(6_000);
          await service.scheduler.tick();
        }
      };
      await steps('2026-03-04T05:12:00Z');
      expect(await missed()).toMatchObject([
        {
          location: 'office',
          details: {
            count: 4,
            from: '2026-03-04T05:07:06.000Z',
            to: '2026-03-04T05:10:06.000Z',
            reason: 'NO_AGENT',
          },
          reason: { code: 'NO_AGENT', owner: 'ours' },
        },
      ]);
      // A gap in the data, not a red check.
      expect(await db.query('select 1 from check_statuses')).toEqual([]);
      const agent = await connectAgent(service.app, office);
      const [job] = await agent.claim();
      if (job === undefined) throw new Error('no job');
      await agent.report(resultOf(job, clock.now()));
      await steps('2026-03-04T05:16:00Z'); // the agent is not heard of any more
      expect(await codes()).toEqual(['NO_AGENT', 'NO_AGENT']);
    });

    it('tells a busy location from one without agents', async () => {
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await service.scheduler.tick();
      const agent = await connectAgent(service.app, office);
      for (let n = 0; n < 14; n++) {
        clock.advance(10_000);
        await agent.claim(0);
        await service.scheduler.tick();
      }
      expect(await codes()).toEqual(['NOT_CLAIMED']);
    });

    it('stores the result of an agent that was cut off, though its run was recorded as missed', async () => {
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      const agent = await connectAgent(service.app, office);
      clock.advance(59_000);
      await service.scheduler.tick();
      const [job] = await agent.claim();
      if (job === undefined) throw new Error('no job');
      await db.query('update checks set activated = false');
      for (let n = 0; n < 12; n++) {
        clock.advance(30_000);
        await service.scheduler.tick();
      }
      expect(await codes()).toEqual(['NO_AGENT']);
      expect(await agent.claim()).toEqual([]);
      expect(await agent.report(resultOf(job, clock.now()))).toMatchObject([{ outcome: 'stored' }]);
      expect(await db.query('select status from check_statuses')).toEqual([{ status: 'passed' }]);
    });

    it('ends runs that no connected agent can run, and the status says so', async () => {
      const agent = await connectAgent(service.app, office, {
        checkTypes: ['TCP', 'API'],
        runtimes: ['2026.04'],
      });
      const url = await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      const old = await addCheck(db, {
        accountId,
        privateLocations: ['office'],
        checkType: 'API',
        definition: { runtimeId: '2022.10', localSetupScript: 'process.env.A = 1' },
        now: clock.now(),
      });
      await service.scheduler.tick();
      clock.advance(59_000);
      await agent.claim(0);
      await service.scheduler.tick();
      expect((await jobs()).length).toBe(2); // an agent may be about to say hello
      expect(await agent.claim()).toEqual([]);
      clock.advance(6_000);
      await service.scheduler.tick();
      expect(await jobs()).toEqual([]);
      const statuses = await db.query(
        `select check_id as id, status, has_errors as errors, has_failures as failures, reason->>'code' as code from check_statuses`,
      );
      expect(statuses).toHaveLength(2);
      expect(statuses).toContainEqual({
        id: url,
        status: 'errored',
        errors: true,
        failures: false,
        code: 'TYPE_UNAVAILABLE',
      });
      expect(statuses).toContainEqual({
        id: old,
        status: 'errored',
        errors: true,
        failures: false,
        code: 'RUNTIME_UNAVAILABLE',
      });
    });

    it.each([
      ['none', []],
      ['2025.04, 2024.09', ['2024.09', '2025.04']],
    ])('names the runtimes that the agents have where one is what a check lacks: %s', async (named, has) => {
      const agent = await connectAgent(service.app, office, {
        checkTypes: ['TCP', 'BROWSER', 'MULTI_STEP'],
        runtimes: has,
      });
      const definition = { runtimeId: '2026.04' };
      const options = { accountId, privateLocations: ['office'], definition, now: clock.now() };
      for (const checkType of ['BROWSER', 'MULTI_STEP']) await addCheck(db, { ...options, checkType });
      await service.scheduler.tick();
      clock.advance(59_000);
      await agent.claim(0);
      await service.scheduler.tick();
      expect(await agent.claim(1, { lane: 'browser' })).toEqual([]);
      clock.advance(6_000);
      await service.scheduler.tick();
      const reasons = await db.query<{ reason: object }>('select reason from check_statuses');
      const message = `no connected agent of the location has the runtime 2026.04; they have: ${named}`;
      const reason = expect.objectContaining({ code: 'RUNTIME_UNAVAILABLE', message }) as unknown;
      expect(reasons).toEqual([{ reason }, { reason }]);
    });

    it.each([
      ['TCP', { runtimeId: '2022.10' }],
      ['API', { runtimeId: '2022.10', localSetupScript: null }],
    ])('wants no runtime for a check without scripts: %s', async (checkType, definition) => {
      const options = { accountId, privateLocations: ['office'], checkType, definition, now: clock.now() };
      const checkId = await addCheck(db, options);
      const agent = await connectAgent(service.app, office);
      clock.advance(59_000);
      await service.scheduler.tick();
      expect(await agent.claim()).toMatchObject([{ checkId, checkType }]);
    });

    it('judges no type before agents had time to find the service again', async () => {
      await connectAgent(service.app, office, { checkTypes: ['TCP'] });
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await service.scheduler.tick();
      clock.advance(59_000);
      await service.scheduler.tick();
      await db.query('update agents set last_seen_at = $1', [new Date(clock.now() + 20_000)]);
      const restarted = await createAgentService(db, clock);
      clock.advance(20_000);
      await restarted.scheduler.tick();
      expect(await jobs()).toHaveLength(1);
      await restarted.app.close();
    });

    it('ends a retry that nobody takes as an error of ours', async () => {
      const agent = await connectAgent(service.app, office);
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await service.scheduler.tick();
      clock.advance(59_000);
      await service.scheduler.tick();
      const [job] = await agent.claim();
      if (job === undefined) throw new Error('no job');
      await agent.report(
        resultOf(job, clock.now(), { resultType: 'ATTEMPT', status: 'failed', hasFailures: true }),
      );
      expect(await agent.release(job, { nextAttempt: 2 })).toBe('released');
      await db.query('update checks set activated = false');
      clock.advance(2 * minute);
      await service.scheduler.tick();
      expect(
        await db.query(
          `select status, attempts, reason->>'code' as code from check_results where result_type = 'FINAL'`,
        ),
      ).toEqual([{ status: 'errored', attempts: 1, code: 'NO_AGENT' }]);
    });

    it('drops results by the day, and what else is old', async () => {
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      const agent = await connectAgent(service.app, office);
      const partitions = async () =>
        (
          await db.query<{ name: string }>(
            `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'check_results'::regclass order by 1`,
          )
        ).map(({ name }) => name);
      clock.advance(59_000);
      await service.scheduler.tick();
      const [job] = await agent.claim();
      if (job === undefined) throw new Error('no job');
      await agent.report(resultOf(job, clock.now()));
      await service.retention.tick();
      expect(await partitions()).toEqual(
        expect.arrayContaining(['check_results_20260304', 'check_results_20260306']),
      );
      clock.set('2026-04-03T12:00:00Z');
      await service.retention.tick();
      expect(await partitions()).toContain('check_results_20260304');
      expect(await db.query('select 1 from check_results')).toHaveLength(1);
      expect(await db.query('select 1 from finished_jobs')).toEqual([]);
      clock.set('2026-04-04T12:00:00Z');
      await service.retention.tick();
      expect(await partitions()).not.toContain('check_results_20260304');
      expect(await db.query('select 1 from check_results')).toEqual([]);
      expect(await db.query('select 1 from agents')).toEqual([]);
    });

    it.skipIf(database.name === 'server')('keeps the log of the embedded database small', async () => {
      await db.exec('create table filler (text text)');
      for (let round = 0; round < 3; round++) {
        await db.query(
          'insert into filler select repeat(md5(n::text), 50) from generate_series(1, 5000) as n',
        );
        await service.retention.tick();
      }
      const [log] = await db.query<{ bytes: number }>(
        'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn) as bytes from pg_control_checkpoint()',
      );
      expect(log?.bytes).toBeLessThan(4 * 1024 * 1024);
      await db.exec('drop table filler');
    });

    it.skipIf(database.name === 'server')('has the next file of that log before it needs it', async () => {
      const fresh = await database.open();
      const files = () =>
        fresh.query<{ ahead: boolean }>(
          `select name > pg_walfile_name(pg_current_wal_lsn()) as ahead from pg_ls_waldir() where length(name) = 24`,
        );
      expect((await files()).filter(({ ahead }) => ahead)).toEqual([]);
      const { app, retention } = await createAgentService(fresh, clock);
      await retention.tick();
      expect((await files()).filter(({ ahead }) => ahead)).toHaveLength(1);
      await app.close();
    });

    it('goes on by itself once started, wakes in time, and stops', async () => {
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
      expect(Date.now() - dueAt).toBeLessThan(2_500);
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
