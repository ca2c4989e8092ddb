import { fastify } from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { readAnalysisConfig } from '../../../src/config/analysis.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { createAgenticChecks } from '../../../src/service/agentic/run-checks.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import { registerErrorHandlers } from '../../../src/service/http/errors.ts';
import { ErrorBody } from '../../../src/service/http/fields/api-errors.ts';
import { createGroupRuns } from '../../../src/service/triggers/group-runs.ts';
import { registerTriggerCalls } from '../../../src/service/triggers/call-routes.ts';
import {
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  encryption,
  resultOf,
  silent,
  type AgentService,
  type TestAgent,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { databases, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Triggers: the records, their URLs, and runs of groups in their order. */

const start = '2026-03-04T05:06:07.000Z';
const second = 1000;
type Outcome = { hasFailures: boolean; responseTime?: number; message?: string; attributes?: Fields };

describe.each(databases)('triggers: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    let replicas: Db[];
    let db: Db;
    let agents: AgentService;
    let api: TestService;
    let agent: TestAgent;

    beforeAll(async () => {
      replicas = await database.openReplicas(2);
      [db] = replicas as [Db];
      agents = await createAgentService(db, clock);
      api = await startTestService(db, { now: clock.now, encryption });
    });
    beforeEach(async () => {
      clock.set(start);
      await emptyTables(
        db,
        'check_results, finished_jobs, check_sessions, group_runs, triggers, checks, check_groups, locations',
      );
      const office = await addLocation(db, { accountId: api.account.id, slug: 'office' });
      await addLocation(db, { accountId: api.account.id, slug: 'home' });
      agent = await connectAgent(agents.app, office);
    });
    afterAll(async () => {
      await agents.app.close();
      await api.close();
      await database.close();
    });

    async function create(path: string, body: Fields): Promise<string> {
      const answer = await api.call<{ id: string | number; attributes?: unknown }>('POST', path, { body });
      expect([path, answer.status, answer.body.attributes]).toEqual([path, 201, undefined]);
      return String(answer.body.id);
    }
    const page = (fields: Fields = {}) =>
      create('/v1/checks/url', {
        name: 'Page',
        request: { url: 'https://shop.example/' },
        privateLocations: ['office'],
        doubleCheck: false,
        ...fields,
      });
    const group = (fields: Fields = {}) => create('/v2/check-groups', { name: 'Shop', ...fields });
    async function trigger(path: string): Promise<string> {
      const { status, body } = await api.call<{ url: string }>('POST', `/v1/triggers/${path}`);
      expect(status).toBe(201);
      return body.url;
    }
    async function call(url: string, init: RequestInit = {}): Promise<{ status: number; body: Outcome }> {
      const response = await fetch(url, init);
      return { status: response.status, body: (await response.json()) as Outcome };
    }
    async function claim(count: number): Promise<TestJob[]> {
      return vi.waitFor(
        async () => {
          const [{ waiting }] = (await db.query(
            `select count(*)::integer as waiting from jobs where state = 'queued'`,
          )) as [{ waiting: number }];
          expect(waiting).toBe(count);
          return agent.claim();
        },
        { timeout: 10_000, interval: 20 },
      );
    }
    const end = (jobs: TestJob[], fields: Fields = {}) =>
      agent.report(...jobs.map((job) => resultOf(job, clock.now(), fields)));
    const failed = {
      status: 'failed',
      hasFailures: true,
      reason: { code: 'HTTP_STATUS', owner: 'target', message: '500' },
    };
    /** Two replicas look at once. */
    const tick = () =>
      Promise.all(
        replicas.map((replica) => createGroupRuns({ db: replica, now: clock.now, log: silent }).tick()),
      );

    it('lists triggers of checks and of groups, all or of one', async () => {
      const [first, second, without] = [await page(), await page(), await page()];
      const groupId = await group();
      const urls = [await trigger(`checks/${first}`), await trigger(`checks/${second}`)];
      const ofGroup = await trigger(`check-groups/${groupId}`);
      const list = async (query: string, key?: string) =>
        (
          await api.call<{ url: string }[]>('GET', `/v1/triggers/${query}`, key === undefined ? {} : { key })
        ).body.map(({ url }) => url);
      expect(await list('checks')).toEqual(urls);
      expect(await list('checks?limit=1&page=2')).toEqual(urls.slice(1));
      expect(await list(`checks?checkId=${first}`)).toEqual(urls.slice(0, 1));
      expect(await list(`checks?checkId=${without}`)).toEqual([]);
      expect(await list('checks?checkId=nonsense')).toEqual([]);
      expect(await list(`check-groups?groupId=${groupId}`)).toEqual([ofGroup]);
      expect(await list('check-groups?groupId=x')).toEqual([]);
      expect(await list('checks', api.foreign.key)).toEqual([]);
    });

    it('runs a check and answers with its outcome', async () => {
      const id = await page();
      const url = await trigger(`checks/${id}`);
      const passing = call(url);
      const [job] = await claim(1);
      expect(job).toMatchObject({ checkId: id, runLocation: 'office', runSource: 'LEGACY_TRIGGER' });
      await end(job === undefined ? [] : [job]);
      expect(await passing).toEqual({ status: 200, body: { hasFailures: false } });

      const failing = call(url, { method: 'POST', body: 'anything' });
      await end(await claim(1), failed);
      expect(await failing).toEqual({ status: 503, body: { hasFailures: true } });
      // It is a run like others: results, statuses and alerts follow.
      expect(
        await db.query('select status, test_session from check_results order by started_at, id'),
      ).toEqual(
        expect.arrayContaining([
          { status: 'passed', test_session: false },
          { status: 'failed', test_session: false },
        ]),
      );
    });

    it('runs a group in its order with limited concurrency, on any replica', async () => {
      const groupId = await group({ concurrency: 2 });
      const of = (name: string, groupOrder: number | null) =>
        page({ name, groupId: Number(groupId), groupOrder });
      for (const [name, order] of [
        ['none', null],
        ['fourth', 4],
        ['first', 1],
        ['third', 3],
        ['second', 2],
      ] as const) {
        await of(name, order);
      }
      await page({ name: 'another' });
      const url = await trigger(`check-groups/${groupId}`);
      const answer = call(url);
      const names = (jobs: TestJob[]) => jobs.map((job) => String(job['checkName'])).sort();
      const [a, b] = await claim(2);
      if (a === undefined || b === undefined) throw new Error('no jobs');
      expect(names([a, b])).toEqual(['first', 'second']);
      expect(a['runSource']).toBe('GROUP_RUN_ALL');
      await tick();
      expect(await agent.claim()).toEqual([]);

      await end([a]);
      await tick();
      const next = await claim(1);
      expect(names(next)).toEqual(['third']);
      await end([b, ...next], failed);
      await tick();
      const last = await claim(2);
      expect(names(last)).toEqual(['fourth', 'none']);
      await end(last);
      expect(await answer).toEqual({ status: 503, body: { hasFailures: true } });
      await tick();
      expect(await db.query('select id from jobs')).toEqual([]);
    });

    it('an agentic check takes its turn, and the next check waits until it has finished', async () => {
      const groupId = Number(await group({ concurrency: 1 }));
      await page({ name: 'first', groupId, groupOrder: 1 });
      const asks = { name: 'asks', prompt: 'Open the shop.', groupId, groupOrder: 2 };
      const agentic = await create('/v1/checks/agentic', asks);
      await page({ name: 'last', groupId, groupOrder: 3 });
      const checks = createAgenticChecks({
        db,
        encryption,
        now: clock.now,
        log: silent,
        config: readAnalysisConfig({}),
        partitions: createPartitions(db),
        files: createArtifactFiles('/nowhere'),
      });
      const run = async () => {
        await checks.tick();
        await checks.idle();
      };
      const answer = call(await trigger(`check-groups/${groupId}`));
      const first = await claim(1);
      await run();
      const states = () => db.query('select state from agentic_runs');
      expect(await states()).toEqual([{ state: 'blocked' }]);
      const [session] = await db.query<{ id: string }>('select id from check_sessions where check_id = $1', [
        agentic,
      ]);
      const read = async () => (await api.call('GET', `/v2/check-sessions/${session?.id ?? ''}`)).body;
      expect(await read()).toMatchObject({ inProgress: [{ checkId: agentic, state: 'QUEUED' }] });
      await end(first);
      await tick();
      expect(await states()).toEqual([{ state: 'queued' }]);
      expect(await agent.claim()).toEqual([]);
      // Without a model it ends as errored: an end all the same.
      await run();
      expect(await states()).toEqual([]);
      await tick();
      await end(await claim(1));
      expect(await answer).toEqual({ status: 503, body: { hasFailures: true } });
      expect(await read()).toMatchObject({ status: 'FAILED', results: [{ hasErrors: true }] });
    });

    it('an agentic check that waits for its turn is cancelled at once', async () => {
      const groupId = Number(await group({ concurrency: 1 }));
      await page({ name: 'first', groupId, groupOrder: 1 });
      await create('/v1/checks/agentic', { name: 'asks', prompt: 'Open.', groupId, groupOrder: 2 });
      const answer = call(await trigger(`check-groups/${groupId}`));
      const first = await claim(1);
      const [session] = await db.query<{ id: string }>(
        `select s.id from check_sessions s join agentic_runs r on r.session_id = s.id`,
      );
      expect((await api.call('POST', `/v1/check-sessions/${session?.id ?? ''}/cancel`)).status).toBe(204);
      expect(await db.query('select 1 from agentic_runs')).toEqual([]);
      await end(first);
      expect(await answer).toEqual({ status: 503, body: { hasFailures: true } });
    });

    it('a group of checks that run in parallel counts checks, not their runs', async () => {
      const groupId = await group({
        concurrency: 1,
        privateLocations: ['office', 'home'],
        runParallel: true,
      });
      for (const [groupOrder, name] of ['a', 'b'].entries())
        await page({ name, groupOrder, groupId: Number(groupId) });
      const url = await trigger(`check-groups/${groupId}`);
      const controller = new AbortController();
      const answer = call(url, { signal: controller.signal }).catch(() => null);
      await vi.waitFor(
        async () => {
          const rows = await db.query('select state, count(*) as count from jobs group by 1 order by 1');
          expect(rows).toEqual([
            { state: 'blocked', count: 2 },
            { state: 'queued', count: 2 },
          ]);
        },
        { timeout: 10_000 },
      );
      controller.abort();
      await answer;
      // The caller has disconnected; the rest is still started.
      await end(await agent.claim());
      await tick();
      expect(await db.query(`select id from jobs where state = 'blocked'`)).toHaveLength(2);
      await db.query(`delete from jobs where state = 'queued'`);
      await tick();
      expect(await db.query(`select id from jobs where state = 'queued'`)).toHaveLength(2);
    });

    it('runs that wait for their turn belong to sessions: read as queued, gone with their check', async () => {
      const groupId = await group({ concurrency: 1 });
      const ids = [];
      for (const groupOrder of [1, 2, 3])
        ids.push(await page({ name: `page ${groupOrder}`, groupId: Number(groupId), groupOrder }));
      const url = await trigger(`check-groups/${groupId}`);
      const answer = call(url);
      const jobs = await claim(1);
      const sessions = await db.query<{ id: string }>('select id from check_sessions order by name');
      const read = async (index: number) =>
        (await api.call('GET', `/v2/check-sessions/${sessions[index]?.id ?? ''}`)).body;
      expect(await read(1)).toMatchObject({
        status: 'STARTED',
        runSource: 'GROUP_RUN_ALL',
        inProgress: [{ checkId: ids[1], state: 'QUEUED' }],
      });
      expect((await api.call('DELETE', `/v1/checks/${ids[1] ?? ''}`)).status).toBe(204);
      await end(jobs);
      await tick();
      await end(await claim(1));
      expect((await answer).body).toEqual({ hasFailures: true });
      expect([(await read(0))['status'], (await read(2))['status']]).toEqual(['PASSED', 'PASSED']);
    });

    it('many runs of groups that have no room hold up no other', async () => {
      const groupId = await group({ concurrency: 1 });
      for (const [groupOrder, name] of ['a', 'b'].entries())
        await page({ name, groupOrder, groupId: Number(groupId) });
      const url = await trigger(`check-groups/${groupId}`);
      const controller = new AbortController();
      const answer = call(url, { signal: controller.signal }).catch(() => null);
      const jobs = await claim(1);
      controller.abort();
      await answer;
      // Sixty others, older than it, whose first check runs on.
      await db.query(
        `insert into group_runs (id, account_id, concurrency, started_at)
         select ('00000000-0000-7000-8000-' || lpad(place::text, 12, '0'))::uuid, account_id, concurrency, started_at
         from group_runs, generate_series(1, 60) as place`,
      );
      await db.query(
        `insert into jobs select (jsonb_populate_record(j, jsonb_build_object(
           'id', gen_random_uuid(), 'run_id', gen_random_uuid(), 'sequence_id', gen_random_uuid(), 'group_run_id', g.id))).*
         from jobs j join group_runs g on g.id <> j.group_run_id`,
      );
      await end(jobs);
      await tick();
      expect(
        await db.query(`select name from jobs j join checks c on c.id = j.check_id where state = 'queued'`),
      ).toEqual([{ name: 'b' }]);
    });

    it('counts calls of a trigger in all replicas together', async () => {
      const id = await page({ activated: false });
      const url = await trigger(`checks/${id}`);
      const answers = await Promise.all(Array.from({ length: 13 }, () => call(url)));
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(10);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(3);
      clock.advance(60 * second);
      expect((await call(url)).status).toBe(409);
    });

    if (database.name === 'server') return;

    it('one trigger per check and group: created, read, deleted', async () => {
      for (const [path, name, id] of [
        ['checks', 'checkId', await page({ activated: false })],
        ['check-groups', 'groupId', Number(await group())],
      ] as const) {
        const at = `/v1/triggers/${path}/${String(id)}`;
        expect((await api.call('GET', at)).status).toBe(404);
        const made = await api.call<Fields & { token: string }>('POST', at);
        expect(made).toMatchObject({
          status: 201,
          body: {
            [name]: id,
            token: expect.stringMatching(/^[A-Za-z0-9]{12}$/),
            created_at: '2026-03-04',
            called_at: null,
            updated_at: null,
            url: `${api.url}/${path}/${String(id)}/trigger/${made.body.token}`,
          },
        });
        expect((await api.call('GET', at)).body).toEqual(made.body);
        expect((await api.call('POST', at)).status).toBe(409);
        const { key } = api.foreign;
        for (const method of ['GET', 'POST', 'DELETE'])
          expect([method, (await api.call(method, at, { key })).status]).toEqual([method, 404]);
        const stored = JSON.stringify(await db.query('select token, token_hash::text from triggers'));
        expect(stored).not.toContain(made.body.token);
        expect((await call(String(made.body['url']))).status).toBe(409);
        expect((await api.call('GET', at)).body).toMatchObject({ called_at: '2026-03-04' });
        expect((await api.call('DELETE', at)).status).toBe(204);
        expect((await api.call('DELETE', at)).status).toBe(404);
        expect((await call(String(made.body['url']))).status).toBe(404);
      }
    });

    it('heartbeats, which are not run, have no trigger', async () => {
      const id = await create('/v1/checks/heartbeat', {
        name: 'Backup',
        heartbeat: { period: 1, periodUnit: 'hours' },
      });
      expect((await api.call('POST', `/v1/triggers/checks/${id}`)).status).toBe(400);
    });

    it('unknown ids and tokens are 404, bad parameters 400', async () => {
      const id = await page();
      const url = await trigger(`checks/${id}`);
      const token = url.slice(-12);
      for (const path of [
        `checks/${id}/trigger/AAAAAAAAAAAA`,
        `checks/${id}/trigger/${token}x`,
        `checks/x/trigger/${token}`,
        `check-groups/1/trigger/${token}`,
        `check-groups/${id}/trigger/${token}`,
      ]) {
        expect([path, (await call(`${api.url}/${path}`)).status]).toEqual([path, 404]);
      }
      expect((await call(`${url}?unknown=1`)).status).toBe(400);
      const elsewhere = await call(`${url}?runLocation=nowhere`);
      expect([elsewhere.status, elsewhere.body.attributes]).toEqual([
        400,
        { runLocation: ['is not a location of this account'] },
      ]);
      expect((await fetch(url, { method: 'HEAD' })).status).toBe(405);
    });

    it('the deployment in the call is passed to the run; an API check reports its time', async () => {
      const id = await create('/v1/checks/api', {
        name: 'API',
        request: { url: 'https://shop.example/' },
        privateLocations: ['home'],
        doubleCheck: false,
        environmentVariables: [{ key: 'ENVIRONMENT_URL', value: 'https://own.example' }],
      });
      const url = await trigger(`checks/${id}`);
      const query = new URLSearchParams({
        ENVIRONMENT_URL: 'https://preview.example',
        environmentName: 'preview',
        deploymentId: '7',
        sha: 'abc',
        repository: 'a/b',
        deployment: 'true',
        runLocation: 'office',
      });
      const answer = call(`${url}?${query.toString()}`);
      const [job] = await claim(1);
      expect(job?.runLocation).toBe('office');
      const variables = job?.['environmentVariables'] as { key: string; value: string }[];
      expect(Object.fromEntries(variables.map(({ key, value }) => [key, value]))).toEqual({
        ENVIRONMENT_URL: 'https://preview.example',
        ENVIRONMENT_NAME: 'preview',
        DEPLOYMENT_ID: '7',
        SHA: 'abc',
        REPOSITORY: 'a/b',
        DEPLOYMENT: 'true',
      });
      await end(job === undefined ? [] : [job], { responseTime: 321 });
      expect(await answer).toEqual({ status: 200, body: { hasFailures: false, responseTime: 321 } });
    });

    it('responds 503 when the runs have not finished in time; they continue', async () => {
      const id = await page();
      const url = await trigger(`checks/${id}`);
      const app = fastify({ forceCloseConnections: true });
      registerErrorHandlers(app);
      app.addSchema(ErrorBody);
      registerTriggerCalls(app, { db, now: clock.now, waitMs: 200 });
      const own = await app.listen({ host: '127.0.0.1', port: 0 });
      expect(await call(url.replace(api.url, own))).toEqual({
        status: 503,
        body: { hasFailures: false, message: 'Not all runs finished in time. They continue.' },
      });
      await app.close();
      expect(await agent.claim()).toHaveLength(1);
    });
  });
});
