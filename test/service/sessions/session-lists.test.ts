import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ResultStatus } from '../../../src/protocol/result.ts';
import { endSessionRuns } from '../../../src/service/scheduling/session-runs.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { checkStatuses, testStatuses } from '../../../src/service/sessions/rules.ts';
import {
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  encryption,
  resultOf,
  type AgentService,
} from '../../helpers/service/agent-service.ts';
import { databases, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Lists of sessions, their deletion, and the retries that a trigger asks for. */

const start = '2026-03-04T05:06:07.000Z';
const startSeconds = Date.parse(start) / 1000;

type Listed = Fields & { checkSessionId: string; testSessionId: string; status: string };

describe.each(databases)('sessions: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    let db: Db;
    let folder: string;
    let agents: AgentService;
    let api: TestService;
    let office: { id: string; slug: string; key: string };
    let pageId: string;
    let dnsId: string;

    beforeAll(async () => {
      db = await database.open();
      folder = mkdtempSync(join(tmpdir(), 'files-'));
      const files = createArtifactFiles(folder, { reserveBytes: 0 });
      agents = await createAgentService(db, clock, files);
      api = await startTestService(db, { now: clock.now, files, encryption });
    });
    beforeEach(async () => {
      clock.set(start);
      await emptyTables(db, 'check_results, finished_jobs, check_sessions, artifacts, checks, locations');
      office = await addLocation(db, { accountId: api.account.id, slug: 'office' });
      const shared = { privateLocations: ['office'], frequency: 60, doubleCheck: true };
      pageId = await create('/v1/checks/url', {
        ...shared,
        name: 'Page',
        request: { url: 'https://shop.example/' },
      });
      dnsId = await create('/v1/checks/dns', {
        ...shared,
        name: 'Name',
        request: { query: 'shop.example' },
        retryStrategy: { type: 'LINEAR', baseBackoffSeconds: 7 },
      });
    });
    afterAll(async () => {
      await agents.app.close();
      await api.close();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    });

    async function create(path: string, body: Fields): Promise<string> {
      const answer = await api.call<{ id: string }>('POST', path, { body });
      expect([path, answer.status]).toEqual([path, 201]);
      return answer.body.id;
    }
    async function triggerCheck(checkId: string, body: Fields = {}): Promise<string> {
      clock.advance(1000);
      const answer = await api.call<{ sessions: Listed[] }>('POST', '/v2/check-sessions/trigger', {
        body: { target: { checkId: [checkId] }, ...body },
      });
      expect(answer.status).toBe(201);
      return answer.body.sessions[0]?.checkSessionId ?? '';
    }
    async function triggerTest(body: Fields = {}): Promise<string> {
      clock.advance(1000);
      const answer = await api.call<Listed>('POST', '/v1/test-sessions/trigger', {
        body: { name: 'A change', ...body },
      });
      expect(answer.status).toBe(201);
      return answer.body.testSessionId;
    }
    const list = async (path: string, key?: string) => {
      const answer = await api.call<Listed[]>('GET', path, key === undefined ? {} : { key });
      expect(answer.status).toBe(200);
      return answer.body.map(({ checkSessionId, testSessionId }) => checkSessionId ?? testSessionId);
    };
    const work = async () => {
      const agent = await connectAgent(agents.app, office, { checkTypes: ['URL', 'DNS'] });
      return { agent, jobs: await agent.claim(10) };
    };

    it('are listed newest first, by check, source and time', async () => {
      const first = await triggerCheck(pageId);
      const second = await triggerCheck(dnsId);
      const third = await triggerCheck(pageId);
      const test = await triggerTest({ metadata: { branchName: 'main' } });
      expect(await list('/v1/check-sessions')).toEqual([third, second, first]);
      expect(await list(`/v1/check-sessions?checkId=${pageId}`)).toEqual([third, first]);
      expect(await list('/v1/check-sessions?runSource=TRIGGER_API&limit=1&page=2')).toEqual([second]);
      expect(await list('/v1/check-sessions?runSource=GROUP_RUN_ALL')).toEqual([]);
      expect(await list(`/v1/check-sessions?from=${startSeconds + 2}&to=${startSeconds + 2}`)).toEqual([
        second,
      ]);
      expect(await list(`/v1/check-sessions?from=${startSeconds + 2}`)).toEqual([third, second]);
      expect(await list(`/v1/check-sessions?to=${startSeconds + 1}`)).toEqual([first]);
      expect(await list('/v1/check-sessions', api.foreign.key)).toEqual([]);
      expect(await list('/v1/test-sessions')).toEqual([test]);
      expect(await list('/v1/test-sessions', api.foreign.key)).toEqual([]);
      for (const bad of ['checkId=x', 'runSource=MOON', 'from=2&to=1', 'nextId=1', 'limit=101']) {
        const answer = await api.call('GET', `/v1/check-sessions?${bad}`);
        expect([bad, answer.status]).toEqual([bad, 400]);
      }

      type Page = { length: number; entries: Listed[]; nextId: string | null };
      const ask = async (query: string) => (await api.call<Page>('GET', `/v2/check-sessions?${query}`)).body;
      const one = await ask('limit=2');
      expect(one.entries.map(({ checkSessionId }) => checkSessionId)).toEqual([third, second]);
      expect(one).toMatchObject({ length: 2, nextId: second });
      const two = await ask(`limit=2&nextId=${one.nextId}`);
      expect(two.entries.map(({ checkSessionId }) => checkSessionId)).toEqual([first]);
      expect(two.nextId).toBeNull();
      expect((await ask(`paginated=false&checkId=${dnsId}`)).entries).toHaveLength(1);
    });

    it('show in a list the state that each of them shows', async () => {
      const done = await triggerCheck(pageId);
      const { agent, jobs } = await work();
      const [job] = jobs;
      if (job === undefined) throw new Error('no job');
      clock.advance(1000);
      await agent.report(resultOf(job, clock.now(), { status: 'failed', hasFailures: true }));
      const gone = await triggerCheck(dnsId);
      const test = await triggerTest({ metadata: { commitMessage: 'x'.repeat(8192) } });
      // Runs in the service itself: it is no job of an agent.
      const own = await triggerCheck(
        await create('/v1/checks/agentic', { name: 'Buy', locations: ['eu-west-1'], prompt: 'Buy a book.' }),
      );
      await api.call('DELETE', `/v1/checks/${dnsId}`);
      for (const [path, ids] of [
        ['/v1/check-sessions', [own, gone, done]],
        ['/v1/test-sessions', [test]],
      ] as const) {
        const listed = (await api.call<Listed[]>('GET', path)).body;
        for (const [index, id] of ids.entries()) {
          const { results, inProgress, metadata, ...whole } = (await api.call<Listed>('GET', `${path}/${id}`))
            .body;
          expect([results, inProgress]).toEqual([expect.any(Array), expect.any(Array)]);
          const shown = metadata === undefined ? whole : { ...whole, metadata: null, isPartial: true };
          expect(listed[index]).toEqual(shown);
        }
      }
      const states = (await api.call<Listed[]>('GET', '/v1/check-sessions')).body;
      // A v1 that knows no CANCELLED: the check of the second one was deleted.
      expect(states.map(({ status }) => status)).toEqual(['STARTED', 'TIMED_OUT', 'FAILED']);
      expect((await api.call('GET', '/v2/check-sessions')).body).toMatchObject({
        entries: [{ status: 'STARTED' }, { status: 'CANCELLED' }, { status: 'FAILED' }],
      });
      expect(await list('/v1/check-sessions?status=TIMED_OUT')).toEqual([gone]);
      expect((await api.call('GET', '/v1/check-sessions?status=CANCELLED')).status).toBe(400);
    });

    it('are listed by the status of their runs', async () => {
      // Each by the statuses of its runs, or by the states of their jobs: a list must find what it shows.
      const sessions = [
        ['passed'],
        ['passed', 'degraded'],
        ['failed', 'missed'],
        ['passed', 'missed'],
        ['errored'],
        ['failed', 'cancelled'],
        ['queued'],
        ['queued', 'leased'],
        ['passed', 'queued'],
        ['degraded', 'queued'],
        ['errored', 'leased'],
        ['vanished', 'passed'],
        ['vanished', 'queued'],
      ];
      const { id: accountId } = api.account;
      // A job to make others of.
      const model = await triggerCheck(pageId);
      await db.query('delete from check_sessions where id = $1', [model]);
      const rows = ['check', 'test'].flatMap((kind) =>
        sessions.map((runs) => {
          clock.advance(1000);
          const at = new Date(clock.now()).toISOString();
          const session = {
            id: uuidv7(clock.now()),
            account_id: accountId,
            kind,
            check_id: pageId,
            started_at: at,
            // As one that a replica of an older version has ended.
            status: 'OPEN',
          };
          const ofSession = runs.map((run) => {
            const isOver = !['queued', 'leased', 'vanished'].includes(run);
            const [job_id, sequence_id] = [uuidv7(), uuidv7()];
            const ended = { status: isOver ? run : null, ended_at: isOver ? at : null };
            const named = { check_type: 'URL', check_name: 'Page', run_location: 'office', check_id: pageId };
            const job = { id: job_id, run_id: uuidv7(), session_id: session.id, state: run };
            return {
              run: { session_id: session.id, sequence_id, job_id, ...named, ...ended },
              jobs: isOver || run === 'vanished' ? [] : [job],
            };
          });
          return {
            ...session,
            name: runs.join(),
            run_source: 'TRIGGER_API',
            refresh_cache: false,
            runs: ofSession,
          };
        }),
      );
      const insert = (table: string, of: readonly object[]) =>
        db.query(`insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1::jsonb)`, [
          JSON.stringify(of),
        ]);
      await insert('check_sessions', rows);
      await insert(
        'session_runs',
        rows.flatMap(({ runs }) => runs.map(({ run }) => run)),
      );
      await db.query(
        `insert into jobs select (jsonb_populate_record(model.j, changed)).*
         from (select j from jobs j limit 1) as model, jsonb_array_elements($1::jsonb) as changed`,
        [JSON.stringify(rows.flatMap(({ runs }) => runs.flatMap(({ jobs }) => jobs)))],
      );
      const named = async (path: string) => {
        const { status, body } = await api.call<Listed[] | { entries: Listed[] }>('GET', path);
        expect([path, status]).toEqual([path, 200]);
        return (Array.isArray(body) ? body : body.entries).map((one) => [one['name'], one.status]);
      };
      const agree = async () => {
        for (const [path, statuses] of [
          ['/v1/check-sessions', [...checkStatuses].filter((status) => status !== 'CANCELLED')],
          ['/v2/check-sessions', checkStatuses],
          ['/v1/test-sessions', testStatuses],
        ] as const) {
          // Before anything is read in whole: what has vanished is found all the same.
          const found = new Map<string, unknown>();
          for (const status of statuses) found.set(status, await named(`${path}?limit=100&status=${status}`));
          const all = await named(`${path}?limit=100`);
          expect(all).toHaveLength(sessions.length);
          for (const status of statuses) {
            const those = all.filter(([, own]) => own === status);
            expect([path, status, found.get(status)]).toEqual([path, status, those]);
            expect([path, status, those.length > 0]).toEqual([path, status, true]);
          }
        }
      };
      await agree();
      const over = rows.flatMap(({ runs }) => runs.flatMap(({ run }) => (run.status === null ? [] : [run])));
      const inOrder = over.map(({ job_id: jobId, status }) => ({ jobId, status: status as ResultStatus })); // the names above
      for (const run of inOrder) await endSessionRuns(db, [run], new Date(clock.now()));
      const open = await db.query(`select 1 from check_sessions where status = 'OPEN'`);
      expect(open.length).toBeLessThan(rows.length / 2);
      await agree();
      const second = await api.call<{ entries: Listed[]; nextId: string | null }>(
        'GET',
        '/v2/check-sessions?status=FAILED&limit=1',
      );
      expect(second.body.entries).toHaveLength(1);
      expect(second.body.nextId).toEqual(expect.any(String));
    });

    it('store their status, even when all runs finish at the same moment', async () => {
      const id = await triggerTest();
      const statusInRow = () => db.query('select status from check_sessions where id = $1', [id]);
      const runs = Array.from({ length: 12 }, () => uuidv7());
      await db.query(
        `insert into session_runs (session_id, sequence_id, job_id, check_id, check_type, check_name, run_location)
         select $1, job, job, $2, 'URL', 'Page', 'office' from unnest($3::uuid[]) as job`,
        [id, pageId, runs],
      );
      const own = await db.query<{ jobId: string }>(
        'select job_id as "jobId" from session_runs where session_id = $1',
        [id],
      );
      const end = (jobId: string, status: ResultStatus) =>
        db.tx((tx) => endSessionRuns(tx, [{ jobId, status }], new Date(clock.now())));
      const [last, ...others] = own.map(({ jobId }) => jobId);
      for (const jobId of others.splice(0, 2)) await end(jobId, 'missed');
      expect(await statusInRow()).toEqual([{ status: 'OPEN' }]);
      await Promise.all([last ?? '', ...others].map((jobId) => end(jobId, 'passed')));
      expect(await statusInRow()).toEqual([{ status: 'TIMED_OUT' }]);
      // A late result replaces the missed one.
      for (const { jobId } of own) await end(jobId, 'degraded');
      expect(await statusInRow()).toEqual([{ status: 'DEGRADED' }]);
    });

    it('are deleted once they are over: results of a check stay, those of a test go with their files', async () => {
      const session = await triggerCheck(pageId);
      const test = await triggerTest({ target: { checkId: [pageId] } });
      const paths = [`/v2/check-sessions/${session}`, `/v1/test-sessions/${test}`];
      for (const path of paths) {
        const answer = await api.call('DELETE', path);
        expect([answer.status, answer.body['message']]).toEqual([
          409,
          '1 of its runs have not finished. Wait for them, or cancel the runs of suites.',
        ]);
        expect((await api.call('DELETE', path, { key: api.foreign.key })).status).toBe(404);
      }
      const { agent, jobs } = await work();
      for (const job of jobs) await agent.report(resultOf(job, clock.now()));
      const { id: accountId } = api.account;
      const testJob = jobs.find((job) => job['testSession'] === true);
      const file = uuidv7();
      await db.query(
        `insert into artifacts (id, account_id, job_id, attempt, lease_token, name, type, content_type, size, sha256, state,
           created_at) values ($1, $2, $3, 0, $4, 'log.txt', 'log', 'text/plain', 1, '\\x00', 'stored', $5)`,
        [file, accountId, testJob?.jobId, testJob?.leaseToken, new Date(clock.now())],
      );
      for (const path of paths) {
        expect((await api.call('DELETE', path)).status).toBe(204);
        expect((await api.call('DELETE', path)).status).toBe(404);
        expect((await api.call('GET', path)).status).toBe(404);
      }
      expect(await db.query('select id from artifacts')).toEqual([]);
      expect(await db.query('select test_session from check_results')).toEqual([{ test_session: false }]);
      expect(await db.query('select 1 from session_runs')).toEqual([]);
    });

    it('retry failed attempts as set in the trigger', async () => {
      const strategy = { type: 'FIXED', baseBackoffSeconds: 3, sameRegion: true, onlyOn: [] };
      const asked = { ...strategy, maxRetries: 4, maxDurationSeconds: 60 };
      const own = { type: 'LINEAR', baseBackoffSeconds: 7, maxRetries: 2, maxDurationSeconds: 600 };
      for (const [trigger, retryStrategy, expected] of [
        ['check', undefined, own],
        ['check', null, null],
        ['check', { ...strategy, maxRetries: 4, maxDurationSeconds: 60 }, asked],
        ['check', {}, { type: 'FIXED', baseBackoffSeconds: 60, maxRetries: 2, maxDurationSeconds: 600 }],
        ['test', undefined, null],
        ['test', null, null],
        ['test', { type: 'SINGLE_RETRY' }, { type: 'SINGLE_RETRY', maxRetries: 1 }],
      ] as const) {
        const body = retryStrategy === undefined ? {} : { retryStrategy };
        if (trigger === 'check') await triggerCheck(dnsId, body);
        else await triggerTest({ target: { checkId: [dnsId] }, ...body });
        const { agent, jobs } = await work();
        expect(jobs).toHaveLength(1);
        for (const job of jobs) {
          if (expected === null) expect(job['retryStrategy']).toBeNull();
          else expect(job['retryStrategy']).toMatchObject(expected);
          await agent.report(resultOf(job, clock.now()));
        }
      }
      const wrong = { retryStrategy: { type: 'SINGLE_RETRY', maxRetries: 3 } };
      for (const path of ['/v1/check-sessions/trigger', '/v1/test-sessions/trigger']) {
        const body = path.includes('test') ? { name: 'A change', ...wrong } : wrong;
        expect((await api.call('POST', path, { body })).body).toMatchObject({
          attributes: { 'retryStrategy.maxRetries': ['is not accepted with SINGLE_RETRY'] },
        });
      }
    });
  });
});
