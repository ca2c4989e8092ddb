import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { statusFields } from '../../helpers/service/error-body.ts';
import { Compile } from 'typebox/compile';
import { UrlJob } from '../../../src/protocol/job.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  emptyAccounts,
  encryption,
  resultOf,
  type AgentService,
  type TestAgent,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

const minute = 60_000;

describe.each(databases)('agent protocol: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock('2026-03-04T05:06:07.000Z');
    let db: Db;
    let service: AgentService;
    let app: FastifyInstance;
    let accountId: string;
    let office: { id: string; slug: string; key: string };
    let agent: TestAgent;

    beforeAll(async () => {
      db = await database.open();
    });
    beforeEach(async () => {
      clock.set('2026-03-04T05:06:07.000Z');
      await emptyAccounts(db);
      service = await createAgentService(db, clock);
      app = service.app;
      accountId = await addAccount(db);
      office = await addLocation(db, { accountId, slug: 'office' });
      agent = await connectAgent(app, office);
    });
    afterEach(() => app.close());
    afterAll(() => database.close());

    /** Moves on to the next due moment, which all checks here share; the jobs that the agent then gets. */
    async function nextJobs(by: TestAgent = agent): Promise<TestJob[]> {
      const [next] = await db.query<{ at: Date }>('select min(next_due_at) as at from checks');
      clock.set(next?.at.getTime() ?? clock.now());
      await by.claim(0); // still here
      await service.scheduler.tick();
      return by.claim();
    }
    async function oneJob(options: { definition?: Record<string, unknown> } = {}): Promise<TestJob> {
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now(), ...options });
      const [job] = await nextJobs();
      if (job === undefined) throw new Error('no job');
      return job;
    }
    const results = () =>
      db.query<Record<string, unknown>>(
        `select job_id as "jobId", result_type as "resultType", status, attempts from check_results order by stored_at, attempts`,
      );
    const status = async (checkId: string) =>
      (
        await db.query('select status, has_errors, reason from check_statuses where check_id = $1', [checkId])
      )[0];

    it('refuses unknown keys with the error shape, before it reads a body', async () => {
      for (const key of ['pl_00000000000000000000000000000000', 'x']) {
        expect(await agent.call('hello', { anything: 1 }, key)).toEqual({
          status: 401,
          body: { ...statusFields(401), message: expect.stringContaining('is not valid'), attributes: {} },
        });
      }
      const answer = await app.inject({ method: 'POST', url: '/agent/v1/hello' });
      expect([answer.statusCode, answer.json()]).toEqual([
        401,
        { ...statusFields(401), message: expect.stringContaining('is missing'), attributes: {} },
      ]);
    });

    it('takes a compressed body', async () => {
      const packed = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      const claim = async (payload: Buffer) =>
        (
          await app.inject({
            method: 'POST',
            url: '/agent/v1/jobs/claim',
            headers: { ...packed, authorization: `Bearer ${office.key}` },
            payload,
          })
        ).json<{ statusCode?: number; attributes?: object }>();
      const bad = { agentId: agent.agentId, free: { uptime: -1 }, waitSeconds: 0 };
      expect(await claim(gzipSync(JSON.stringify(bad)))).toMatchObject({
        statusCode: 400,
        attributes: { 'free.uptime': [expect.any(String)] },
      });
      expect(await claim(Buffer.from(JSON.stringify(bad)))).toMatchObject({
        attributes: { body: ['is not valid gzip'] },
      });
    });

    it('names the fields of a bad body, and ignores fields that it does not know', async () => {
      expect(
        await agent.call('jobs/claim', { agentId: agent.agentId, free: { uptime: -1 }, waitSeconds: 99 }),
      ).toEqual({
        status: 400,
        body: {
          ...statusFields(400),
          message: expect.any(String),
          attributes: { 'free.uptime': [expect.any(String)], waitSeconds: [expect.any(String)] },
        },
      });
      const known = { agentId: agent.agentId, free: { uptime: 1, holodeck: 5 }, waitSeconds: 0, warp: true };
      expect(await agent.call('jobs/claim', known)).toEqual({ status: 204, body: null });
    });

    it('sends an agent that the location does not know to say hello', async () => {
      for (const agentId of [uuidv7(), 'nonsense']) {
        const answer = await agent.call('jobs/claim', { agentId, free: { uptime: 1 }, waitSeconds: 0 });
        expect(answer).toMatchObject({
          status: 409,
          body: { attributes: { agentId: [expect.any(String)] } },
        });
      }
    });

    it('hands out a job that its schema accepts, with everything the check says', async () => {
      await db.query('update locations set proxy_url = $2 where id = $1', [
        office.id,
        Buffer.from(encryption.seal('http://user:pass@proxy:3128')),
      ]);
      const job = await oneJob({
        definition: {
          shouldFail: true,
          degradedResponseTime: 100,
          maxResponseTime: 200,
          retryStrategy: {
            type: 'LINEAR',
            baseBackoffSeconds: 10,
            maxRetries: 3,
            maxDurationSeconds: 600,
            sameRegion: false,
            onlyOn: [],
          },
          environmentVariables: [
            { key: 'TOKEN', value: encryption.seal('secret!'), locked: false, secret: true },
          ],
        },
      });
      expect([...Compile(UrlJob).Errors(job)]).toEqual([]);
      expect(job).toMatchObject({
        checkType: 'URL',
        lane: 'uptime',
        runLocation: 'office',
        attempt: 1,
        firstAttemptAt: null,
        shouldFail: true,
        degradedResponseTime: 100,
        maxResponseTime: 200,
        // There is no other location to go to.
        retryStrategy: { type: 'LINEAR', sameRegion: true },
        environmentVariables: [{ key: 'TOKEN', value: 'secret!', locked: false, secret: true }],
        proxyUrl: 'http://user:pass@proxy:3128',
        leaseExpiresAt: new Date(clock.now() + 30_000).toISOString(),
        // 3 retries after 10 + 20 + 30 s, 4 attempts of 30 s, and a minute.
        deadline: new Date(clock.now() + 240_000).toISOString(),
      });
      expect(clock.now() - Date.parse(job.dueAt)).toBeLessThan(minute);
      expect(await agent.claim()).toEqual([]);
    });

    it('ends a run whose secrets cannot be opened, and hands out its neighbours', async () => {
      const broken = await addCheck(db, {
        accountId,
        privateLocations: ['office'],
        now: clock.now(),
        definition: {
          environmentVariables: [{ key: 'A', value: 'not sealed', locked: false, secret: true }],
        },
      });
      const good = await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      expect((await nextJobs()).map(({ checkId }) => checkId)).toEqual([good]);
      expect(await status(broken)).toMatchObject({
        status: 'errored',
        has_errors: true,
        reason: { code: 'INTERNAL' },
      });
    });

    it('shows no location the jobs of another', async () => {
      const home = await addLocation(db, { accountId, slug: 'home' });
      const other = await connectAgent(app, home);
      const job = await oneJob();
      expect(await other.claim()).toEqual([]);
      expect(await other.report(resultOf(job, clock.now()))).toEqual([
        { jobId: job.jobId, attempt: 1, outcome: 'stored' },
      ]);
      // Where the lease was, not where its reporter is.
      expect(await db.query('select run_location as at from check_results')).toEqual([{ at: 'office' }]);
    });

    it('takes no result for a job of another account, or with a token of its own making', async () => {
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

    it('tells no stranger what has ended', async () => {
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
      'puts the times of an agent whose clock is %i minutes off where the run was',
      async (minutes) => {
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

    it('stores a result once, however often it comes', async () => {
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
      // An older one comes late: it counts for the extremes alone.
      await agent.report(resultOf(next, clock.now() - minute, { responseTime: 99 }));
      expect(
        await db.query(
          'select status, reason, longest_run as longest, shortest_run as shortest from check_statuses',
        ),
      ).toEqual([{ status: 'failed', reason: failed.reason, longest: 99, shortest: 12.5 }]);
    });

    it('rejects malformed items one by one', async () => {
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

    it('survives a body that is nested without end', async () => {
      const text = `{"agentId":"x","results":[{"details":${'['.repeat(100_000)}${']'.repeat(100_000)}}]}`;
      const headers = { authorization: `Bearer ${office.key}`, 'content-type': 'application/json' };
      const answer = await app.inject({ method: 'POST', url: '/agent/v1/results', headers, payload: text });
      expect(answer.json()).toMatchObject({ items: [{ outcome: 'rejected' }] });
    });

    it('lets no depth of any field spoil the results beside it', async () => {
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

    it('stores of an agent and its events only what the protocol has', async () => {
      const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
      const post = (path: string, body: object) =>
        app.inject({
          method: 'POST',
          url: `/agent/v1/${path}`,
          headers: { authorization: `Bearer ${office.key}`, 'content-type': 'application/json' },
          payload: JSON.stringify(body).replaceAll('"DEEP"', deep),
        });
      const host = {
        hostname: 'h',
        platform: 'linux',
        arch: 'x64',
        nodeVersion: 'v20',
        cores: 2,
        memoryBytes: 1,
      };
      const hello = { instanceId: 'one', version: '1', protocolMinor: 1, checkTypes: [], runtimes: [] };
      const answer = await post('hello', {
        ...hello,
        host: { ...host, newer: 'DEEP' },
        lanes: { uptime: 1, newer: 'DEEP' },
      });
      expect(answer.statusCode).toBe(200);
      expect(await db.query(`select host, lanes from agents where instance_id = 'one'`)).toEqual([
        { host, lanes: { uptime: 1 } },
      ]);
      const event = { time: 't', message: 'm', version: '1', platform: 'linux', runtime: 'v20' };
      const events = await post('events', { agentId: 'x', events: [{ ...event, newer: 'DEEP' }] });
      expect(events.statusCode).toBe(200);
      expect(await db.query('select event from agent_events')).toEqual([{ event }]);
    });

    it('renews leases; a lease that runs out goes to another agent within 35 s, and its token is lost', async () => {
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

    it('waits one lease after its start before it hands out what agents may still have', async () => {
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

    it('gives up a run that five agents did not survive', async () => {
      const job = await oneJob();
      await service.scheduler.tick();
      await db.query('update checks set activated = false');
      for (let n = 2; n <= 5; n++) {
        clock.advance(31_000);
        await service.scheduler.tick();
        expect((await agent.claim()).map(({ jobId }) => jobId)).toEqual([job.jobId]);
      }
      clock.advance(31_000);
      await service.scheduler.tick();
      expect(await agent.claim()).toEqual([]);
      expect(await status(job.checkId)).toMatchObject({
        status: 'errored',
        reason: { code: 'LEASE_EXPIRED', owner: 'ours' },
      });
    });

    it('takes a job back, keeps the moment of its next attempt, and lets another agent go on', async () => {
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
      const home = await addLocation(db, { accountId, slug: 'home' });
      await connectAgent(app, home, { checkTypes: ['TCP'] });
      await addCheck(db, { accountId, privateLocations: ['office', 'home'], now: clock.now() });
      const [job] = await nextJobs();
      if (job === undefined) throw new Error('no job');
      await db.query('update agents set last_seen_at = $1', [new Date(clock.now())]);
      expect(await agent.release(job, { nextAttempt: 2, otherLocation: true })).toBe('released');
      expect(await agent.claim()).toMatchObject([{ jobId: job.jobId, runLocation: 'office', attempt: 2 }]);
    });

    it('tells an agent to cancel, and still takes its result', async () => {
      const job = await oneJob();
      await db.query('update jobs set cancel_requested = true');
      expect(await agent.renew([job])).toMatchObject({ renewed: [job.jobId], cancel: [job.jobId] });
      expect(
        await agent.report(resultOf(job, clock.now(), { status: 'cancelled', isCancelled: true })),
      ).toMatchObject([{ outcome: 'stored' }]);
      expect(await status(job.checkId)).toBeUndefined();
    });

    it('answers a long poll as soon as there is a job', async () => {
      await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
      const waiting = agent.claim(10, { waitSeconds: 20 });
      await new Promise((resolve) => setTimeout(resolve, 100));
      clock.set('2026-03-04T05:07:06.000Z');
      const started = performance.now();
      await service.scheduler.tick();
      expect((await waiting).length).toBe(1);
      expect(performance.now() - started).toBeLessThan(1_500); // the safety net alone would take 2 s
    });

    it('answers long polls at once when the service stops', async () => {
      const waiting = agent.claim(10, { waitSeconds: 25 });
      await new Promise((resolve) => setTimeout(resolve, 100));
      const started = performance.now();
      await Promise.all([waiting, app.close()]);
      expect(performance.now() - started).toBeLessThan(3_000);
    });

    it('keeps events of agents', async () => {
      const event = {
        time: '2026-03-04T05:06:07Z',
        message: 'disk\u0000full',
        version: '1',
        platform: 'linux',
        runtime: 'v20',
      };
      expect(await agent.call('events', { agentId: agent.agentId, events: [event, event] })).toEqual({
        status: 200,
        body: { accepted: 2 },
      });
      expect(await db.query('select event, location_id as "locationId" from agent_events limit 1')).toEqual([
        { event: { ...event, message: 'disk\ufffdfull' }, locationId: office.id },
      ]);
      expect(
        (await agent.call('events', { agentId: agent.agentId, events: Array(101).fill(event) })).status,
      ).toBe(400);
    });
  });
});
