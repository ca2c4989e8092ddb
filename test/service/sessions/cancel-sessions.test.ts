import { describe, expect, it } from 'vitest';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { resultOf } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { cancelled, second, sessionBench, start, type Session } from '../../helpers/service/session-bench.ts';

/** How check sessions, or single runs of them, are cancelled. */

describe.each(databases)('cancel check sessions: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const bench = sessionBench(database);
    const { clock, suite, page, triggerOne, read, cancel, connect, claimSuite } = bench;

    it('a leased run is cancelled at its next renewal, and the session becomes CANCELLED', async () => {
      const { api } = bench;
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
      // No run is left: another cancel does nothing.
      expect((await cancel(session.checkSessionId)).status).toBe(204);
    });

    it('queued runs are cancelled at once, the named ones or all', async () => {
      const { db, api } = bench;
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
      // No agent has run it: the check has no status, and an open record of missed runs stays open.
      expect((await api.call('GET', `/v1/check-statuses/${id}`)).status).toBe(404);
    });

    it('a passed run and a cancelled one make the session CANCELLED, and the check keeps the status of the passed one', async () => {
      const { api, home } = bench;
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

    it('a run is also cancelled when its agent disappears or hands it back', async () => {
      const { agents } = bench;
      // No scheduled run is due within the test.
      const id = await suite({ frequencyOffset: 300 });
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

    it('only known runs of suites in sessions can be cancelled', async () => {
      const { api } = bench;
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
            'sequenceId.1': [`is not the id of a run in this session (${unknown})`],
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

    it('a cancelled run that never started does not end a record of missed runs', async () => {
      const { db } = bench;
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

    it('any number of runs can be cancelled', async () => {
      const { db, api } = bench;
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
  });
});
