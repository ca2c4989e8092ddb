import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { planSessionRuns, startSessions } from '../../../src/service/sessions/sessions.ts';
import {
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  encryption,
  resultOf,
  type AgentService,
  type TestAgent,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { databases, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Check sessions from the trigger through an agent to their end, and how they are cancelled. */

const start = '2026-03-04T05:06:07.000Z';
const second = 1000;
const abilities = { checkTypes: ['URL', 'PLAYWRIGHT'] };

type Session = Fields & {
  checkSessionId: string;
  checkId: string;
  status: string;
  stoppedAt: string | null;
  runLocations: string[];
  results: Fields[];
  inProgress: (Fields & { sequenceId: string; state: string; stage: string | null; log: string[] })[];
};

describe.each(databases)('check sessions: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    let db: Db;
    let folder: string;
    let agents: AgentService;
    let api: TestService;
    let office: { id: string; slug: string; key: string };
    let home: { id: string; slug: string; key: string };
    let bundle: string;

    beforeAll(async () => {
      db = await database.open();
      folder = mkdtempSync(join(tmpdir(), 'bundles-'));
      const bundles = createArtifactFiles(folder, { reserveBytes: 0 });
      agents = await createAgentService(db, clock, null, bundles);
      api = await startTestService(db, { now: clock.now, bundles, encryption });
    });
    beforeEach(async () => {
      clock.set(start);
      await emptyTables(
        db,
        'check_results, finished_jobs, check_sessions, run_logs, playwright_bundles, account_variables, check_groups, checks, locations',
      );
      // The retention of another test has dropped those of its time.
      await createPartitions(db).make([clock.now()]);
      const { id: accountId } = api.account;
      office = await addLocation(db, { accountId, slug: 'office' });
      home = await addLocation(db, { accountId, slug: 'home' });
      bundle = (
        await api.call<{ key: string }>('POST', '/v1/playwright-bundles', {
          body: gzipSync('a project'),
          headers: { 'content-type': 'application/octet-stream' },
        })
      ).body.key;
    });
    afterAll(async () => {
      await agents.app.close();
      await api.close();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    });

    async function create(path: string, body: Fields): Promise<string> {
      const answer = await api.call<{ id: string; attributes?: unknown }>('POST', path, { body });
      expect([path, answer.status, answer.body.attributes]).toEqual([path, 201, undefined]);
      return String(answer.body.id);
    }
    const suite = (fields: Fields = {}) =>
      create('/v1/checks/playwright', {
        name: 'Shop',
        codeBundlePath: bundle,
        privateLocations: ['office'],
        frequency: 60,
        ...fields,
      });
    const page = (fields: Fields = {}) =>
      create('/v1/checks/url', {
        name: 'Page',
        request: { url: 'https://shop.example/' },
        privateLocations: ['office'],
        frequency: 60,
        ...fields,
      });
    async function trigger(body: Fields = {}): Promise<Session[]> {
      const answer = await api.call<{ sessions: Session[] }>('POST', '/v2/check-sessions/trigger', { body });
      expect([answer.status, answer.body]).toEqual([201, expect.anything()]);
      return answer.body.sessions;
    }
    async function triggerOne(checkId: string, body: Fields = {}): Promise<Session> {
      const [session, ...others] = await trigger({ target: { checkId: [checkId] }, ...body });
      expect(others).toEqual([]);
      if (session === undefined) throw new Error('no session');
      return session;
    }
    async function read({ checkSessionId }: Session, version = 'v2'): Promise<Session> {
      const answer = await api.call<Session>('GET', `/${version}/check-sessions/${checkSessionId}`);
      expect(answer.status).toBe(200);
      return answer.body;
    }
    const cancel = (id: string, body?: unknown) =>
      api.call('POST', `/v1/check-sessions/${id}/cancel`, body === undefined ? {} : { body });
    const connect = (location = office): Promise<TestAgent> => connectAgent(agents.app, location, abilities);
    async function claimSuite(agent: TestAgent): Promise<TestJob> {
      const [job, ...others] = await agent.claim(10, { lane: 'suite' });
      expect(others).toEqual([]);
      if (job === undefined) throw new Error('no job');
      return job;
    }
    const cancelled = {
      status: 'cancelled',
      isCancelled: true,
      reason: { code: 'CANCELLED', owner: 'ours', message: 'cancelled' },
    };

    it('run a check now: trigger, job, progress, result', async () => {
      const id = await suite();
      const before = await db.query('select next_due_at, rotation from checks');
      const session = await triggerOne(id, { refreshCache: true });
      expect(session).toEqual({
        checkSessionId: session.checkSessionId,
        checkSessionLink: `${api.url}/v2/check-sessions/${session.checkSessionId}`,
        checkId: id,
        checkType: 'PLAYWRIGHT',
        name: 'Shop',
        status: 'STARTED',
        startedAt: start,
        stoppedAt: null,
        timeElapsed: 0,
        runLocations: ['office'],
        runSource: 'TRIGGER_API',
      });
      const queued = await read(session);
      expect(queued).toMatchObject({ status: 'STARTED', results: [] });
      expect(queued.inProgress).toEqual([
        {
          sequenceId: expect.any(String) as unknown,
          checkId: id,
          checkType: 'PLAYWRIGHT',
          name: 'Shop',
          runLocation: 'office',
          state: 'QUEUED',
          stage: null,
          claimedAt: null,
          cancelRequested: false,
          log: [],
        },
      ]);

      const agent = await connect();
      clock.advance(second);
      const job = await claimSuite(agent);
      expect(job).toMatchObject({
        runSource: 'TRIGGER_API',
        sequenceId: queued.inProgress[0]?.sequenceId,
        suite: { refreshCache: true },
      });
      expect(job).not.toHaveProperty('testSession');
      await agent.call('jobs/renew', {
        agentId: agent.agentId,
        leases: [
          {
            jobId: job.jobId,
            leaseToken: job.leaseToken,
            stage: 'install',
            log: ['npm ci', 'added 3 packages'],
          },
        ],
      });
      clock.advance(second);
      const going = await read(session);
      expect(going).toMatchObject({ status: 'PROGRESS', timeElapsed: 2000, stoppedAt: null });
      expect(going.inProgress).toMatchObject([
        {
          state: 'RUNNING',
          stage: 'install',
          claimedAt: '2026-03-04T05:06:08.000Z',
          log: ['npm ci', 'added 3 packages'],
        },
      ]);

      expect(
        (await agent.report(resultOf(job, clock.now(), { status: 'degraded', isDegraded: true })))[0],
      ).toMatchObject({
        outcome: 'stored',
      });
      const done = await read(session);
      expect(done).toMatchObject({
        status: 'DEGRADED',
        stoppedAt: '2026-03-04T05:06:09.000Z',
        timeElapsed: 2000,
        inProgress: [],
      });
      expect(done.results).toMatchObject([
        {
          sequenceId: job.sequenceId,
          checkId: id,
          checkType: 'PLAYWRIGHT',
          name: 'Shop',
          runLocation: 'office',
          resultType: 'FINAL',
          hasErrors: false,
          hasFailures: false,
          isDegraded: true,
          aborted: false,
          isCancelled: false,
          responseTime: 12.5,
          startedAt: '2026-03-04T05:06:09.000Z',
        },
      ]);
      const link = String(done.results[0]?.['checkResultLink']).slice(api.url.length);
      expect((await api.call('GET', link)).body).toMatchObject({ status: 'degraded', checkId: id });
      // A session's run counts like a scheduled one, and takes nobody's turn.
      expect((await api.call('GET', `/v1/check-statuses/${id}`)).body).toMatchObject({ status: 'degraded' });
      expect(await db.query('select next_due_at, rotation from checks')).toEqual(before);
    });

    it('cancel: a leased run learns of it at its next renewal, and the session ends CANCELLED', async () => {
      const id = await suite();
      const agent = await connect();
      const session = await triggerOne(id);
      const job = await claimSuite(agent);
      expect(await agent.renew([job])).toMatchObject({ renewed: [job.jobId], cancel: [] });
      expect(await cancel(session.checkSessionId)).toMatchObject({ status: 204, body: null });
      expect(await agent.renew([job])).toMatchObject({ renewed: [job.jobId], cancel: [job.jobId] });
      expect(await read(session)).toMatchObject({
        status: 'PROGRESS',
        inProgress: [{ cancelRequested: true }],
      });
      await agent.report(resultOf(job, clock.now(), cancelled));
      expect(await read(session)).toMatchObject({
        status: 'CANCELLED',
        results: [{ isCancelled: true, aborted: true, hasErrors: false, hasFailures: false }],
        inProgress: [],
      });
      expect(await read(session, 'v1')).toMatchObject({ status: 'TIMED_OUT' });
      // The check's status is what it was: none.
      expect((await api.call('GET', `/v1/check-statuses/${id}`)).status).toBe(404);
      // Nothing goes on any more: another cancel has nothing to do.
      expect((await cancel(session.checkSessionId)).status).toBe(204);
    });

    it('cancel: queued runs end at once; those that are named, or all', async () => {
      const id = await suite({ privateLocations: ['office', 'home'], runParallel: true });
      const session = await triggerOne(id);
      expect(session.runLocations.toSorted()).toEqual(['home', 'office']);
      const [first, other] = (await read(session)).inProgress;
      if (first === undefined || other === undefined) throw new Error('no runs');
      expect((await cancel(session.checkSessionId, { sequenceId: [first.sequenceId] })).status).toBe(204);
      expect(await read(session)).toMatchObject({
        status: 'PROGRESS',
        results: [{ sequenceId: first.sequenceId, isCancelled: true, resultType: 'FINAL' }],
        inProgress: [{ sequenceId: other.sequenceId, cancelRequested: false }],
      });
      expect((await cancel(session.checkSessionId, {})).status).toBe(204);
      expect(await read(session)).toMatchObject({ status: 'CANCELLED', stoppedAt: start, inProgress: [] });
      expect(await db.query('select 1 from jobs')).toEqual([]);
      // Nobody has run it: nothing is known of the check, and an open record of missed runs stays open.
      expect((await api.call('GET', `/v1/check-statuses/${id}`)).status).toBe(404);
    });

    it('cancel: a passed run beside a cancelled one makes CANCELLED, and the check keeps the status of the passed one', async () => {
      const id = await suite({ privateLocations: ['office', 'home'], runParallel: true });
      const [atOffice, atHome] = [await connect(), await connect(home)];
      const session = await triggerOne(id);
      const [one, other] = [await claimSuite(atOffice), await claimSuite(atHome)];
      await atOffice.report(resultOf(one, clock.now()));
      expect(
        (await cancel(session.checkSessionId, { sequenceId: [one.sequenceId, other.sequenceId] })).status,
      ).toBe(204);
      expect(await atHome.renew([other])).toMatchObject({ cancel: [other.jobId] });
      clock.advance(second);
      await atHome.report(resultOf(other, clock.now(), cancelled));
      expect(await read(session)).toMatchObject({ status: 'CANCELLED' });
      expect((await api.call('GET', `/v1/check-statuses/${id}`)).body).toMatchObject({
        status: 'passed',
        lastRunLocation: 'office',
      });
    });

    it('cancel: an agent that is not heard of again, or hands the run back, ends it as well', async () => {
      const id = await suite();
      const agent = await connect();
      await agents.scheduler.tick();
      const lost = await triggerOne(id);
      await claimSuite(agent);
      await cancel(lost.checkSessionId);
      clock.advance(31 * second);
      await agents.scheduler.tick();
      expect(await read(lost)).toMatchObject({
        status: 'CANCELLED',
        results: [{ isCancelled: true, hasErrors: false }],
      });

      const released = await triggerOne(id);
      const job = await claimSuite(agent);
      await cancel(released.checkSessionId);
      expect(await agent.release(job)).toBe('released');
      expect(await read(released)).toMatchObject({ status: 'CANCELLED', results: [{ isCancelled: true }] });
    });

    it('cancel only suites, only of sessions, only known runs', async () => {
      const [suiteId, pageId] = [await suite(), await page()];
      const ofPage = await triggerOne(pageId);
      const ofSuite = await triggerOne(suiteId);
      const [pageRun] = (await read(ofPage)).inProgress;
      expect((await cancel(ofPage.checkSessionId)).status).toBe(204);
      expect(await read(ofPage)).toMatchObject({
        status: 'STARTED',
        inProgress: [{ cancelRequested: false }],
      });
      const unknown = uuidv7();
      expect(
        await cancel(ofPage.checkSessionId, { sequenceId: [pageRun?.sequenceId, unknown] }),
      ).toMatchObject({
        status: 400,
        body: {
          attributes: {
            'sequenceId.0': [expect.stringContaining('type URL')],
            'sequenceId.1': [`names no run of this session (${unknown})`],
          },
        },
      });
      expect((await cancel(ofSuite.checkSessionId, { sequenceId: [] })).body).toMatchObject({
        attributes: { sequenceId: ['must have 1 to 1000 items'] },
      });
      expect((await cancel(ofSuite.checkSessionId, { sequenceId: ['x'] })).status).toBe(400);
      expect((await cancel(ofSuite.checkSessionId, { all: true })).status).toBe(400);
      expect(await read(ofSuite)).toMatchObject({ status: 'STARTED' });
      for (const id of [unknown, 'nothing']) {
        expect(await cancel(id)).toMatchObject({
          status: 404,
          body: { attributes: { checkSessionId: ['names no check session of this account'] } },
        });
      }
      // Another account's session is none.
      const { key } = api.foreign;
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/completion?maxWaitSeconds=1'],
        ['POST', '/cancel'],
      ] as const) {
        const answer = await api.call(method, `/v2/check-sessions/${ofSuite.checkSessionId}${path}`, { key });
        expect([path, answer.status]).toEqual([path, 404]);
      }
    });

    it('wait for their end: 408 until it has come, 200 at once then', async () => {
      const session = await triggerOne(await page());
      const completion = (seconds: number) =>
        api.call<Session>(
          'GET',
          `/v2/check-sessions/${session.checkSessionId}/completion?maxWaitSeconds=${seconds}`,
        );
      expect(await completion(1)).toMatchObject({
        status: 408,
        body: { message: expect.stringContaining('ask again') },
      });
      for (const seconds of [0, 31, 1.5]) expect((await completion(seconds)).status).toBe(400);
      const agent = await connect();
      const [job] = await agent.claim();
      if (job === undefined) throw new Error('no job');
      const began = performance.now();
      const waiters = [completion(30), completion(30), completion(30)];
      await agent.report(resultOf(job, clock.now(), { status: 'failed', hasFailures: true }));
      for (const answer of await Promise.all(waiters)) {
        expect(answer).toMatchObject({
          status: 200,
          body: { status: 'FAILED', results: [{ hasFailures: true }] },
        });
      }
      expect(performance.now() - began).toBeLessThan(15_000);
      expect((await completion(30)).status).toBe(200);
    });

    it('take the checks that the target means', async () => {
      const group = await create('/v1/check-groups', { name: 'Shop', tags: ['shop'] });
      const names = async (body: Fields) => (await trigger(body)).map(({ name }) => String(name)).toSorted();
      await page({ name: 'a', tags: ['smoke', 'web'] });
      await page({ name: 'b', tags: ['smoke'], groupId: Number(group) });
      const c = await page({ name: 'c', muted: true });
      await page({ name: 'off', tags: ['smoke'], activated: false });
      await page({ name: 'nowhere', tags: ['smoke'] });
      await db.query(`update checks set private_locations = '{}' where name = 'nowhere'`);
      expect(await names({})).toEqual(['a', 'b', 'c']);
      expect(await names({ target: { matchTags: [], checkId: [] } })).toEqual(['a', 'b', 'c']);
      expect(await names({ target: { matchTags: [['smoke']] } })).toEqual(['a', 'b']);
      expect(await names({ target: { matchTags: [['smoke', 'shop']] } })).toEqual(['b']);
      expect(await names({ target: { matchTags: [['smoke', '!shop'], ['!smoke']] } })).toEqual(['a', 'c']);
      expect(await names({ target: { matchTags: [['!smoke']], checkId: [c] } })).toEqual(['c']);
      expect((await api.call('POST', '/v2/check-sessions/trigger')).status).toBe(201);
      expect((await api.call('POST', '/v1/check-sessions/trigger', { body: {} })).status).toBe(201);
      for (const target of [
        { matchTags: [['web']], checkId: [c] },
        { matchTags: [['none']] },
        { checkId: [uuidv7()] },
      ]) {
        expect(await api.call('POST', '/v2/check-sessions/trigger', { body: { target } })).toMatchObject({
          status: 404,
          body: { attributes: { target: ['matches no check'] } },
        });
      }
      for (const target of [{ matchTags: [[]] }, { matchTags: [['!']] }, { checkId: ['x'] }, { tags: [] }]) {
        expect((await api.call('POST', '/v2/check-sessions/trigger', { body: { target } })).status).toBe(400);
      }
      expect((await api.call('POST', '/v2/check-sessions/trigger', { key: api.foreign.key })).status).toBe(
        404,
      );
    });

    it('run beside a scheduled run that goes on, which a cancel leaves alone', async () => {
      const id = await suite({ frequency: 1, frequencyOffset: 1 });
      const agent = await connect();
      clock.advance(60 * second);
      await agent.claim(0);
      await agents.scheduler.tick();
      const scheduled = await claimSuite(agent);
      const session = await triggerOne(id);
      const job = await claimSuite(agent);
      await cancel(session.checkSessionId);
      expect(await agent.renew([scheduled, job])).toMatchObject({ cancel: [job.jobId] });
    });

    it('end as TIMED_OUT where no agent claims them, and CANCELLED where their check is deleted', async () => {
      await agents.scheduler.tick();
      const session = await triggerOne(await page());
      const other = await triggerOne(await suite());
      clock.advance(350 * second);
      await agents.scheduler.tick();
      expect(await read(session)).toMatchObject({ status: 'STARTED' });
      await api.call('DELETE', `/v1/checks/${other.checkId}`);
      expect(await read(other)).toMatchObject({ status: 'CANCELLED', results: [], inProgress: [] });
      clock.advance(11 * second);
      await agents.scheduler.tick();
      expect(await read(session)).toMatchObject({
        status: 'TIMED_OUT',
        results: [{ resultType: 'FINAL', aborted: true, hasFailures: false, hasErrors: false }],
      });
      expect((await api.call('GET', `/v1/check-statuses/${session.checkId}`)).status).toBe(404);
    });

    it('leave out a location that is deleted while they are made', async () => {
      const id = await suite({ privateLocations: ['office', 'home'], runParallel: true });
      const deps = { db, now: clock.now };
      const { id: accountId } = api.account;
      const target = { checkId: [id] };
      const planned = await planSessionRuns(deps, {
        accountId,
        target,
        alsoDeactivated: false,
        runLocation: null,
      });
      const session = {
        id: uuidv7(clock.now()),
        accountId,
        kind: 'check' as const,
        checkId: id,
        name: 'Shop',
        runSource: 'TRIGGER_API',
        refreshCache: false,
        metadata: null,
        environmentVariables: null,
      };
      await db.query('delete from locations where id = $1', [home.id]);
      expect(await startSessions(deps, [{ session, planned }])).toMatchObject([
        { runs: [{ runLocation: 'office' }] },
      ]);
      await db.query('delete from locations');
      expect(await startSessions(deps, [{ session: { ...session, id: uuidv7() }, planned }])).toEqual([]);
    });

    it('cancel: what no agent has begun is no end of a row of missed runs', async () => {
      const id = await suite();
      await db.query(
        `insert into missed_runs (check_id, run_location, result_id, result_started_at, count, from_due_at, to_due_at, reason)
         values ($1, 'office', $2, $3, 1, $3, $3, 'NO_AGENT')`,
        [id, uuidv7(), new Date(clock.now())],
      );
      const session = await triggerOne(id);
      expect((await cancel(session.checkSessionId)).status).toBe(204);
      expect(await read(session)).toMatchObject({ status: 'CANCELLED' });
      expect(await db.query('select count from missed_runs')).toEqual([{ count: 1 }]);
    });

    it('cancel: any number of runs', async () => {
      const { checkSessionId } = await triggerOne(await suite());
      await db.exec(
        `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, check_type, lane, due_at,
           not_before, expires_at, claim_window_seconds, session_id)
         select gen_random_uuid(), account_id, check_id, gen_random_uuid(), gen_random_uuid(), location_id, run_location,
           check_type, lane, due_at, not_before, expires_at, 60, session_id from jobs, generate_series(1, 250);
         insert into session_runs (session_id, sequence_id, job_id, check_id, check_type, check_name, run_location)
         select session_id, sequence_id, id, check_id, check_type, 'Shop', run_location from jobs
         where not exists (select 1 from session_runs r where r.job_id = jobs.id)`,
      );
      expect((await cancel(checkSessionId)).status).toBe(204);
      const answer = await api.call<Session>('GET', `/v2/check-sessions/${checkSessionId}`);
      expect([answer.body.status, answer.body.results.length]).toEqual(['CANCELLED', 251]);
    });

    it('tell what is wrong with an id', async () => {
      for (const path of ['/v2/check-sessions', '/v1/test-sessions', '/v1/playwright-bundles']) {
        for (const id of ['%00', '%ff']) {
          expect([path, id, (await api.call('GET', `${path}/${id}`)).status]).toEqual([path, id, 400]);
        }
      }
    });

    it('are refused when too many wait', async () => {
      const id = await page();
      const session = await triggerOne(id);
      await db.query(
        `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, check_type, lane, due_at,
           not_before, expires_at, claim_window_seconds, session_id)
         select gen_random_uuid(), account_id, check_id, gen_random_uuid(), gen_random_uuid(), location_id, run_location,
           check_type, lane, due_at, not_before, expires_at, 60, session_id from jobs, generate_series(1, 19999)`,
      );
      const answer = await api.call('POST', '/v2/check-sessions/trigger', { body: {} });
      expect(answer).toMatchObject({
        status: 429,
        body: { attributes: { target: [expect.stringContaining('20000')] } },
      });
      expect(await read(session)).toMatchObject({ status: 'STARTED' });
    });

    it('show the last lines of a log, as many as are kept, while the run goes on', async () => {
      const id = await suite();
      const agent = await connect();
      await agents.scheduler.tick();
      const session = await triggerOne(id);
      const job = await claimSuite(agent);
      const tell = async (lines: string[], token = job.leaseToken) =>
        agent.call('jobs/renew', {
          agentId: agent.agentId,
          leases: [{ jobId: job.jobId, leaseToken: token, log: lines }],
        });
      const shown = async () => (await read(session)).inProgress[0]?.log ?? [];
      const parts = async () => (await db.query('select 1 from run_logs')).length;
      for (let n = 0; n < 12; n++)
        await tell(Array.from({ length: 100 }, (_, line) => `line ${n * 100 + line}`));
      expect(await shown()).toEqual(Array.from({ length: 500 }, (_, line) => `line ${700 + line}`));
      expect(await parts()).toBeLessThan(8);
      for (let n = 0; n < 10; n++)
        await tell([`${n}\u0000${'x'.repeat(50_000 / 10)}`].concat(Array(9).fill('y'.repeat(8000))));
      const long = await shown();
      expect(long.join('\n').length).toBeLessThanOrEqual(256 * 1024);
      expect(long.length).toBeGreaterThan(20);
      expect(long.at(-10)).toMatch(/^9\ufffdx+$/);
      expect(await parts()).toBeLessThan(8);
      const before = await parts();
      // A lease that is not the job's tells nothing.
      await tell(['from elsewhere'], uuidv7());
      expect(await parts()).toBe(before);
      await agent.report(resultOf(job, clock.now()));
      clock.advance(31 * second);
      await agents.scheduler.tick();
      expect(await parts()).toBe(0);
    });

    it('are forgotten after 30 days', async () => {
      const session = await triggerOne(await page());
      clock.advance(31 * 86_400 * second);
      await agents.retention.tick();
      expect((await api.call('GET', `/v2/check-sessions/${session.checkSessionId}`)).status).toBe(404);
      expect(await db.query('select 1 from session_runs')).toEqual([]);
    });
  });
});
