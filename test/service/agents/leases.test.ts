import { describe, expect, it } from 'vitest';
import { agentRoutesBench } from '../../helpers/service/agent-routes-bench.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  resultOf,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

/** Leases of jobs: how they are renewed, expire, are handed back and cancelled. */

const minute = 60_000;

describe.each(databases)('leases: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const bench = agentRoutesBench(database);
    const { clock, nextJobs, oneJob, results, status } = bench;

    it('renews leases; the job of an expired lease is given to another agent within 35 s, and the old token is lost', async () => {
      const { service, app, office, agent } = bench;
      const job = await oneJob();
      const other = await connectAgent(app, office);
      for (let n = 0; n < 12; n++) {
        clock.advance(5_000);
        expect(await agent.renew([job])).toMatchObject({ renewed: [job.jobId], lost: [], cancel: [] });
        await service.scheduler.tick();
        expect((await other.claim()).filter(({ jobId }) => jobId === job.jobId)).toEqual([]);
      }
      clock.advance(30_000);
      await service.scheduler.tick();
      const again = (await other.claim()).find(({ jobId }) => jobId === job.jobId);
      expect(again).toMatchObject({ attempt: 1, sequenceId: job.sequenceId, runId: job.runId });
      expect(again?.leaseToken).not.toBe(job.leaseToken);
      expect(await agent.renew([job])).toMatchObject({ renewed: [], lost: [job.jobId], cancel: [] });
      expect(await agent.release(job)).toBe('lost');
    });

    it("stores a replaced token's result if it is the first, then cancels the newer lease", async () => {
      const { service, app, office, agent } = bench;
      const job = await oneJob();
      await service.scheduler.tick();
      clock.advance(31_000);
      await service.scheduler.tick();
      const other = await connectAgent(app, office);
      const again = (await other.claim()).find(({ jobId }) => jobId === job.jobId);
      if (again === undefined) throw new Error('not handed out again');
      expect(
        await agent.report(resultOf(job, clock.now(), { status: 'failed', hasFailures: true })),
      ).toMatchObject([{ outcome: 'stored' }]);
      expect(await other.renew([again])).toMatchObject({ renewed: [], lost: [], cancel: [job.jobId] });
      expect(await other.report(resultOf(again, clock.now()))).toMatchObject([{ outcome: 'superseded' }]);
      expect(await status(job.checkId)).toMatchObject({ status: 'failed' });
      expect((await results()).length).toBe(1);
    });

    it('acknowledges a replaced token as superseded once the newer lease has reported', async () => {
      const { service, agent } = bench;
      const job = await oneJob();
      await service.scheduler.tick();
      clock.advance(31_000);
      await service.scheduler.tick();
      const [again] = await agent.claim();
      if (again === undefined) throw new Error('not handed out again');
      expect(await agent.report(resultOf(again, clock.now()), resultOf(job, clock.now()))).toMatchObject([
        { outcome: 'stored' },
        { outcome: 'superseded' },
      ]);
    });

    it('waits for one lease after its start before it reassigns jobs that agents may still have', async () => {
      const { db, agent } = bench;
      const job = await oneJob();
      clock.advance(10 * minute); // the service was away
      const restarted = await createAgentService(db, clock);
      await restarted.scheduler.tick();
      expect(await agent.renew([job])).toMatchObject({ renewed: [job.jobId] });
      clock.advance(29_000);
      await restarted.scheduler.tick();
      expect(await agent.renew([job])).toMatchObject({ renewed: [job.jobId] });
      await restarted.app.close();
    });

    it('parks a run that two agents were running when they disappeared, and charges no run that was near them', async () => {
      const { db, service, accountId, agent } = bench;
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await nextJobs();
      await service.scheduler.tick();
      clock.advance(31_000);
      await service.scheduler.tick();
      await db.query('update checks set activated = false');
      const first = await agent.claim();
      const [running, queued, waiting] = first.map(({ jobId }) => jobId);
      const stages = new Map([
        [running, 'running'],
        [queued, 'queued'],
        [waiting, 'waiting'],
      ]);
      const dieWith = async (claimed: TestJob[]) => {
        const leases = claimed.map(({ jobId, leaseToken }) => ({
          jobId,
          leaseToken,
          stage: stages.get(jobId),
        }));
        await agent.call('jobs/renew', { agentId: agent.agentId, leases });
        clock.advance(31_000);
        await service.scheduler.tick();
      };
      await dieWith(first);
      const second = await agent.claim();
      expect(second).toHaveLength(3);
      await dieWith(second);
      for (let n = 0; n < 6; n++) {
        const again = await agent.claim();
        expect(new Set(again.map(({ jobId }) => jobId))).toEqual(new Set([queued, waiting]));
        await dieWith(again);
      }
      expect(
        await db.query(`select job_id as id, status, reason->>'code' as code from check_results`),
      ).toEqual([{ id: running, status: 'errored', code: 'AGENT_LOST' }]);
      const last = await agent.claim();
      expect(await agent.report(...last.map((job) => resultOf(job, clock.now())))).toMatchObject([
        { outcome: 'stored' },
        { outcome: 'stored' },
      ]);
    });

    it('gives up a run that no agent ever begins after twenty deliveries', async () => {
      const { db, service, agent } = bench;
      const job = await oneJob();
      await service.scheduler.tick();
      await db.query('update checks set activated = false');
      await db.query('update jobs set deliveries = 19');
      clock.advance(31_000);
      await service.scheduler.tick();
      expect((await agent.claim()).map(({ jobId }) => jobId)).toEqual([job.jobId]);
      clock.advance(31_000);
      await service.scheduler.tick();
      expect(await agent.claim()).toEqual([]);
      expect(await status(job.checkId)).toMatchObject({
        status: 'errored',
        reason: { code: 'LEASE_EXPIRED', owner: 'ours' },
      });
    });

    it('takes a job back, keeps the time of its next attempt, and lets another agent continue', async () => {
      const { agent } = bench;
      const job = await oneJob();
      const notBefore = clock.now() + 20_000;
      const firstAttemptAt = new Date(clock.now()).toISOString();
      expect(
        await agent.release(job, {
          nextAttempt: 2,
          notBefore: new Date(notBefore).toISOString(),
          firstAttemptAt,
        }),
      ).toBe('released');
      expect(await agent.release(job)).toBe('lost');
      expect(await agent.claim()).toEqual([]);
      clock.set(notBefore);
      expect(await agent.claim()).toMatchObject([{ jobId: job.jobId, attempt: 2, firstAttemptAt }]);
    });

    it('moves a retry to another location of the check that has agents', async () => {
      const { db, app, accountId, agent } = bench;
      const home = await addLocation(db, { accountId, slug: 'home' });
      await addLocation(db, { accountId, slug: 'empty' });
      const other = await connectAgent(app, home);
      await addCheck(db, {
        accountId,
        privateLocations: ['office', 'home', 'empty'],
        now: clock.now(),
        definition: { retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, sameRegion: false } },
      });
      const [job] = await nextJobs();
      await other.claim(0); // still here
      if (job === undefined) throw new Error('no job');
      expect(job).toMatchObject({ retryStrategy: { sameRegion: false } });
      await agent.report(
        resultOf(job, clock.now(), { resultType: 'ATTEMPT', status: 'failed', hasFailures: true }),
      );
      expect(
        await agent.release(job, { nextAttempt: 2, otherLocation: true, reason: 'retry-elsewhere' }),
      ).toBe('released');
      expect(await agent.claim()).toEqual([]);
      const [moved] = await other.claim();
      if (moved === undefined) throw new Error('not moved');
      expect(moved).toMatchObject({
        jobId: job.jobId,
        runLocation: 'home',
        attempt: 2,
        firstAttemptAt: expect.any(String),
      });
      expect(await other.report(resultOf(moved, clock.now()))).toMatchObject([{ outcome: 'stored' }]);
      expect(await db.query('select run_location as at from check_results order by attempts')).toEqual([
        { at: 'office' },
        { at: 'home' },
      ]);
    });

    it('moves no retry to a location whose agents do not run its type', async () => {
      const { db, app, accountId, agent } = bench;
      const home = await addLocation(db, { accountId, slug: 'home' });
      await connectAgent(app, home, { checkTypes: ['TCP'] });
      await addCheck(db, { accountId, privateLocations: ['office', 'home'], now: clock.now() });
      const [job] = await nextJobs();
      if (job === undefined) throw new Error('no job');
      await db.query('update agents set last_seen_at = $1', [new Date(clock.now())]);
      expect(await agent.release(job, { nextAttempt: 2, otherLocation: true })).toBe('released');
      expect(await agent.claim()).toMatchObject([{ jobId: job.jobId, runLocation: 'office', attempt: 2 }]);
    });

    it('asks an agent to cancel, and still accepts its result', async () => {
      const { db, agent } = bench;
      const job = await oneJob();
      await db.query('update jobs set cancel_requested = true');
      expect(await agent.renew([job])).toMatchObject({ renewed: [job.jobId], cancel: [job.jobId] });
      expect(
        await agent.report(resultOf(job, clock.now(), { status: 'cancelled', isCancelled: true })),
      ).toMatchObject([{ outcome: 'stored' }]);
      expect(await status(job.checkId)).toBeUndefined();
    });
  });
});
