import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import {
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  encryption,
  resultOf,
  type AgentService,
  type TestAgent,
} from '../../helpers/service/agent-service.ts';
import { databases, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Test sessions: the additional fields of their jobs, and that their results change no status. */

const start = '2026-03-04T05:06:07.000Z';
const abilities = { checkTypes: ['URL', 'PLAYWRIGHT'] };
const path = '/v1/test-sessions';

type Session = Fields & { testSessionId: string; inProgress: { sequenceId: string; runLocation: string }[] };

describe.each(databases)('test sessions: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    let db: Db;
    let folder: string;
    let agents: AgentService;
    let api: TestService;
    let office: { id: string; slug: string; key: string };
    let suiteId: string;
    let pageId: string;

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
        'check_results, finished_jobs, check_sessions, playwright_bundles, account_variables, check_groups, checks, locations',
      );
      const { id: accountId } = api.account;
      office = await addLocation(db, { accountId, slug: 'office' });
      await addLocation(db, { accountId, slug: 'home' });
      const { key } = (
        await api.call<{ key: string }>('POST', '/v1/playwright-bundles', {
          body: gzipSync('a project'),
          headers: { 'content-type': 'application/octet-stream' },
        })
      ).body;
      const variables = [
        { key: 'BASE', value: 'of the check' },
        { key: 'OWN', value: 'own' },
      ];
      suiteId = await create('/v1/checks/playwright', {
        name: 'Shop',
        codeBundlePath: key,
        privateLocations: ['office'],
        environmentVariables: variables,
      });
      pageId = await create('/v1/checks/url', {
        name: 'Page',
        request: { url: 'https://shop.example/' },
        privateLocations: ['home'],
        activated: false,
        tags: ['off'],
        doubleCheck: true,
      });
    });
    afterAll(async () => {
      await agents.app.close();
      await api.close();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    });

    async function create(at: string, body: Fields): Promise<string> {
      const answer = await api.call<{ id: string; attributes?: unknown }>('POST', at, { body });
      expect([at, answer.status, answer.body.attributes]).toEqual([at, 201, undefined]);
      return answer.body.id;
    }
    async function trigger(body: Fields): Promise<Session> {
      const answer = await api.call<Session>('POST', `${path}/trigger`, {
        body: { name: 'A change', ...body },
      });
      expect([answer.status, answer.body]).toEqual([201, expect.anything()]);
      return answer.body;
    }
    const read = async ({ testSessionId }: Session) =>
      (await api.call<Session>('GET', `${path}/${testSessionId}`)).body;
    const connect = (): Promise<TestAgent> => connectAgent(agents.app, office, abilities);

    it('mark their runs, whose results do not change the check status', async () => {
      const metadata = { environment: 'staging', branchName: 'main', github: { pr: 7 } };
      const session = await trigger({
        runLocation: 'office',
        target: { allowDeactivated: true },
        environmentVariables: [
          { key: 'BASE', value: 'https://preview.example' },
          { key: 'TOKEN', value: 'very secret', secret: true },
        ],
        refreshCache: true,
        metadata,
      });
      expect(session).toMatchObject({
        testSessionLink: `${api.url}${path}/${session.testSessionId}`,
        name: 'A change',
        status: 'RUNNING',
        startedAt: start,
        stoppedAt: null,
        runLocations: ['office'],
        runSource: 'TRIGGER_RECORD',
        metadata,
        results: [],
      });
      expect(session.inProgress).toHaveLength(2);
      expect(
        JSON.stringify(await db.query('select environment_variables from check_sessions')),
      ).not.toContain('very secret');

      const agent = await connect();
      const [suite] = await agent.claim(10, { lane: 'suite' });
      const [page] = await agent.claim(10);
      if (suite === undefined || page === undefined) throw new Error('no jobs');
      for (const job of [suite, page]) {
        expect(job).toMatchObject({ testSession: true, runSource: 'TRIGGER_RECORD', retryStrategy: null });
        expect(job['environmentVariables']).toContainEqual({
          key: 'TOKEN',
          value: 'very secret',
          locked: false,
          secret: true,
        });
      }
      expect(suite).toMatchObject({ suite: { refreshCache: true } });
      const values = Object.fromEntries(
        (suite['environmentVariables'] as { key: string; value: string }[]).map(({ key, value }) => [
          key,
          value,
        ]),
      );
      expect(values).toMatchObject({ BASE: 'https://preview.example', OWN: 'own' });

      await agent.report(resultOf(suite, clock.now(), { status: 'failed', hasFailures: true }));
      expect(await read(session)).toMatchObject({
        status: 'RUNNING',
        results: [{ name: 'Shop', hasFailures: true }],
      });
      await agent.report(resultOf(page, clock.now()));
      const done = await api.call<Session>(
        'GET',
        `${path}/${session.testSessionId}/completion?maxWaitSeconds=30`,
      );
      expect(done).toMatchObject({
        status: 200,
        body: { status: 'FAILED', stoppedAt: start, inProgress: [] },
      });

      for (const id of [suiteId, pageId]) {
        expect((await api.call('GET', `/v1/check-statuses/${id}`)).status).toBe(404);
        expect((await api.call('GET', `/v1/check-results/${id}?resultType=ALL`)).body).toEqual([]);
      }
      const link = String((done.body['results'] as Fields[])[0]?.['checkResultLink']).slice(api.url.length);
      expect((await api.call('GET', link)).status).toBe(200);
    });

    it('take only activated checks by default, at their locations', async () => {
      const session = await trigger({});
      expect(session.inProgress.map(({ runLocation }) => runLocation)).toEqual(['office']);
      const ask = (body: Fields) =>
        api.call('POST', `${path}/trigger`, { body: { name: 'A change', ...body } });
      expect((await ask({ target: { matchTags: [['off']] } })).status).toBe(404);
      const both = await trigger({ target: { matchTags: [['off']], allowDeactivated: true } });
      expect(both.inProgress).toMatchObject([{ name: 'Page', runLocation: 'home' }]);
      expect((await ask({ runLocation: 'nowhere' })).body).toMatchObject({
        attributes: { runLocation: ['is not a location of this account'] },
      });
      expect((await ask({ metadata: { github: { text: 'x'.repeat(70_000) } } })).body).toMatchObject({
        attributes: { metadata: [expect.stringContaining('65536')] },
      });
      const many = Array.from({ length: 51 }, (_, n) => ({ key: `V${n}`, value: '' }));
      expect((await ask({ environmentVariables: many })).body).toMatchObject({
        attributes: { environmentVariables: ['must have at most 50 items'] },
      });
      const twice = [
        { key: 'V', value: '1' },
        { key: 'V', value: '2' },
      ];
      expect((await ask({ environmentVariables: twice })).body).toMatchObject({
        attributes: { 'environmentVariables.1.key': ['is given twice (V)'] },
      });
      expect((await api.call('POST', `${path}/trigger`)).status).toBe(400);
      // Sessions of the two kinds are not mistaken for each other.
      expect((await api.call('GET', `/v2/check-sessions/${session.testSessionId}`)).status).toBe(404);
    });

    it('are no missed runs of their checks, even where an agent that had them is gone', async () => {
      await agents.scheduler.tick();
      clock.advance(31_000);
      const session = await trigger({});
      const agent = await connect();
      const [job] = await agent.claim(1, { lane: 'suite' });
      if (job === undefined) throw new Error('no job');
      await db.query('update checks set activated = false');
      clock.advance(40_000);
      await agents.scheduler.tick();
      clock.advance(400_000);
      await agents.scheduler.tick();
      expect(await read(session)).toMatchObject({ status: 'FAILED', inProgress: [] });
      expect(await db.query('select * from missed_runs')).toEqual([]);
      expect(await db.query('select * from check_results where not test_session')).toEqual([]);
      // It arrives after all.
      expect(await agent.report(resultOf(job, clock.now()))).toMatchObject([{ outcome: 'stored' }]);
      expect(await read(session)).toMatchObject({ status: 'PASSED', results: [{ resultType: 'FINAL' }] });
    });

    it('cancel only their suites', async () => {
      const session = await trigger({ target: { allowDeactivated: true } });
      const cancel = (id: string) => api.call('POST', `${path}/${id}/cancel`);
      expect((await cancel(session.testSessionId)).status).toBe(204);
      expect(await read(session)).toMatchObject({
        status: 'RUNNING',
        results: [{ name: 'Shop', isCancelled: true }],
        inProgress: [{ name: 'Page' }],
      });
      expect((await cancel('none')).body).toMatchObject({
        attributes: { testSessionId: ['names no test session of this account'] },
      });
    });
  });
});
