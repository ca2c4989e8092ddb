import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { jobSchemas } from '../../../src/protocol/job.ts';
import type { Db } from '../../../src/service/db/database.ts';
import {
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  encryption,
  type AgentService,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { databases, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** From what the API stores of checks with code, groups, snippets and variables to the jobs that agents get. */

const start = '2026-03-04T05:06:07.000Z';
const minute = 60_000;
const everyMinute = { frequency: 1, frequencyOffset: 1, doubleCheck: false };
const types = { checkTypes: ['URL', 'API', 'BROWSER', 'MULTI_STEP'] };
const current = { ...types, runtimes: ['2026.04', '2025.04'] };

const validators = {
  API: Compile(jobSchemas.API),
  BROWSER: Compile(jobSchemas.BROWSER),
  MULTI_STEP: Compile(jobSchemas.MULTI_STEP),
};

describe.each(databases)('jobs of scripts: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    let db: Db;
    let agents: AgentService;
    let api: TestService;
    let office: { id: string; slug: string; key: string };

    beforeAll(async () => {
      db = await database.open();
      agents = await createAgentService(db, clock);
      api = await startTestService(db, { now: clock.now, encryption });
    });
    beforeEach(async () => {
      await emptyTables(
        db,
        'check_results, finished_jobs, snippets, account_variables, check_groups, locations',
      );
      office = await addLocation(db, { accountId: api.account.id, slug: 'office' });
    });
    afterAll(async () => {
      await agents.app.close();
      await api.close();
      await database.close();
    });

    async function create(path: string, body: Fields): Promise<Fields & { id: string }> {
      const answer = await api.call<Fields & { id: string }>('POST', path, { body });
      expect([path, answer.status, answer.body['attributes']]).toEqual([path, 201, undefined]);
      return answer.body;
    }
    const browserCheck = (fields: Fields = {}) =>
      create('/v1/checks/browser', {
        name: 'Shop',
        script: "import { test } from '@playwright/test';",
        privateLocations: ['office'],
        ...everyMinute,
        ...fields,
      });
    const apiCheck = (fields: Fields = {}) =>
      create('/v1/checks/api', {
        name: 'Orders',
        request: { url: 'https://shop.example/orders' },
        privateLocations: ['office'],
        ...everyMinute,
        ...fields,
      });

    /** The jobs of the next minute, as an agent gets them, each valid by its schema. */
    async function nextJobs(lane: string, abilities: object = current): Promise<TestJob[]> {
      const agent = await connectAgent(agents.app, office, abilities);
      clock.advance(minute);
      await agents.scheduler.tick();
      const jobs = await agent.claim(10, { lane });
      for (const job of jobs) {
        expect([...validators[job.checkType as keyof typeof validators].Errors(job)]).toEqual([]);
      }
      return jobs;
    }
    const nextJob = async (lane: string) => {
      const jobs = await nextJobs(lane);
      expect(jobs).toHaveLength(1);
      return jobs[0] as TestJob;
    };
    const results = () =>
      db.query<{ status: string; reason: { code: string; message: string } }>(
        'select status, reason from check_results order by started_at',
      );

    test('a browser check: its script, files, settings and variables', async () => {
      await create('/v1/variables', { key: 'BASE', value: 'https://account.example' });
      await create('/v1/variables', { key: 'TOKEN', value: 'account secret', secret: true });
      await create('/v1/snippets', { name: 'login', script: 'exports.login = 1;' });
      const check = await browserCheck({
        script: "const { login } = require('./snippets/login.js');",
        scriptPath: 'tests/shop.spec.js',
        dependencies: [{ path: 'tests/page.js', content: 'exports.page = 1;' }],
        playwrightConfig: { timeout: 5000, use: { locale: 'de' } },
        sslCheckDomain: 'shop.example',
        environmentVariables: [
          { key: 'BASE', value: 'https://own.example' },
          { key: 'PASSWORD', value: 'own secret', secret: true },
        ],
      });
      const job = await nextJob('browser');
      expect(job).toMatchObject({
        checkId: check.id,
        checkType: 'BROWSER',
        lane: 'browser',
        degradedResponseTime: null,
        maxResponseTime: null,
        sslCheckDomain: 'shop.example',
        script: {
          runtimeId: '2026.04',
          content: "const { login } = require('./snippets/login.js');",
          path: 'tests/shop.spec.js',
          files: [
            { path: 'tests/page.js', content: 'exports.page = 1;' },
            { path: 'snippets/login.js', content: 'exports.login = 1;' },
          ],
          playwrightConfig: { timeout: 5000, use: { locale: 'de' } },
        },
      });
      expect(job['environmentVariables']).toEqual(
        expect.arrayContaining([
          { key: 'BASE', value: 'https://own.example', locked: false, secret: false },
          { key: 'PASSWORD', value: 'own secret', locked: false, secret: true },
          { key: 'TOKEN', value: 'account secret', locked: false, secret: true },
        ]),
      );
      expect(job['environmentVariables']).toHaveLength(3);
      const stored = await db.query('select definition::text as text, code::text as code from checks');
      expect(JSON.stringify(stored)).not.toContain('own secret');
      expect(JSON.stringify(await db.query('select value from account_variables'))).not.toContain(
        'account secret',
      );
    });

    test('only scripts that refer to snippets get them; a null script is the file named by scriptPath', async () => {
      await create('/v1/snippets', { name: 'login', script: 'exports.login = 1;' });
      await browserCheck({
        script: null,
        scriptPath: 'a.spec.ts',
        dependencies: [
          { path: 'a.spec.ts', content: '// the entry' },
          { path: 'b.ts', content: '// beside it' },
        ],
      });
      expect((await nextJob('browser'))['script']).toMatchObject({
        content: '// the entry',
        path: 'a.spec.ts',
        files: [{ path: 'b.ts', content: '// beside it' }],
      });
    });

    test('paths are compared after normalisation', async () => {
      await create('/v1/snippets', { name: 'login', script: 'exports.login = 1;' });
      const own = "exports.login = 'own'; // snippets";
      await browserCheck({
        script: null,
        scriptPath: './shop.spec.js',
        dependencies: [
          { path: 'shop.spec.js', content: "require('./snippets/login.js');" },
          { path: './snippets/login.js', content: own },
        ],
      });
      expect(await nextJob('browser')).toMatchObject({
        script: {
          content: "require('./snippets/login.js');",
          files: [{ path: './snippets/login.js', content: own }],
        },
      });
    });

    test('a dependency at the path of a snippet takes its place', async () => {
      await create('/v1/snippets', { name: 'login', script: 'shared' });
      await browserCheck({
        script: 'require("./snippets/login.js")',
        dependencies: [{ path: 'snippets/login.js', content: 'own' }],
      });
      expect((await nextJob('browser'))['script']).toMatchObject({
        files: [{ path: 'snippets/login.js', content: 'own' }],
      });
    });

    test('the runtime is that of the check, its group or the account; agents without it get no job', async () => {
      const group = await create('/v2/check-groups', { name: 'Old', runtimeId: '2025.04' });
      const own = await browserCheck({ runtimeId: '2026.04', groupId: group.id });
      const grouped = await browserCheck({ groupId: group.id });
      const bare = await create('/v1/checks/multistep', {
        name: 'Steps',
        script: 'x',
        privateLocations: ['office'],
        ...everyMinute,
      });
      expect(await nextJobs('browser', { ...types, runtimes: ['2024.09'] })).toEqual([]);
      const agent = await connectAgent(agents.app, office, current);
      const jobs = await agent.claim(10, { lane: 'browser' });
      const runtimeOf = new Map(
        jobs.map((job) => [job.checkId, (job['script'] as { runtimeId: string }).runtimeId]),
      );
      expect(runtimeOf).toEqual(
        new Map([
          [own.id, '2026.04'],
          [grouped.id, '2025.04'],
          [bare.id, '2026.04'],
        ]),
      );
      expect(jobs.find(({ checkId }) => checkId === bare.id)).toMatchObject({ checkType: 'MULTI_STEP' });
    });

    test('a runtime that no connected agent has ends the run with the available runtimes as reason', async () => {
      await browserCheck({ runtimeId: '2024.09' });
      await apiCheck({ runtimeId: '2024.09', localSetupScript: 'process.env.A = 1' });
      await connectAgent(agents.app, office, current);
      await agents.scheduler.tick();
      clock.advance(minute);
      await agents.scheduler.tick();
      await connectAgent(agents.app, office, current);
      clock.advance(6_000);
      await agents.scheduler.tick();
      const reason = {
        code: 'RUNTIME_UNAVAILABLE',
        owner: 'ours',
        message: 'no connected agent of the location has the runtime 2024.09; they have: 2026.04, 2025.04',
      };
      expect(await results()).toEqual([
        { status: 'errored', reason },
        { status: 'errored', reason },
      ]);
    });

    test('an API check: scripts of group and check in order, snippets, files, defaults of the group', async () => {
      const { id: shared } = await create('/v1/snippets', {
        name: 'sign',
        script: "require('./snippets/x')",
      });
      await create('/v1/snippets', { name: 'x', script: 'exports.x = 1;' });
      const group = await create('/v2/check-groups', {
        name: 'Shop',
        runtimeId: '2025.04',
        setupSnippetId: shared,
        localTearDownScript: 'group teardown',
        environmentVariables: [
          { key: 'A', value: 'group' },
          { key: 'SERVICE_SECRET_B', value: 'hidden of the group' },
        ],
        apiCheckDefaults: {
          url: 'https://base.example',
          headers: [
            { key: 'x-token', value: 'hidden header', locked: true },
            { key: 'ACCEPT', value: 'group' },
          ],
          basicAuth: { username: 'ann', password: 'hidden password' },
          assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
        },
      });
      await apiCheck({
        groupId: group.id,
        localSetupScript: 'check setup',
        localTearDownScript: 'check teardown',
        environmentVariables: [{ key: 'A', value: 'check' }],
        dependencies: [{ path: 'lib.js', content: 'exports.lib = 1;' }],
        request: {
          url: '{{GROUP_BASE_URL}}/orders',
          headers: [{ key: 'accept', value: 'check' }],
        },
      });
      const job = await nextJob('uptime');
      expect(job['scripts']).toEqual({
        runtimeId: '2025.04',
        setup: [
          { origin: 'group', content: "require('./snippets/x')" },
          { origin: 'check', content: 'check setup' },
        ],
        teardown: [
          { origin: 'check', content: 'check teardown' },
          { origin: 'group', content: 'group teardown' },
        ],
        files: [
          { path: 'lib.js', content: 'exports.lib = 1;' },
          { path: 'snippets/sign.js', content: "require('./snippets/x')" },
          { path: 'snippets/x.js', content: 'exports.x = 1;' },
        ],
      });
      expect(job['groupBaseUrl']).toBe('https://base.example');
      expect(job['request']).toMatchObject({
        headers: [
          { key: 'x-token', value: 'hidden header', locked: true },
          { key: 'accept', value: 'check', locked: false },
        ],
        basicAuth: { username: 'ann', password: 'hidden password' },
        assertions: [{ source: 'STATUS_CODE', target: '200' }],
      });
      expect(job['environmentVariables']).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ key: 'A', value: 'check' }),
          expect.objectContaining({ key: 'SERVICE_SECRET_B', value: 'hidden of the group', secret: true }),
        ]),
      );
      const stored = JSON.stringify(await db.query('select definition from check_groups'));
      expect(stored).not.toContain('hidden');
    });

    test('an API check without scripts needs no runtime, unless its group has scripts', async () => {
      const plain = await create('/v2/check-groups', { name: 'Plain', runtimeId: '2024.09' });
      await apiCheck({ groupId: plain.id, runtimeId: '2024.09' });
      const [job] = await nextJobs('uptime', { ...types, runtimes: [] });
      expect(job).toMatchObject({ checkType: 'API' });
      expect(job).not.toHaveProperty('scripts');
      await db.query('delete from jobs');
      // An empty text is none.
      await api.call('PUT', `/v1/checks/api/${job?.['checkId']}`, { body: { localSetupScript: '' } });
      expect(await nextJobs('uptime', { ...types, runtimes: [] })).toHaveLength(1);
      await db.query('delete from jobs');
      await api.call('PUT', `/v2/check-groups/${plain.id}`, { body: { localSetupScript: 'x' } });
      expect(await nextJobs('uptime', { ...types, runtimes: [] })).toEqual([]);
    });

    test('a run that was queued before its check got scripts waits for an agent that can run them', async () => {
      const check = await apiCheck();
      clock.advance(minute);
      await agents.scheduler.tick();
      await api.call('PUT', `/v1/checks/api/${check.id}`, { body: { localSetupScript: 'x' } });
      const old = await connectAgent(agents.app, office, { ...types, runtimes: [] });
      expect(await old.claim(10, { lane: 'uptime' })).toEqual([]);
      const able = await connectAgent(agents.app, office, current);
      const [job] = await able.claim(10, { lane: 'uptime' });
      expect(job).toMatchObject({ checkId: check.id, scripts: { runtimeId: '2026.04' } });
      expect(await db.query('select deliveries from jobs')).toEqual([{ deliveries: 1 }]);
    });

    test('locations, runParallel and retries of the group count', async () => {
      const home = await addLocation(db, { accountId: api.account.id, slug: 'home' });
      const attic = await addLocation(db, { accountId: api.account.id, slug: 'attic' });
      const group = await create('/v2/check-groups', {
        name: 'Elsewhere',
        privateLocations: ['home', 'attic'],
        runParallel: true,
        retryStrategy: { type: 'LINEAR', baseBackoffSeconds: 7, sameRegion: false },
      });
      await browserCheck({ groupId: group.id });
      clock.advance(minute);
      await agents.scheduler.tick();
      const made = await db.query('select run_location as at, runtime_id as runtime from jobs order by 1');
      expect(made).toEqual([
        { at: 'attic', runtime: '2026.04' },
        { at: 'home', runtime: '2026.04' },
      ]);
      const agent = await connectAgent(agents.app, home, current);
      const [job] = await agent.claim(1, { lane: 'browser' });
      // In parallel there is no other location to go to.
      expect(job).toMatchObject({
        retryStrategy: { type: 'LINEAR', baseBackoffSeconds: 7, maxRetries: 2, sameRegion: true },
      });
      // One at a time, a released job goes to the other location of the group.
      await api.call('PUT', `/v2/check-groups/${group.id}`, { body: { runParallel: null } });
      await db.query('delete from jobs');
      clock.advance(minute);
      await agents.scheduler.tick();
      const both = new Map([
        ['home', await connectAgent(agents.app, home, current)],
        ['attic', await connectAgent(agents.app, attic, current)],
      ]);
      for (const [slug, here] of both) {
        const [mine] = await here.claim(1, { lane: 'browser' });
        if (mine === undefined) continue;
        expect(mine).toMatchObject({ retryStrategy: { sameRegion: false } });
        await here.release(mine, { nextAttempt: 2, otherLocation: true });
        const [moved] = await db.query<{ at: string }>('select run_location as at from jobs');
        expect(moved?.at).toBe(slug === 'home' ? 'attic' : 'home');
        return;
      }
      expect.unreachable('neither location got the job');
    });

    test('checks of a deactivated group do not run, and are not counted as missed', async () => {
      const group = await create('/v1/check-groups', { name: 'Off', activated: false });
      await browserCheck({ groupId: group.id });
      expect(await nextJobs('browser')).toEqual([]);
      expect(await nextJobs('browser')).toEqual([]);
      expect(await results()).toEqual([]);
      await api.call('PUT', `/v1/check-groups/${group.id}`, { body: { activated: true } });
      expect(await nextJobs('browser')).toHaveLength(1);
    });

    test('a response is limited in size: jobs that do not fit are in the next one', async () => {
      const content = 'x'.repeat(1_000_000);
      const dependencies = [1, 2, 3].map((n) => ({ path: `f${n}.js`, content }));
      for (let n = 0; n < 5; n++) await browserCheck({ name: `large ${n}`, dependencies });
      const first = await nextJobs('browser');
      expect(first).toHaveLength(3);
      const agent = await connectAgent(agents.app, office, current);
      const then = await agent.claim(10, { lane: 'browser' });
      expect(new Set([...first, ...then].map(({ jobId }) => jobId)).size).toBe(5);
      expect(await db.query('select distinct deliveries from jobs')).toEqual([{ deliveries: 1 }]);
    });

    test('no statement of a claim returns more than one large text, and a group script is read once', async () => {
      // No compression makes it small.
      const noise = Array.from({ length: 60_000 }, (_, n) => ((n * 7919) % 104_729).toString(36)).join(',');
      const group = await create('/v2/check-groups', { name: 'Large', localSetupScript: `// g ${noise}` });
      for (let n = 0; n < 6; n++) {
        await apiCheck({ name: `large ${n}`, groupId: group.id, localTearDownScript: `// ${n} ${noise}` });
      }
      const agent = await connectAgent(agents.app, office, current);
      clock.advance(minute);
      await agents.scheduler.tick();
      const spy = vi.spyOn(db, 'query');
      const jobs = await agent.claim(10, { lane: 'uptime' });
      const sizes = spy.mock.settledResults.map(({ value }) => JSON.stringify(value ?? null).length);
      spy.mockRestore();
      expect(jobs).toHaveLength(6);
      for (const { checkName, scripts } of jobs) {
        const teardown = [{ content: `// ${String(checkName).slice(-1)} ${noise}` }];
        expect(scripts).toMatchObject({ setup: [{ content: `// g ${noise}` }], teardown });
      }
      expect(sizes.filter((size) => size > noise.length)).toHaveLength(7);
      expect(Math.max(...sizes)).toBeLessThan(1.5 * noise.length);
    });

    test('a missing snippet ends the run with a clear reason, and affects no other run', async () => {
      const { id } = await create('/v1/snippets', { name: 'gone', script: 'x' });
      await apiCheck({ name: 'Broken', setupSnippetId: id });
      await apiCheck({ name: 'Sound' });
      await db.query('delete from snippets');
      const jobs = await nextJobs('uptime');
      expect(jobs.map(({ checkName }) => checkName)).toEqual(['Sound']);
      expect(await results()).toEqual([
        {
          status: 'errored',
          reason: { code: 'INVALID_JOB', owner: 'ours', message: `the snippet ${id} does not exist` },
        },
      ]);
    });
  });
});
