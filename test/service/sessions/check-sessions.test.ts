import { describe, expect, it } from 'vitest';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { planSessionRuns, startSessions } from '../../../src/service/sessions/sessions.ts';
import { resultOf } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import type { Fields } from '../../helpers/service/service.ts';
import { second, sessionBench, start, type Session } from '../../helpers/service/session-bench.ts';

/** Check sessions from the trigger through an agent to their end. */

describe.each(databases)('check sessions: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const bench = sessionBench(database);
    const { clock, create, suite, page, trigger, triggerOne, read, cancel, connect, claimSuite } = bench;

    it('run a check on demand: trigger, job, progress, result', async () => {
      const { db, api } = bench;
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
      // A session's run counts like a scheduled one, and does not change the rotation.
      expect((await api.call('GET', `/v1/check-statuses/${id}`)).body).toMatchObject({ status: 'degraded' });
      expect(await db.query('select next_due_at, rotation from checks')).toEqual(before);
    });

    it('completion: 408 until the session has finished, 200 at once then', async () => {
      const { api } = bench;
      const session = await triggerOne(await page());
      const completion = (seconds: number) =>
        api.call<Session>(
          'GET',
          `/v2/check-sessions/${session.checkSessionId}/completion?maxWaitSeconds=${seconds}`,
        );
      expect(await completion(1)).toMatchObject({
        status: 408,
        body: { message: expect.stringContaining('Try again') },
      });
      for (const seconds of [0, 31, 1.5]) expect((await completion(seconds)).status).toBe(400);
      const agent = await connect();
      const [job] = await agent.claim();
      if (job === undefined) throw new Error('no job');
      const waiters = [completion(30), completion(30), completion(30)];
      await agent.report(resultOf(job, clock.now(), { status: 'failed', hasFailures: true }));
      for (const answer of await Promise.all(waiters)) {
        expect(answer).toMatchObject({
          status: 200,
          body: { status: 'FAILED', results: [{ hasFailures: true }] },
        });
      }
      expect((await completion(30)).status).toBe(200);
    });

    it('select checks by the target', async () => {
      const { db, api } = bench;
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
          body: { attributes: { target: ['matches no such check'] } },
        });
      }
      for (const target of [{ matchTags: [[]] }, { matchTags: [['!']] }, { checkId: ['x'] }, { tags: [] }]) {
        expect((await api.call('POST', '/v2/check-sessions/trigger', { body: { target } })).status).toBe(400);
      }
      expect((await api.call('POST', '/v2/check-sessions/trigger', { key: api.foreign.key })).status).toBe(
        404,
      );
    });

    it('run next to a running scheduled run, which a cancel does not affect', async () => {
      const { agents } = bench;
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

    it('are TIMED_OUT if no agent claims them, and CANCELLED if their check is deleted', async () => {
      const { agents, api } = bench;
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

    it('omit a location that is deleted while they are created', async () => {
      const { db, api, home } = bench;
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

    it('report invalid ids', async () => {
      const { api } = bench;
      for (const path of ['/v2/check-sessions', '/v1/test-sessions', '/v1/playwright-bundles']) {
        for (const id of ['%00', '%ff']) {
          expect([path, id, (await api.call('GET', `${path}/${id}`)).status]).toEqual([path, id, 400]);
        }
      }
    });

    it('are refused when too many jobs wait', async () => {
      const { db, api } = bench;
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

    it('show the last lines of the log while the run is in progress', async () => {
      const { db, agents } = bench;
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
      // Lines of another lease are ignored.
      await tell(['from elsewhere'], uuidv7());
      expect(await parts()).toBe(before);
      await agent.report(resultOf(job, clock.now()));
      clock.advance(31 * second);
      await agents.scheduler.tick();
      expect(await parts()).toBe(0);
    });

    it('are deleted after 30 days', async () => {
      const { db, agents, api } = bench;
      const session = await triggerOne(await page());
      clock.advance(31 * 86_400 * second);
      await agents.retention.tick();
      expect((await api.call('GET', `/v2/check-sessions/${session.checkSessionId}`)).status).toBe(404);
      expect(await db.query('select 1 from session_runs')).toEqual([]);
    });
  });
});
