import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createArtifactFiles } from '../../src/service/artifact-files.ts';
import type { Db } from '../../src/service/db/database.ts';
import { uuidv7 } from '../../src/service/ids.ts';
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
} from '../helpers/agent-service.ts';
import { databases } from '../helpers/database.ts';
import { startTestService, type Fields, type TestService } from '../helpers/service.ts';

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
      await db.exec(
        'truncate check_results, finished_jobs, check_sessions, run_logs, playwright_bundles, account_variables, check_groups, checks, locations cascade',
      );
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
  });
});
