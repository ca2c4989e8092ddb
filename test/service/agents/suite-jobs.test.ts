import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { jobSchemas } from '../../../src/protocol/job.ts';
import { suiteAfterMs } from '../../../src/protocol/check-types.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { splitRun } from '../../../src/service/checks/schedule/split-run.ts';
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

/** Suites from the API to the jobs that agents get, and when they run. */

const start = '2026-03-04T05:06:07.000Z';
const minute = 60_000;
const octets = { 'content-type': 'application/octet-stream' };
const abilities = { checkTypes: ['URL', 'PLAYWRIGHT'] };
const validator = Compile(jobSchemas.PLAYWRIGHT);

describe('splitRun', () => {
  it('leaves out locations where the previous run is still running', () => {
    const [a, b] = [{ id: 'a' }, { id: 'b' }];
    expect(splitRun([a, b], (id) => id === 'b')).toEqual({ begins: [a], stillRunning: [b] });
    expect(splitRun([a, b], () => false)).toEqual({ begins: [a, b], stillRunning: [] });
    expect(splitRun([], () => true)).toEqual({ begins: [], stillRunning: [] });
  });
});

describe.each(databases)('jobs of suites: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    let db: Db;
    let folder: string;
    let agents: AgentService;
    let api: TestService;
    let office: { id: string; slug: string; key: string };
    let home: { id: string; slug: string; key: string };
    let bundle: { key: string; digest: string; size: number };

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
        'check_results, finished_jobs, playwright_bundles, account_variables, check_groups, checks, locations',
      );
      const { id: accountId } = api.account;
      office = await addLocation(db, { accountId, slug: 'office' });
      home = await addLocation(db, { accountId, slug: 'home' });
      bundle = (
        await api.call<typeof bundle>('POST', '/v1/playwright-bundles', {
          body: gzipSync('a project'),
          headers: octets,
        })
      ).body;
    });
    afterAll(async () => {
      await agents.app.close();
      await api.close();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    });

    async function create(path: string, body: Fields): Promise<Fields & { id: string }> {
      const answer = await api.call<Fields & { id: string }>('POST', path, { body });
      expect([path, answer.status, answer.body['attributes']]).toEqual([path, 201, undefined]);
      return answer.body;
    }
    /** Due at 6 s past each minute. */
    const suite = (fields: Fields = {}) =>
      create('/v1/checks/playwright', {
        name: 'Shop',
        codeBundlePath: bundle.key,
        privateLocations: ['office'],
        frequency: 1,
        frequencyOffset: 1,
        ...fields,
      });
    const connect = (location = office): Promise<TestAgent> => connectAgent(agents.app, location, abilities);
    async function nextJob(agent: TestAgent): Promise<TestJob> {
      clock.advance(minute);
      await agent.claim(0);
      await agents.scheduler.tick();
      const [job, ...others] = await agent.claim(10, { lane: 'suite' });
      expect(others).toEqual([]);
      if (job === undefined) throw new Error('no job');
      return job;
    }
    /** A minute without claims. */
    async function minutePasses(agent: TestAgent | null = null, held: TestJob[] = []) {
      clock.advance(minute);
      if (agent !== null) {
        await agent.claim(0);
        await agent.renew(held);
      }
      await agents.scheduler.tick();
    }
    const queued = async () =>
      (
        await db.query<{ place: string }>(
          `select run_location as place from jobs where state = 'queued' order by due_at, place`,
        )
      ).map(({ place }) => place);
    const missed = async () =>
      (
        await db.query<{
          place: string;
          details: { count: number; from: string; to: string };
          reason: object;
        }>(
          `select run_location as place, body->'details' as details, reason from check_results
           where status = 'missed' order by started_at, place`,
        )
      ).map(({ place, details, reason }) => ({
        place,
        count: details.count,
        from: details.from.slice(11, 16),
        to: details.to.slice(11, 16),
        reason,
      }));
    const stillRunning = {
      code: 'STILL_RUNNING',
      owner: 'ours',
      message: 'the previous run was still in progress',
    };

    it('carry the settings and the time limit of the check', async () => {
      await suite({
        installCommand: 'npm ci --no-audit',
        testCommand: 'npx playwright test --shard=1/2',
        playwrightConfigPath: '../playwright.config.ts',
        workingDir: 'packages/web/',
        pwProjects: ['chromium', 'mobile'],
        pwTags: ['@smoke', '@shop @fast'],
        engine: 'bun',
        browsers: ['firefox', 'firefox'],
        maxRunMinutes: 45,
      });
      const job = await nextJob(await connect());
      expect(validator.Errors(job)).toEqual([]);
      expect(job).toMatchObject({
        checkType: 'PLAYWRIGHT',
        lane: 'suite',
        retryStrategy: null,
        shouldFail: false,
      });
      expect(job['suite']).toEqual({
        bundle: { key: bundle.key, digest: bundle.digest, size: bundle.size },
        workingDir: 'packages/web',
        installCommand: 'npm ci --no-audit',
        testCommand: 'npx playwright test --shard=1/2',
        configPath: '../playwright.config.ts',
        projects: ['chromium', 'mobile'],
        tags: ['@smoke', '@shop @fast'],
        engine: { name: 'bun', version: '1.3' },
        browsers: ['firefox'],
        maxMinutes: 45,
        refreshCache: false,
      });
      expect(Date.parse(job.deadline) - clock.now()).toBe(45 * minute + suiteAfterMs + minute);
    });

    it('have few fields where the check has few', async () => {
      await suite({ engineVersion: '24.13.1' });
      const job = await nextJob(await connect());
      expect(validator.Errors(job)).toEqual([]);
      expect(job['suite']).toMatchObject({
        workingDir: '',
        installCommand: null,
        testCommand: null,
        configPath: null,
        projects: [],
        tags: [],
        engine: { name: 'node', version: '24.13.1' },
        browsers: [],
        maxMinutes: 30,
      });
    });

    it("have their group's places and variables, but neither its retries nor its runtime", async () => {
      await api.call('POST', '/v1/variables', { body: { key: 'BASE', value: 'account' } });
      await api.call('POST', '/v1/variables', { body: { key: 'SHARED', value: 'account' } });
      const group = await create('/v2/check-groups', {
        name: 'Web',
        privateLocations: ['home', 'office'],
        runParallel: true,
        runtimeId: '2025.04',
        retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 3 },
        localSetupScript: 'process.env.NEVER = 1',
        environmentVariables: [{ key: 'BASE', value: 'group', secret: true }],
      });
      const { id } = await suite({
        groupId: group.id,
        environmentVariables: [{ key: 'OWN', value: 'check' }],
      });
      const shown = await api.call('GET', `/v1/checks/${id}?applyGroupSettings=true`);
      expect(shown.body).toMatchObject({
        runtimeId: null,
        retryStrategy: null,
        doubleCheck: false,
        runParallel: true,
        privateLocations: ['home', 'office'],
      });
      const [first, second] = [await connect(), await connect(home)];
      const jobs = [await nextJob(first), ...(await second.claim(10, { lane: 'suite' }))];
      expect(jobs.map(({ runLocation }) => runLocation)).toEqual(['office', 'home']);
      expect(new Set(jobs.map(({ runId }) => runId)).size).toBe(1);
      for (const job of jobs) {
        expect(validator.Errors(job)).toEqual([]);
        expect(job['retryStrategy']).toBeNull();
        expect(job['scripts']).toBeUndefined();
        const variables = job['environmentVariables'] as { key: string; value: string }[];
        expect(Object.fromEntries(variables.map(({ key, value }) => [key, value]))).toEqual({
          BASE: 'group',
          SHARED: 'account',
          OWN: 'check',
        });
      }
    });

    it('leave totals that are shown with every result, and in the graphs of the page', async () => {
      const { id } = await suite();
      const agent = await connect();
      const totals = {
        tests: 4,
        passed: 2,
        failed: 1,
        flaky: 0,
        skipped: 1,
        timedOut: 0,
        interrupted: 0,
        degraded: 1,
      };
      const job = await nextJob(agent);
      // Too large for a list.
      const tests = Array.from({ length: 500 }, () => ({ title: randomBytes(200).toString('hex') }));
      await agent.report(resultOf(job, clock.now(), { details: { totals, tests }, responseTime: 5000 }));
      const second = await nextJob(agent);
      const wild = { ...totals, tests: 'many', passed: -1, failed: 1e12, more: { deep: 1 } };
      await agent.report(resultOf(second, clock.now(), { details: { totals: wild } }));
      const third = await nextJob(agent);
      await agent.report(resultOf(third, clock.now(), { details: {}, status: 'errored' }));

      const readable = { ...totals, tests: 0, passed: 0, failed: 0 };
      const listed = await api.call<Fields[]>('GET', `/v1/check-results/${id}`);
      expect(listed.body.map((result) => [result['totals'], result['isPartial']])).toEqual([
        [null, false],
        [readable, false],
        [totals, true],
      ]);
      const first = listed.body[2]?.['id'] as string;
      const whole = await api.call<Fields>('GET', `/v1/check-results/${id}/${first}`);
      expect(whole.body).toMatchObject({ totals, playwrightCheckResult: { totals, tests } });

      const runs = async (key?: string) =>
        (
          await api.call<{ runs: Fields[] }>(
            'GET',
            `/v1/checks/${id}/suite-runs`,
            key === undefined ? {} : { key },
          )
        ).body.runs;
      expect((await runs()).map((run) => [run['status'], run['totals'], run['runLocation']])).toEqual([
        ['errored', null, 'office'],
        ['passed', readable, 'office'],
        ['passed', totals, 'office'],
      ]);
      expect(await runs(api.foreign.key)).toBeUndefined();
      const nonsense = await api.call('GET', '/v1/checks/nonsense/suite-runs');
      expect(nonsense.status).toBe(404);
    });

    it('end with a reason where their bundle is missing', async () => {
      const { id } = await suite();
      const agent = await connect();
      await db.query('delete from playwright_bundles');
      clock.advance(minute);
      await agent.claim(0);
      await agents.scheduler.tick();
      expect(await agent.claim(10, { lane: 'suite' })).toEqual([]);
      const results = await api.call<Fields[]>('GET', `/v1/check-results/${id}`);
      expect(results.body).toMatchObject([
        {
          status: 'errored',
          hasErrors: true,
          hasFailures: false,
          reason: {
            code: 'BUNDLE_UNAVAILABLE',
            owner: 'ours',
            message: `the code bundle ${bundle.key} is missing: upload it again`,
          },
        },
      ]);
      expect(await db.query('select 1 from jobs')).toEqual([]);
    });

    it('skip runs that are due while the previous one is running, as one record', async () => {
      const { id } = await suite();
      const agent = await connect();
      const job = await nextJob(agent);
      for (let n = 0; n < 3; n++) await minutePasses(agent, [job]);
      expect(await queued()).toEqual([]);
      expect(await missed()).toEqual([
        { place: 'office', count: 3, from: '05:08', to: '05:10', reason: stillRunning },
      ]);
      // The status is that of the last run that took place.
      expect((await api.call('GET', `/v1/check-statuses/${id}`)).status).toBe(404);
      await agent.report(resultOf(job, clock.now()));
      const second = await nextJob(agent);
      await minutePasses(agent, [second]);
      // A run has taken place since: another record.
      expect(await missed()).toEqual([
        { place: 'office', count: 3, from: '05:08', to: '05:10', reason: stillRunning },
        { place: 'office', count: 1, from: '05:12', to: '05:12', reason: stillRunning },
      ]);
      expect((await api.call('GET', `/v1/check-statuses/${id}`)).body).toMatchObject({ status: 'passed' });
    });

    it('skip locations where the previous run is running, and start at the others', async () => {
      await suite({ privateLocations: ['home', 'office'], runParallel: true });
      const [atOffice, atHome] = [await connect(), await connect(home)];
      const job = await nextJob(atOffice);
      const [other] = await atHome.claim(10, { lane: 'suite' });
      if (other === undefined) throw new Error('no job');
      await atHome.report(resultOf(other, clock.now()));
      await minutePasses(atOffice, [job]);
      expect(await queued()).toEqual(['home']);
      expect(await missed()).toEqual([
        { place: 'office', count: 1, from: '05:08', to: '05:08', reason: stillRunning },
      ]);
    });

    it('take turns: a location with a running run does not block others', async () => {
      await suite({ privateLocations: ['home', 'office'] });
      const [atOffice, atHome] = [await connect(), await connect(home)];
      const job = await nextJob(atHome);
      await minutePasses(atHome, [job]);
      const [other] = await atOffice.claim(10, { lane: 'suite' });
      if (other === undefined) throw new Error('no job');
      expect([job.runLocation, other.runLocation]).toEqual(['home', 'office']);
      await atOffice.report(resultOf(other, clock.now()));
      await minutePasses(atHome, [job]);
      await minutePasses(atHome, [job]);
      expect(await queued()).toEqual(['office']);
      expect(await missed()).toEqual([
        { place: 'home', count: 1, from: '05:09', to: '05:09', reason: stillRunning },
      ]);
    });

    it('skip while a run waits for its next agent, but not for one that no agent claimed in time', async () => {
      await suite({ frequency: 2 });
      const agent = await connect();
      clock.advance(minute);
      await agents.scheduler.tick();
      clock.advance(minute);
      await agents.scheduler.tick();
      const [job] = await agent.claim(10, { lane: 'suite' });
      if (job === undefined) throw new Error('no job');
      await agent.renew([job]);
      // Its agent is gone: the next one may claim it for as long as a new run.
      clock.advance(1.5 * minute);
      await agents.scheduler.tick();
      expect(await queued()).toEqual(['office']);
      clock.advance(0.5 * minute);
      await agents.scheduler.tick();
      expect((await missed()).map(({ reason }) => reason)).toEqual([stillRunning]);
      expect(await queued()).toEqual(['office']);

      await emptyTables(db, 'jobs, check_results, missed_runs');
      for (let n = 0; n < 6; n++) {
        clock.advance(minute);
        await agents.scheduler.tick();
      }
      expect(await missed()).toMatchObject([{ reason: { code: 'NO_AGENT' } }]);
    });

    it('are not held up by runs that were triggered, nor hold them up; other types are never skipped', async () => {
      const { id } = await suite();
      const agent = await connect();
      const job = await nextJob(agent);
      // A triggered run, as sessions make them.
      await db.query(
        `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, run_source, check_type,
           lane, due_at, not_before, expires_at, claim_window_seconds, state)
         select $1, account_id, check_id, $2, $3, location_id, run_location, 'TRIGGER_API', check_type, lane, due_at, due_at,
           expires_at + interval '1 day', 60, 'queued' from jobs where check_id = $4`,
        [uuidv7(), uuidv7(), uuidv7(), id],
      );
      await agent.report(resultOf(job, clock.now()));
      await minutePasses(agent);
      expect(await queued()).toEqual(['office', 'office']);
      expect(await missed()).toEqual([]);

      await emptyTables(db, 'jobs');
      await create('/v1/checks/url', {
        name: 'Page',
        request: { url: 'https://shop.example/' },
        privateLocations: ['office'],
        frequency: 1,
        frequencyOffset: 1,
      });
      await db.query('update checks set activated = false where id = $1', [id]);
      clock.advance(minute);
      await agents.scheduler.tick();
      const [probe] = await agent.claim();
      if (probe === undefined) throw new Error('no job');
      await minutePasses(agent, [probe]);
      expect(await queued()).toEqual(['office']);
      expect(await missed()).toEqual([]);
    });
  });
});
