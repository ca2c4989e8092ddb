import { describe, expect, it } from 'vitest';
import { createAlertFollower } from '../../../src/service/alerting/follow-alerts.ts';
import { noteRollups } from '../../../src/service/analytics/rollup-work.ts';
import { timeOfUuidv7 } from '../../../src/service/engine/ids.ts';
import { createFinishedRuns } from '../../../src/service/results/finished-runs.ts';
import { idleBackground } from '../../helpers/service/alert-runs.ts';
import {
  addCheck,
  connectAgent,
  createAgentService,
  resultOf,
  silent,
  type TestAgent,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { schedulerBench } from '../../helpers/service/scheduler-bench.ts';

/** Final results that arrive after their runs were recorded as missed: each moment has one of the two. */

const minute = 60_000;
const first = Date.parse('2026-03-04T05:07:06.000Z');
const momentAt = (index: number) => first + index * minute;

describe.each(databases)('late results: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const bench = schedulerBench(database);
    const { clock } = bench;

    /** Has an agent claim these many runs, one a minute, and lose the service before it reports any of them. */
    async function cutOff(agent: TestAgent, count: number): Promise<TestJob[]> {
      const jobs: TestJob[] = [];
      for (let index = 0; index < count; index++) {
        while (clock.now() < momentAt(index)) clock.advance(1_000);
        await bench.service.scheduler.tick();
        const [job] = await agent.claim();
        if (job === undefined) throw new Error(`no job ${index}`);
        jobs.push(job);
        // Its lease has expired, and nobody claimed it again.
        await bench.db.query(
          `update jobs set state = 'queued', past_tokens = past_tokens || lease_token, lease_token = null,
             lease_expires_at = null, expires_at = $2 where id = $1`,
          [job.jobId, new Date(clock.now() + 30_000)],
        );
        clock.advance(40_000);
        await agent.claim(0);
        await bench.service.scheduler.tick();
      }
      return jobs;
    }

    async function setUp(count: number): Promise<{ agent: TestAgent; jobs: TestJob[]; checkId: string }> {
      const { db, service, accountId, office } = bench;
      const checkId = await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      // The sweep ends nothing before it has worked for the length of a lease.
      await service.scheduler.tick();
      clock.advance(31_000);
      const agent = await connectAgent(service.app, office);
      const jobs = await cutOff(agent, count);
      expect(await records()).toEqual([[0, count - 1, count]]);
      return { agent, jobs, checkId };
    }

    const lateResult = (job: TestJob, fields: Record<string, unknown> = {}) =>
      resultOf(job, Date.parse(job.dueAt), fields);

    const indexOf = (time: number) => (time - first) / minute;
    /** First moment, last moment and count of each record. */
    const records = async () =>
      (await bench.missed()).map(({ started, stopped, details }) => {
        const { count, from, to } = details as { count: number; from: string; to: string };
        expect([from, to].map((at) => Date.parse(at))).toEqual([started.getTime(), stopped.getTime()]);
        return [indexOf(started.getTime()), indexOf(stopped.getTime()), count];
      });
    /** How often each moment has a final result or is in a record. */
    async function coverage(count: number): Promise<number[]> {
      const times = Array.from({ length: count }, () => 0);
      const add = (index: number) => (times[index] = (times[index] ?? 0) + 1);
      for (const [from = 0, to = 0, counted] of await records()) {
        expect(counted).toBe(to - from + 1);
        for (let index = from; index <= to; index++) add(index);
      }
      const finals = await bench.db.query<{ at: Date }>(
        `select started_at as at from check_results where result_type = 'FINAL' and status <> 'missed'`,
      );
      for (const { at } of finals) add(indexOf(at.getTime()));
      return times;
    }
    const once = (count: number) => Array.from({ length: count }, () => 1);
    const open = () =>
      bench.db.query<{ from: Date; to: Date; count: number }>(
        `select m.from_due_at as "from", m.to_due_at as "to", m.count from missed_runs m
         join check_results r on r.id = m.result_id and r.started_at = m.result_started_at`,
      );

    it('removes the record of the one run that took place, once', async () => {
      const { agent, jobs } = await setUp(1);
      const results = jobs.map((job) => lateResult(job));
      expect(await agent.report(...results)).toMatchObject([{ outcome: 'stored' }]);
      expect(await records()).toEqual([]);
      expect(await bench.db.query('select 1 from missed_runs')).toEqual([]);
      expect(await agent.report(...results)).toMatchObject([{ outcome: 'duplicate' }]);
      expect(await coverage(1)).toEqual([1]);
    });

    it('shortens a record at its ends and splits it in the middle', async () => {
      const { agent, jobs } = await setUp(7);
      const report = async (index: number) => {
        const job = jobs[index];
        if (job === undefined) throw new Error('no job');
        expect(await agent.report(lateResult(job))).toMatchObject([{ outcome: 'stored' }]);
        expect(await coverage(7)).toEqual(once(7));
      };
      await report(0);
      expect(await records()).toEqual([[1, 6, 6]]);
      await report(3);
      expect(await records()).toEqual([
        [1, 2, 2],
        [4, 6, 3],
      ]);
      // What follows may still extend the last part.
      expect(await open()).toEqual([{ from: new Date(momentAt(4)), to: new Date(momentAt(6)), count: 3 }]);
      await report(6);
      expect(await records()).toEqual([
        [1, 2, 2],
        [4, 5, 2],
      ]);
      expect(await open()).toEqual([]);
      await report(4);
      await report(1);
      expect(await records()).toEqual([
        [2, 2, 1],
        [5, 5, 1],
      ]);
      // The id of a result leads to its row: it contains the start.
      const rows = await bench.db.query<{ id: string; at: Date }>(
        `select id, started_at as at from check_results where status = 'missed'`,
      );
      for (const { id, at } of rows) expect(timeOfUuidv7(id)).toBe(at.getTime());
    });

    it('continues the open part with the next missed run, and not the closed one', async () => {
      const { agent, jobs } = await setUp(4);
      const [, second, , fourth] = jobs;
      if (second === undefined || fourth === undefined) throw new Error('no jobs');
      await agent.report(lateResult(second));
      const nextMissed = async (index: number) => {
        while (clock.now() < momentAt(index) + 65_000) {
          clock.advance(5_000);
          await agent.claim(0);
          await bench.service.scheduler.tick();
        }
      };
      await nextMissed(4);
      expect(await records()).toEqual([
        [0, 0, 1],
        [2, 4, 3],
      ]);
      await agent.report(lateResult(fourth));
      expect(await records()).toEqual([
        [0, 0, 1],
        [2, 2, 1],
        [4, 4, 1],
      ]);
    });

    it('takes several runs of one record out at once, in any order', async () => {
      const { agent, jobs } = await setUp(8);
      const some = [5, 2, 3, 7].flatMap((index) => jobs[index] ?? []);
      const outcomes = await agent.report(...some.map((job) => lateResult(job)));
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['stored', 'stored', 'stored', 'stored']);
      expect(await records()).toEqual([
        [0, 1, 2],
        [4, 4, 1],
        [6, 6, 1],
      ]);
      expect(await coverage(8)).toEqual(once(8));
      await agent.report(...jobs.map((job) => lateResult(job)));
      expect(await records()).toEqual([]);
      expect(await coverage(8)).toEqual(once(8));
    });

    it('keeps the record for an attempt that is not the last', async () => {
      const { agent, jobs } = await setUp(3);
      const [, job] = jobs;
      if (job === undefined) throw new Error('no job');
      const attempt = { resultType: 'ATTEMPT', status: 'failed', hasFailures: true };
      expect(await agent.report(lateResult(job, attempt))).toMatchObject([{ outcome: 'stored' }]);
      expect(await records()).toEqual([[0, 2, 3]]);
      expect(await open()).toHaveLength(1);
      await agent.report(lateResult(job, { attempt: 2 }));
      expect(await coverage(3)).toEqual(once(3));
    });

    it('agrees between replicas that store the results at the same time, while others are missed', async () => {
      const { agent, jobs, checkId } = await setUp(9);
      const other = await createAgentService(bench.replicas[1] ?? bench.db, clock);
      const same = { ...(await connectAgent(other.app, bench.office)), agentId: agent.agentId };
      await bench.db.query('update checks set activated = true where id = $1', [checkId]);
      clock.set(momentAt(9));
      await bench.service.scheduler.tick();
      clock.advance(61_000);
      const [a, b] = [jobs.filter((_, index) => index % 2 === 0), jobs.filter((_, index) => index % 2 === 1)];
      await Promise.all([
        agent.report(...a.map((job) => lateResult(job))),
        same.report(...b.map((job) => lateResult(job))),
        bench.service.scheduler.tick(),
        other.scheduler.tick(),
      ]);
      expect((await coverage(10)).slice(0, 9)).toEqual(once(9));
      await other.app.close();
    });

    it('alerts nobody of an old failure after a newer run has passed', async () => {
      const { agent, jobs, checkId } = await setUp(3);
      const { db } = bench;
      const background = await idleBackground(db);
      const alerts = createAlertFollower({ background, incidents: null, now: clock.now });
      const finished = createFinishedRuns({
        db,
        followers: [alerts, noteRollups],
        now: clock.now,
        log: silent,
      });
      const [one, two, three] = jobs;
      if (one === undefined || two === undefined || three === undefined) throw new Error('no jobs');
      const failed = { status: 'failed', hasFailures: true };
      await agent.report(lateResult(three));
      await finished.tick();
      await db.query('delete from rollups_due');
      await agent.report(lateResult(one, failed));
      await finished.tick();
      expect(await db.query('select 1 from alerts where check_id = $1', [checkId])).toEqual([]);
      expect(await db.query('select status from check_statuses')).toEqual([{ status: 'passed' }]);
      // Its hour is counted again.
      expect(await db.query('select hour from rollups_due where check_id = $1', [checkId])).toEqual([
        { hour: new Date('2026-03-04T05:00:00.000Z') },
      ]);
      await background.stop();
    });

    it('follows the runs of one delivery from the oldest to the newest', async () => {
      const { agent, jobs, checkId } = await setUp(3);
      const { db } = bench;
      const background = await idleBackground(db);
      const alerts = createAlertFollower({ background, incidents: null, now: clock.now });
      const finished = createFinishedRuns({ db, followers: [alerts], now: clock.now, log: silent });
      const failed = { status: 'failed', hasFailures: true };
      const [one, two, three] = jobs.map((job, index) => lateResult(job, index < 2 ? failed : {}));
      await agent.report(three, one, two);
      await finished.tick();
      const raised = await db.query('select alert_type as type from alerts where check_id = $1 order by id', [
        checkId,
      ]);
      expect(raised).toEqual([{ type: 'ALERT_FAILURE' }, { type: 'ALERT_RECOVERY' }]);
      await background.stop();
    });

    it('follows a run also if its row was committed after later ones had been followed', async () => {
      const { agent, jobs } = await setUp(3);
      const { db } = bench;
      const followed: string[] = [];
      const finished = createFinishedRuns({
        db,
        followers: [(_tx, runs) => Promise.resolve(void followed.push(...runs.map(({ runId }) => runId)))],
        now: clock.now,
        log: silent,
      });
      const [one, two, three] = jobs;
      if (one === undefined || two === undefined || three === undefined) throw new Error('no jobs');
      await agent.report(lateResult(one));
      const [late] = await db.query<{ row: object }>('select to_jsonb(f) as row from finished_runs f');
      await db.query('delete from finished_runs');
      // Twice, so that its number is one that had been given out long ago.
      for (const job of [two, three]) {
        await agent.report(lateResult(job));
        for (let looks = 0; looks < 4; looks++) {
          clock.advance(6_000);
          await finished.tick();
        }
      }
      expect(followed).toHaveLength(2);
      await db.query(
        `insert into finished_runs overriding system value
         select * from jsonb_populate_record(null::finished_runs, $1::jsonb)`,
        [JSON.stringify(late?.row)],
      );
      await finished.tick();
      expect(followed).toHaveLength(2);
      clock.advance(6_000);
      await finished.tick();
      expect(followed).toHaveLength(3);
    });
  });
});
