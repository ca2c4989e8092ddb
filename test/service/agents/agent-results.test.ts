import { describe, expect, it } from 'vitest';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { agentRoutesBench } from '../../helpers/service/agent-routes-bench.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  resultOf,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

/** Which results of agents the service stores, and which it rejects. */

const minute = 60_000;

describe.each(databases)('results of agents: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const bench = agentRoutesBench(database);
    const { clock, nextJobs, oneJob, results, status } = bench;

    it('rejects results for jobs of another account, or with an invented token', async () => {
      const { db, app, agent } = bench;
      const stranger = await connectAgent(
        app,
        await addLocation(db, { accountId: await addAccount(db), slug: 'office' }),
      );
      const job = await oneJob();
      expect(await stranger.report(resultOf(job, clock.now()))).toMatchObject([
        { outcome: 'rejected', reason: 'no such job at this location' },
      ]);
      expect(await agent.report(resultOf({ ...job, leaseToken: uuidv7() }, clock.now()))).toMatchObject([
        { outcome: 'rejected', reason: 'the lease token is not one of this job' },
      ]);
      expect(await stranger.renew([job])).toMatchObject({ renewed: [], lost: [job.jobId], cancel: [] });
      expect(await stranger.release(job)).toBe('lost');
      expect(await results()).toEqual([]);
    });

    it('does not reveal finished jobs to agents of other locations', async () => {
      const { db, app, accountId, agent } = bench;
      const home = await connectAgent(app, await addLocation(db, { accountId, slug: 'home' }));
      const far = await addLocation(db, { accountId: await addAccount(db), slug: 'office' });
      const stranger = await connectAgent(app, far);
      const job = await oneJob();
      const rejected = [{ outcome: 'rejected', reason: 'no such job at this location' }];
      expect(await agent.report(resultOf(job, clock.now()))).toMatchObject([{ outcome: 'stored' }]);
      expect(await stranger.report(resultOf(job, clock.now()))).toMatchObject(rejected);
      expect(await home.renew([job])).toMatchObject({ lost: [job.jobId], cancel: [] });
    });

    it.each([-40 * 24 * 60, -60, 60, 400 * 24 * 60])(
      'corrects the times of an agent whose clock is %i minutes off',
      async (minutes) => {
        const { db, agent } = bench;
        const job = await oneJob();
        clock.advance(300);
        const wrong = new Date(clock.now() + minutes * 60_000);
        const times = {
          startedAt: wrong.toISOString(),
          stoppedAt: new Date(wrong.getTime() + 20).toISOString(),
        };
        await agent.report(resultOf(job, clock.now(), times));
        const started = minutes < 0 ? new Date(job.dueAt) : new Date(clock.now());
        expect(
          await db.query('select started_at as started, stopped_at as stopped from check_results'),
        ).toEqual([{ started, stopped: new Date(started.getTime() + 20) }]);
      },
    );

    it('stores a result once, however often it is sent', async () => {
      const { db, agent } = bench;
      const job = await oneJob();
      const result = resultOf(job, clock.now());
      const [one, two] = await Promise.all([agent.report(result, result), agent.report(result)]);
      const outcomes = [...one, ...two].map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'stored').length).toBe(1);
      expect(outcomes.filter((outcome) => outcome === 'duplicate').length).toBe(2);
      expect(await agent.report(result)).toMatchObject([{ outcome: 'duplicate' }]);
      expect(await results()).toEqual([
        { jobId: job.jobId, resultType: 'FINAL', status: 'passed', attempts: 0 },
      ]);
      expect(await db.query('select 1 from jobs')).toEqual([]);
    });

    it('stores attempts, and lets only final and newer results change the status', async () => {
      const { db, agent } = bench;
      const job = await oneJob();
      const now = clock.now();
      const failed = {
        status: 'failed',
        hasFailures: true,
        reason: { code: 'ECONNREFUSED', owner: 'target', message: 'refused' },
      };
      expect(await agent.report(resultOf(job, now, { resultType: 'ATTEMPT', ...failed }))).toMatchObject([
        { outcome: 'stored' },
      ]);
      expect(await status(job.checkId)).toBeUndefined();
      expect(await agent.report(resultOf({ ...job, attempt: 2 }, now + 5))).toMatchObject([
        { outcome: 'stored' },
      ]);
      expect(await status(job.checkId)).toMatchObject({ status: 'passed' });
      expect(await results()).toEqual([
        { jobId: job.jobId, resultType: 'ATTEMPT', status: 'failed', attempts: 0 },
        { jobId: job.jobId, resultType: 'FINAL', status: 'passed', attempts: 1 },
      ]);
      const [next] = await nextJobs();
      const [later] = await nextJobs();
      if (next === undefined || later === undefined) throw new Error('no jobs');
      await agent.report(resultOf(later, clock.now(), { responseTime: 50, ...failed }));
      // An older result arrives late: it counts only for the extremes.
      await agent.report(resultOf(next, clock.now() - minute, { responseTime: 99 }));
      expect(
        await db.query(
          'select status, reason, longest_run as longest, shortest_run as shortest from check_statuses',
        ),
      ).toEqual([{ status: 'failed', reason: failed.reason, longest: 99, shortest: 12.5 }]);
    });

    it('rejects malformed items one by one', async () => {
      const { db, accountId, agent } = bench;
      const jobs: TestJob[] = [];
      for (let n = 0; n < 12; n++)
        await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      jobs.push(...(await nextJobs()));
      const now = clock.now();
      let deep: unknown = 1;
      for (let n = 0; n < 500; n++) deep = [deep];
      const [a, b, c, d, e, f, g, h, i, j, k, l] = jobs.map((job) => resultOf(job, now));
      const answers = await agent.report(
        a,
        { ...b, status: 'splendid' },
        null,
        'text',
        { ...c, jobId: 'x' },
        { ...d, startedAt: 'yesterday' },
        { ...e, details: { deep } },
        { ...f, details: { text: 'x'.repeat(2_200_000) } },
        { ...g, attempt: 1e9 },
        {
          ...h,
          details: { nul: 'a\u0000b', half: '\ud800', back: '\\u0000' },
          log: [{ time: 1, level: 'info', msg: '\u0000' }],
        },
        { ...i, startedAt: '1970-01-01T00:00:00Z', stoppedAt: '2999-01-01T00:00:00Z' },
        { ...j, sequenceId: 'not a uuid', checkId: 'nor this', checkType: 'XYZ', runLocation: 'elsewhere' },
        { ...k, responseTime: 1e300, unknown: 'field' },
        { ...l, jobId: uuidv7() },
      );
      expect(answers.map(({ outcome }) => outcome)).toEqual([
        'stored', 'rejected', 'rejected', 'rejected', 'rejected', 'rejected', 'rejected', 'rejected', 'rejected',
        'stored', 'stored', 'stored', 'stored', 'rejected',
      ]); // prettier-ignore
      expect(answers.map(({ reason }) => reason)).toEqual([
        undefined,
        expect.stringMatching(/^malformed: status /),
        expect.stringMatching(/^malformed: /),
        expect.stringMatching(/^malformed: /),
        'malformed: jobId must be a UUID',
        'malformed: startedAt must be a time',
        'malformed: nested deeper than 33 levels',
        'larger than 2097152 bytes',
        'malformed: attempt must be at most 100',
        undefined,
        undefined,
        undefined,
        undefined,
        'no such job at this location',
      ]);
      const stored = await db.query<{
        body: { details: unknown };
        started: Date;
        location: string;
        type: string;
        id: string;
      }>(
        `select body, started_at as started, run_location as location, check_type as type from check_results
         where job_id = any($1::uuid[]) order by array_position($1::uuid[], job_id)`,
        [[h?.['jobId'], i?.['jobId'], j?.['jobId']]],
      );
      expect(stored[0]?.body.details).toEqual({ nul: 'a\ufffdb', half: '\ufffd', back: '\\u0000' });
      expect(stored[1]?.started).toEqual(new Date(now));
      expect(stored[2]).toMatchObject({ location: 'office', type: 'URL' });
    });

    it('survives a deeply nested body', async () => {
      const { app, office } = bench;
      const text = `{"agentId":"x","results":[{"details":${'['.repeat(100_000)}${']'.repeat(100_000)}}]}`;
      const headers = { authorization: `Bearer ${office.key}`, 'content-type': 'application/json' };
      const answer = await app.inject({ method: 'POST', url: '/agent/v1/results', headers, payload: text });
      expect(answer.json()).toMatchObject({ items: [{ outcome: 'rejected' }] });
    });

    it('a deeply nested field does not affect the other results', async () => {
      const { db, app, accountId, office, agent } = bench;
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      const [first, second] = await nextJobs();
      if (first === undefined || second === undefined) throw new Error('no jobs');
      const reason = { code: 'TIMEOUT', owner: 'target', message: 'm' };
      for (const [field, value] of Object.entries({
        log: [{ time: 1, level: 'info', msg: 'm', newer: 'DEEP' }],
        timings: { total: 1, newer: 'DEEP' },
        reason: { ...reason, newer: 'DEEP' },
        artifacts: [{ name: 'a', type: 'log', size: 1, state: 'stored', url: null, newer: 'DEEP' }],
        newer: 'DEEP',
      })) {
        const body = { agentId: agent.agentId, results: [resultOf(first, clock.now(), { [field]: value })] };
        const payload = JSON.stringify(body).replace('"DEEP"', `${'['.repeat(50_000)}${']'.repeat(50_000)}`);
        const headers = { authorization: `Bearer ${office.key}`, 'content-type': 'application/json' };
        const answer = await app.inject({ method: 'POST', url: '/agent/v1/results', headers, payload });
        expect(answer.json(), field).toMatchObject({
          items: [{ outcome: 'rejected', reason: 'malformed: nested deeper than 33 levels' }],
        });
      }
      const newer = resultOf(second, clock.now(), { reason: { ...reason, newer: 'x'.repeat(10_000) } });
      expect(await agent.report(newer)).toMatchObject([{ outcome: 'stored' }]);
      expect(await status(second.checkId)).toMatchObject({ reason });
    });
  });
});
