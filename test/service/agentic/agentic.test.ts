import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readAnalysisConfig, type AnalysisConfig } from '../../../src/config/analysis.ts';
import { toError } from '../../../src/errors.ts';
import { openBrowser } from '../../../src/service/agentic/browser.ts';
import { usualLimits } from '../../../src/service/agentic/perform.ts';
import { createAgenticChecks, type AgenticChecks } from '../../../src/service/agentic/run-checks.ts';
import { storeRunFiles } from '../../../src/service/agentic/run-files.ts';
import { createArtifactFiles, type ArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import { createEncryption } from '../../../src/service/engine/encryption.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { addCheck, createClock, silent } from '../../helpers/service/agent-service.ts';
import { builtProgram } from '../../helpers/build.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startModel, type TestModel } from '../../helpers/service/model-endpoint.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { addWindow } from '../maintenance/window-rows.ts';

/** Agentic checks from the schedule to the result: a real page in a real browser, and a peer for the model. */

const start = Date.parse('2026-03-01T12:00:00Z');
const secret = 'the-secret-of-ann-7';
const encryption = createEncryption('a key for tests of agentic checks');

// The browser's process is a compiled file.
await builtProgram();
const hasBrowser = await openBrowser(null).then(
  async ({ close }) => {
    await close();
    return true;
  },
  () => {
    process.stderr.write('skipped here: agentic checks in a browser, which this machine does not have\n');
    return false;
  },
);

type Result = Fields & { details: Fields & { steps: Fields[] } };

describe('agentic checks', { timeout: 120_000 }, () => {
  const clock = createClock(start);
  const unset = readAnalysisConfig({});
  let limits = usualLimits;
  let db: Db;
  let model: TestModel;
  let checks: AgenticChecks;
  let service: TestService;
  let shop: Server;
  let button = 'Sign in';
  let checkId = '';
  let config: AnalysisConfig = unset;
  let url = '';
  let folder = '';
  let stored: ArtifactFiles;
  let files: ArtifactFiles;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agentic-files-'));
    db = await anyDatabase.open();
    model = await startModel();
    shop = createServer((request, response) => {
      if (request.url === '/redirect')
        return response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end();
      response.setHeader('content-type', 'text/html');
      if (request.url === '/huge') {
        return response.end(`<title>${'t'.repeat(100_000)}</title>\u0000<script>
          for (let n = 0; n < 20; n++) window.open('/');
          document.write('much '.repeat(1_000_000));</script>`);
      }
      return response.end(`<title>Shop</title><input id="password"><button onclick="
        setTimeout(() => document.body.append('Welcome, ' + document.getElementById('password').value), 300)">${button}</button>`);
    });
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/`; // it listens on TCP
    checks = createAgenticChecks({
      db,
      encryption,
      now: clock.now,
      log: silent,
      partitions: createPartitions(db),
      // As they are when a run begins.
      get config() {
        return config;
      },
      get limits() {
        return limits;
      },
      get files() {
        return files;
      },
    });
    stored = createArtifactFiles(folder);
    service = await startTestService(db, { now: clock.now, encryption, files: stored });
  });
  beforeEach(async () => {
    files = stored;
    config = { ...unset, endpoint: model.endpoint };
    limits = usualLimits;
    button = 'Sign in';
    model.asked.length = 0;
    model.answers.length = 0;
    await db.query('update checks set activated = false');
    const variable = { key: 'PASSWORD', value: encryption.seal(secret), locked: false, secret: true };
    checkId = await addCheck(db, {
      accountId: service.account.id,
      checkType: 'AGENTIC',
      frequency: 5,
      now: clock.now(),
      definition: {
        prompt: 'Sign in with {{PASSWORD}}: the page must welcome Ann.',
        agentRuntime: { skills: [] },
        environmentVariables: [variable],
      },
    });
  });
  afterAll(async () => {
    await checks.stop();
    await service.close();
    await model.close();
    shop.closeAllConnections();
    await new Promise((resolve) => shop.close(resolve));
    await anyDatabase.close();
    await rm(folder, { recursive: true, force: true });
  });

  const results = async (query = '') =>
    (await service.call<Result[]>('GET', `/v1/check-results/${checkId}${query}`)).body;
  async function untilDue(): Promise<void> {
    const [row] = await db.query<{ at: Date }>('select next_due_at as at from checks where id = $1', [
      checkId,
    ]);
    clock.set(row!.at.getTime() + 1_000);
  }
  /** The next run that is due; its result. */
  async function run(): Promise<Result> {
    await untilDue();
    await checks.tick();
    await checks.idle();
    return (await results())[0]!;
  }
  const does = (label: string) => [
    [
      { name: 'navigate', arguments: { url } },
      { name: 'type', arguments: { selector: '#password', text: '{{PASSWORD}}' } },
    ],
    [
      { name: 'click', arguments: { selector: `text="${label}"` } },
      { name: 'read', arguments: {} },
    ],
    [{ name: 'assert', arguments: { condition: 'the page welcomes', expected: 'Welcome, {{PASSWORD}}' } }],
    [{ name: 'finish', arguments: { summary: 'signed in', done: 'yes' } }],
  ];

  test.skipIf(!hasBrowser)(
    'the first run finds a script, later ones replay it and heal it, and nothing secret is told',
    async () => {
      model.answers.push(...does('Sign in'));
      const first = await run();
      expect(first).toMatchObject({
        status: 'passed',
        checkType: 'AGENTIC',
        runLocation: 'service',
        reason: null,
      });
      expect(first.details).toMatchObject({
        summary: 'signed in',
        errors: [],
        assertions: [{ condition: 'the page welcomes', passed: true, expected: 'Welcome, {{PASSWORD}}' }],
      });
      expect(first.details.steps[0]).toMatchObject({
        type: 'tool_call',
        name: 'navigate',
        sequenceNumber: 1,
      });
      expect(model.asked).toHaveLength(4);
      const whole = await service.call('GET', `/v1/check-results/${checkId}/${String(first['id'])}`);
      expect(whole.body['agenticCheckResult']).toEqual({
        summary: 'signed in',
        prompt: 'Sign in with {{PASSWORD}}: the page must welcome Ann.',
        assertions: first.details['assertions'],
        suggestions: [],
        steps: first.details.steps,
        errors: [],
        artifactManifest: {
          'screenshot.jpg': 'The page as the run left it',
          'script.json': 'The actions of the run, which later runs do again',
        },
      });
      const [picture, script] = await Promise.all(
        (whole.body['artifacts'] as { url: string }[]).map(async (artifact) => {
          const answer = await fetch(artifact.url, {
            headers: { authorization: `Bearer ${service.account.key}` },
          });
          return Buffer.from(await answer.arrayBuffer());
        }),
      );
      expect(picture!.subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]));
      expect(JSON.parse(script!.toString())).toEqual([
        { tool: 'navigate', input: { url } },
        { tool: 'type', input: { selector: '#password', text: '{{PASSWORD}}' } },
        { tool: 'click', input: { selector: 'text="Sign in"' } },
        expect.objectContaining({ tool: 'assert' }),
      ]);
      expect(JSON.stringify([first, whole.body, model.asked.map(({ body }) => body)])).not.toContain(secret);

      // A disk that is full costs the files, not the run.
      files = createArtifactFiles(folder, { reserveBytes: Number.MAX_SAFE_INTEGER });
      const second = await run();
      files = stored;
      const ofSecond = await service.call('GET', `/v1/check-results/${checkId}/${String(second['id'])}`);
      expect(ofSecond.body).toMatchObject({
        agenticCheckResult: { artifactManifest: {} },
        artifacts: [
          { name: 'screenshot.jpg', state: 'lost', url: null },
          { name: 'script.json', state: 'lost', url: null },
        ],
      });
      expect(second).toMatchObject({ status: 'passed', details: { replayed: true } });
      expect(model.asked).toHaveLength(4);

      button = 'Log in';
      // The old label is waited for in vain before.
      await db.query(
        `update agentic_states set actions = jsonb_set(actions, '{2,input,selector}', '"text=\\"Sign in\\" >> nth=0 >> css=x:bad("') where check_id = $1`,
        [checkId],
      );
      model.answers.push(...does('Log in'));
      expect(await run()).toMatchObject({ status: 'passed', details: { replayed: false } });
      expect(await run()).toMatchObject({ status: 'passed', details: { replayed: true } });
      expect(model.asked).toHaveLength(8);
    },
  );

  test.skipIf(!hasBrowser)(
    'an assertion that does not hold fails the check; what is lacking is suggested; addresses of clouds are not visited',
    async () => {
      await db.query(
        `update checks set definition = definition || '{"prompt": "Open {{SHOP}} and sign in as ann."}' where id = $1`,
        [checkId],
      );
      const suggestion = {
        category: 'configuration',
        summary: 'The shop has no accounts.',
        prompt: 'sign in as ann',
        promptReplacement: 'look at the title',
        secrets: 'ANN_PASSWORD, not a name!',
      };
      model.answers.push(
        [{ name: 'navigate', arguments: { url: 'http://169.254.169.254/latest' } }],
        [{ name: 'navigate', arguments: { url: 'file:///etc/passwd' } }],
        [
          { name: 'navigate', arguments: { url } },
          { name: 'assert', arguments: { condition: 'it says so', expected: 'Goodbye' } },
          { name: 'suggest', arguments: suggestion },
          { name: 'suggest', arguments: { ...suggestion, category: 'money' } },
        ],
        [{ name: 'finish', arguments: { summary: 'it does not say so', done: 'yes' } }],
      );
      const result = await run();
      expect(result).toMatchObject({
        status: 'failed',
        hasFailures: true,
        reason: { code: 'ASSERTION_FAILED' },
      });
      const outputs = result.details.steps
        .filter(({ type }) => type === 'tool_result')
        .map(({ output }) => String(output));
      expect(outputs.slice(0, 2)).toEqual([
        expect.stringContaining('failed'),
        'failed: the URL must begin with http:// or https://',
      ]);
      expect(result.details['suggestions']).toEqual([
        {
          category: 'credentials',
          summary: expect.stringContaining('{{SHOP}}') as string,
          prompt: '{{SHOP}}',
          promptReplacement: null,
          secrets: ['SHOP'],
        },
        { ...suggestion, secrets: ['ANN_PASSWORD', 'not', 'a'] },
      ]);
    },
  );

  test.skipIf(!hasBrowser)('redirects are looked at too; what a page says is bounded', async () => {
    model.answers.push(
      [
        { name: 'navigate', arguments: { url: `${url}redirect` } },
        { name: 'navigate', arguments: { url: `${url}huge` } },
        { name: 'read', arguments: {} },
      ],
      [{ name: 'finish', arguments: { summary: 'nothing', done: 'no' } }],
    );
    const { status, details } = await run();
    expect(status).toBe('failed');
    const [redirected] = details.steps.filter(({ type }) => type === 'tool_result');
    // It is the proxy that has answered.
    expect(redirected?.['output']).toContain('ERR_HTTP_RESPONSE_CODE_FAILURE');
    expect(JSON.stringify(model.asked.at(-1)!.body).length).toBeLessThan(20_000);
  });

  test.skipIf(!hasBrowser).each([
    ['a model that fails', () => [500], { status: 'errored', reason: { code: 'INTERNAL', owner: 'ours' } }],
    [
      'a run that takes too long',
      () => {
        // Enough for the browser's start on a busy machine.
        limits = { ...usualLimits, runMs: 8_000 };
        return [[{ name: 'navigate', arguments: { url } }], { silence: true as const }];
      },
      {
        status: 'failed',
        reason: { code: 'TIMEOUT', message: 'the task was not done within 8 s' },
        artifacts: [{ name: 'screenshot.jpg', type: 'screenshot', state: 'stored' }],
      },
    ],
    [
      'too many tokens',
      () => [{ content: 'I think.', tokens: usualLimits.tokens + 1 }],
      {
        status: 'failed',
        reason: { code: 'TEST_FAILED', message: expect.stringContaining('200000 tokens') as string },
      },
    ],
    [
      'too many turns',
      () => {
        limits = { ...usualLimits, turns: 3 };
        return ['I think.', 'I think on.', 'And on.', 'On.'];
      },
      {
        status: 'failed',
        reason: { code: 'TEST_FAILED', message: expect.stringContaining('3 turns') as string },
      },
    ],
  ])('%s ends the run', async (_what, answers, expected) => {
    model.answers.push(...answers());
    expect(await run()).toMatchObject(expected);
    expect(model.answers.length).toBeLessThanOrEqual(1);
  });

  test.skipIf(!hasBrowser)(
    'the browser has nothing of our environment; one that dies is our own error',
    async () => {
      const { page, close } = await openBrowser(null);
      try {
        await page.goto(url);
        const own = descendants().filter((pid) => commandOf(pid) !== '');
        expect(own.some((pid) => commandOf(pid).includes('browser-main'))).toBe(true);
        for (const pid of own) expect(environmentOf(pid)).not.toMatch(/VITEST|npm_|SERVICE_|ANALYSIS_/);
      } finally {
        await close();
      }
      await expect(page.goto(url)).rejects.toThrow('the browser has ended');
      expect(descendants().filter((pid) => /browser-main|chrom/.test(commandOf(pid)))).toEqual([]);
    },
  );

  test.skipIf(!hasBrowser)('a screenshot shows no secret, wherever the page has it', async () => {
    const { page, close } = await openBrowser(null);
    const places = (word: string) => [
      `<p>It is ${word}.</p>`,
      `<input value="${word}">`,
      `<textarea>${word}</textarea>`,
      `<select><option>${word}</option></select>`,
      `<div contenteditable>${word}</div>`,
      `<iframe srcdoc="<p>It is ${word}.</p>"></iframe>`,
    ];
    const pictureOf = async (html: string, secrets: string[]) => {
      await page.goto(`data:text/html,<style>* { font: 16px monospace }</style>${encodeURIComponent(html)}`);
      return page.screenshot(secrets);
    };
    try {
      const others = places('swallow');
      for (const [index, html] of places('dolphin').entries()) {
        const secrets = ['dolphin', 'swallow'];
        const isSame = async (masked: string[]) =>
          (await pictureOf(html, masked)) === (await pictureOf(others[index]!, masked));
        expect([html, await isSame([]), await isSame(secrets)]).toEqual([html, false, true]);
      }
    } finally {
      await close();
    }
  });

  test.skipIf(!hasBrowser)(
    'a session that is cancelled stops the run, whose result tells what it did',
    async () => {
      model.answers.push([{ name: 'navigate', arguments: { url } }], { silence: true });
      const { body } = await service.call<{ sessions: Fields[] }>('POST', '/v2/check-sessions/trigger', {
        body: { target: { checkId: [checkId] } },
      });
      const id = String(body.sessions[0]!['checkSessionId']);
      await checks.tick();
      await expect.poll(() => model.asked.length, { timeout: 30_000 }).toBe(2);
      expect((await service.call('GET', `/v2/check-sessions/${id}`)).body).toMatchObject({
        status: 'PROGRESS',
        inProgress: [{ checkType: 'AGENTIC', state: 'RUNNING', runLocation: 'service' }],
      });
      expect((await service.call('POST', `/v2/check-sessions/${id}/cancel`)).status).toBe(204);
      await checks.idle();
      expect((await service.call('GET', `/v2/check-sessions/${id}`)).body).toMatchObject({
        status: 'CANCELLED',
      });
      const [result] = await results();
      expect(result).toMatchObject({ status: 'cancelled', isCancelled: true, reason: { code: 'CANCELLED' } });
      expect(result?.details.steps.length).toBeGreaterThan(0);
    },
  );

  test('files that are being stored when the service stops are lost, and hold it up no longer', async () => {
    const stopping = new AbortController();
    const hanging: ArtifactFiles = {
      ...stored,
      write: (_id, { signal }) =>
        new Promise((_, reject) => {
          signal.throwIfAborted();
          signal.addEventListener('abort', () => reject(toError(signal.reason)));
          stopping.abort(new Error('the service stops'));
        }),
    };
    const deps = { db, files: hanging, now: clock.now, log: silent, signal: stopping.signal };
    const of = { accountId: service.account.id, jobId: uuidv7(), leaseToken: uuidv7() };
    const file = { name: 'script.json', type: 'file', contentType: 'application/json' } as const;
    const bytes = Buffer.from('[]');
    const left = await storeRunFiles(deps, of, [
      { ...file, bytes },
      { ...file, name: 'another.json', bytes },
    ]);
    expect(left.map(({ name, state }) => [name, state])).toEqual([
      ['script.json', 'lost'],
      ['another.json', 'lost'],
    ]);
  });

  test('without a browser the result says so', async () => {
    expect(existsSync('/nowhere/chromium')).toBe(false);
    config = { ...config, agenticBrowser: '/nowhere/chromium' };
    expect(await run()).toMatchObject({
      status: 'errored',
      reason: { code: 'BROWSER_UNAVAILABLE', owner: 'ours' },
    });
    expect(model.asked).toHaveLength(0);
  });

  describe('without a model', () => {
    beforeEach(() => {
      config = unset;
    });
    const errored = { status: 'errored', reason: { code: 'TYPE_UNAVAILABLE', owner: 'ours' } };

    test('the result says so', async () => {
      const result = await run();
      expect(result).toMatchObject({ ...errored, hasErrors: true });
      expect(String(result.details['errors'])).toContain('ANALYSIS_API_URL');
    });

    test('a check session runs the check now and ends with it', async () => {
      const triggered = await service.call<{ sessions: Fields[] }>('POST', '/v2/check-sessions/trigger', {
        body: { target: { checkId: [checkId] } },
      });
      expect(triggered).toMatchObject({
        status: 201,
        body: { sessions: [{ checkType: 'AGENTIC', status: 'STARTED', runLocations: ['service'] }] },
      });
      const id = String(triggered.body.sessions[0]!['checkSessionId']);
      const waiting = service.call('GET', `/v2/check-sessions/${id}/completion?maxWaitSeconds=20`);
      await checks.tick();
      await checks.idle();
      expect(await waiting).toMatchObject({
        status: 200,
        body: {
          status: 'FAILED',
          results: [{ checkId, hasErrors: true, runLocation: 'service' }],
          inProgress: [],
        },
      });
      expect(await service.call('GET', `/v1/check-statuses/${checkId}`)).toMatchObject({
        body: { hasErrors: true },
      });
    });

    test('a trigger has a token for it', async () => {
      expect((await service.call('POST', `/v1/triggers/checks/${checkId}`)).status).toBe(201);
    });

    test('a test session tries it out, switched off too, and leaves its status alone', async () => {
      await db.query('update checks set activated = false where id = $1', [checkId]);
      const target = { checkId: [checkId], allowDeactivated: true };
      const { body } = await service.call('POST', '/v1/test-sessions/trigger', {
        body: { name: 'try', target },
      });
      await checks.tick();
      await checks.idle();
      expect(
        (await service.call('GET', `/v1/test-sessions/${String(body['testSessionId'])}`)).body,
      ).toMatchObject({
        status: 'FAILED',
        results: [{ checkId, hasErrors: true }],
      });
      expect((await service.call('GET', `/v1/check-statuses/${checkId}`)).status).toBe(404);
    });

    test('a run that waits is cancelled at once; one whose check is deleted ends its session', async () => {
      const trigger = async () => {
        const { body } = await service.call<{ sessions: Fields[] }>('POST', '/v2/check-sessions/trigger', {
          body: { target: { checkId: [checkId] } },
        });
        return String(body.sessions[0]!['checkSessionId']);
      };
      const first = await trigger();
      await service.call('POST', `/v2/check-sessions/${first}/cancel`);
      expect((await service.call('GET', `/v2/check-sessions/${first}`)).body).toMatchObject({
        status: 'CANCELLED',
      });
      const second = await trigger();
      expect((await service.call('DELETE', `/v1/checks/${checkId}`)).status).toBe(204);
      expect((await service.call('GET', `/v2/check-sessions/${second}`)).body).toMatchObject({
        status: 'CANCELLED',
      });
      await checks.tick();
      await checks.idle();
    });

    test('a replica that is gone loses no run; one that nobody begins is missed', async () => {
      await untilDue();
      const begun = () => db.query<{ id: string }>(`select id from agentic_runs where state = 'running'`);
      await checks.tick();
      await checks.idle();
      expect(await results()).toHaveLength(1);
      // As a replica leaves it that is killed.
      await untilDue();
      const stopped = createAgenticChecks({
        db,
        encryption,
        now: clock.now,
        log: silent,
        partitions: createPartitions(db),
        files,
        get config(): AnalysisConfig {
          throw new Error('it dies here');
        },
      });
      await stopped.tick();
      await stopped.idle();
      expect(await begun()).toHaveLength(1);
      await checks.tick();
      expect(await begun()).toHaveLength(1);
      clock.advance(31_000);
      await checks.tick();
      await checks.idle();
      expect(await begun()).toEqual([]);
      const after = await results();
      expect(after).toHaveLength(2);
      expect(after[0]).toMatchObject(errored);

      await db.query(
        `insert into agentic_runs (id, run_id, sequence_id, account_id, check_id, due_at, expires_at)
         select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), account_id, id, $2, $3 from checks where id = $1`,
        [checkId, new Date(clock.now() - 360_000), new Date(clock.now() - 1)],
      );
      await checks.tick();
      await checks.idle();
      const missed = (await results('?hasFailures=false')).find(({ status }) => status === 'missed');
      expect(missed).toMatchObject({ reason: { code: 'NOT_CLAIMED' }, details: { count: 1 } });
    });

    test('a check of a group runs by its own places, with the variables of the group, as long as that is on', async () => {
      const { body } = await service.call<{ id: number }>('POST', '/v2/check-groups', {
        body: {
          name: 'Shop',
          tags: ['till'],
          locations: ['eu-west-1'],
          environmentVariables: [{ key: 'SHOP', value: 'https://shop.example/' }],
        },
      });
      await db.query(
        `update checks set group_id = $2, definition = definition || '{"prompt": "Open {{SHOP}} with {{PASSWORD}}."}'
         where id = $1`,
        [checkId, body.id],
      );
      // Without a suggestion: the variable is there.
      const of = { runLocation: 'service', details: { suggestions: [] } };
      expect(await run()).toMatchObject({ ...errored, ...of });
      await untilDue();
      await db.query('update check_groups set activated = false');
      await checks.tick();
      await checks.idle();
      expect(await results()).toHaveLength(1);
      expect(await db.query('select 1 from agentic_runs')).toEqual([]);
      await db.query('update check_groups set activated = true');
      await run();
      expect(await results()).toHaveLength(2);
      // A window for a tag of the group pauses it, which is no run that was missed.
      await addWindow(db, service.account.id, {
        now: clock.now(),
        startsAt: new Date(clock.now()).toISOString(),
        endsAt: new Date(clock.now() + 600_000).toISOString(),
        tags: ['till'],
      });
      await run();
      expect(await results()).toHaveLength(2);
      await db.query('delete from maintenance_windows');
    });

    test('a check that is switched off while it waits is not run', async () => {
      clock.advance(5 * 60_000);
      await db.query(
        `insert into agentic_runs (id, run_id, sequence_id, account_id, check_id, due_at, expires_at)
         select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), account_id, id, $2, $3 from checks where id = $1`,
        [checkId, new Date(clock.now()), new Date(clock.now() + 360_000)],
      );
      await db.query('update checks set activated = false where id = $1', [checkId]);
      await checks.tick();
      await checks.idle();
      expect(await results()).toEqual([]);
      expect(await db.query('select 1 from agentic_runs')).toEqual([]);
    });
  });
});

/** Processes below this one. */
function descendants(): number[] {
  const rows = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found = new Set([process.pid]);
  for (let grew = true; grew;) {
    grew = false;
    for (const [pid = 0, parent = 0] of rows) {
      if (found.has(parent) && !found.has(pid)) {
        found.add(pid);
        grew = true;
      }
    }
  }
  found.delete(process.pid);
  return [...found];
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', '\n');
  } catch {
    return '';
  }
}
const commandOf = (pid: number) => readProc(pid, 'cmdline');
const environmentOf = (pid: number) => readProc(pid, 'environ');
