import { describe, expect, it } from 'vitest';
import { addCheck, connectAgent, createAgentService, resultOf } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { schedulerBench } from '../../helpers/service/scheduler-bench.ts';

/** How the scheduler records runs that no agent has run. */

const minute = 60_000;

describe.each(databases)('missed runs: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const bench = schedulerBench(database);
    const { clock, jobs, missed, codes } = bench;

    it('records runs that were due while the service was down as one record, without a burst of jobs', async () => {
      const { db, service, accountId } = bench;
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
            message: 'the service or its database was not available when the run was due',
          },
        },
      ]);
      clock.set('2026-03-04T06:07:06.000Z');
      await service.scheduler.tick();
      expect((await jobs()).map((job) => [job.checkId, job.at.toISOString()])).toEqual([
        [checkId, '2026-03-04T06:07:06.000Z'],
      ]);
    });

    it('records a gap as one record, with the run that was queued before it and no agent could claim', async () => {
      const { db, service, accountId } = bench;
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await service.scheduler.tick();
      clock.set('2026-03-04T05:07:06.000Z');
      await service.scheduler.tick();
      expect(await jobs()).toHaveLength(1);
      // Away from 05:07:06 to 05:17:08; the run of 05:17:06 still takes place.
      clock.set('2026-03-04T05:17:08.000Z');
      const restarted = await createAgentService(db, clock);
      await restarted.scheduler.real.tick();
      const agent = await connectAgent(restarted.app, bench.office);
      const [job] = await agent.claim();
      expect(job?.dueAt).toBe('2026-03-04T05:17:06.000Z');
      for (let second = 0; second < 40; second++) {
        clock.advance(1_000);
        await restarted.scheduler.real.tick();
      }
      const record = (count: number, from: string, to: string) => ({
        started: new Date(from),
        stopped: new Date(to),
        details: { count, from, to, reason: 'NOT_SCHEDULED' },
        reason: { code: 'NOT_SCHEDULED' },
      });
      expect(await missed()).toMatchObject([
        record(10, '2026-03-04T05:07:06.000Z', '2026-03-04T05:16:06.000Z'),
      ]);
      // A run that nobody claims afterwards is not part of the gap.
      if (job === undefined) throw new Error('no job');
      await agent.report(resultOf(job, clock.now()));
      expect(await codes()).toEqual(['NOT_SCHEDULED']);
      await restarted.app.close();
    });

    it('never extends a record across runs that another record has', async () => {
      const { db, service, accountId, office } = bench;
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await service.scheduler.tick();
      const agent = await connectAgent(service.app, office);
      // 05:07:06 and 05:08:06 are not claimed, then the service is away, then runs are not claimed again.
      const steps = async (until: string) => {
        while (clock.now() < Date.parse(until)) {
          clock.advance(10_000);
          await agent.claim(0);
          await service.scheduler.tick();
        }
      };
      await steps('2026-03-04T05:09:20Z');
      clock.set('2026-03-04T05:20:30Z');
      await service.scheduler.tick();
      await steps('2026-03-04T05:24:00Z');
      const records = await missed();
      expect(records.map(({ details }) => details)).toMatchObject([
        { count: 2, to: '2026-03-04T05:08:06.000Z', reason: 'NOT_CLAIMED' },
        { from: '2026-03-04T05:09:06.000Z', reason: 'NOT_SCHEDULED' },
        { reason: 'NOT_CLAIMED' },
      ]);
      for (const [index, { started }] of records.entries()) {
        const before = records[index - 1];
        if (before !== undefined) expect(started.getTime()).toBeGreaterThan(before.stopped.getTime());
      }
    });

    it('still creates a run that a short restart delayed', async () => {
      const { db, service, accountId } = bench;
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      clock.set('2026-03-04T05:07:30.000Z');
      await service.scheduler.tick();
      expect((await jobs()).map(({ at }) => at.toISOString())).toEqual(['2026-03-04T05:07:06.000Z']);
      expect(await missed()).toEqual([]);
    });

    it('records runs of a location without agents as one record, until one runs', async () => {
      const { db, service, accountId, office } = bench;
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

    it('distinguishes a busy location from one without agents', async () => {
      const { db, service, accountId, office } = bench;
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
      const { db, service, accountId, office } = bench;
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

    it('ends runs that no connected agent can run, with the reason in the status', async () => {
      const { db, service, accountId, office } = bench;
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
    ])('names the available runtimes if the runtime of a check is missing: %s', async (named, has) => {
      const { db, service, accountId, office } = bench;
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
    ])('needs no runtime for a check without scripts: %s', async (checkType, definition) => {
      const { db, service, accountId, office } = bench;
      const options = { accountId, privateLocations: ['office'], checkType, definition, now: clock.now() };
      const checkId = await addCheck(db, options);
      const agent = await connectAgent(service.app, office);
      clock.advance(59_000);
      await service.scheduler.tick();
      expect(await agent.claim()).toMatchObject([{ checkId, checkType }]);
    });

    it('rejects no type before agents had time to reconnect', async () => {
      const { db, service, accountId, office } = bench;
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

    it('ends a retry that no agent claims as errored', async () => {
      const { db, service, accountId, office } = bench;
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
  });
});
