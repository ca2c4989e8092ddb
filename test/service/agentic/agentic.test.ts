import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readAnalysisConfig, type AnalysisConfig } from '../../../src/config/analysis.ts';
import { openPage } from '../../../src/service/agentic/browser.ts';
import { createAgenticSchedule, handleAgenticRuns } from '../../../src/service/agentic/run-checks.ts';
import { createBackground, type Background } from '../../../src/service/background.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createEncryption } from '../../../src/service/encryption.ts';
import { addCheck, createClock, silent } from '../../helpers/agent-service.ts';
import { databases } from '../../helpers/database.ts';
import { startModel, type TestModel } from '../../helpers/model-endpoint.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service.ts';

/** Agentic checks from the schedule to the result: a real page in a real browser, and a peer for the model. */

const [database] = databases;
const start = Date.parse('2026-03-01T12:00:00Z');
const secret = 'the-secret-of-ann-7';
const encryption = createEncryption('a key for tests of agentic checks');

const hasBrowser = await openPage(null).then(
  async ({ close }) => {
    await close();
    return true;
  },
  () => {
    process.stderr.write('skipped here: agentic checks in a browser, which this machine does not have\n');
    return false;
  },
);

describe('agentic checks', () => {
  const clock = createClock(start);
  let db: Db;
  let model: TestModel;
  let background: Background;
  let service: TestService;
  let shop: Server;
  let button = 'Sign in';
  let checkId = '';
  const unset = readAnalysisConfig({});
  let config: AnalysisConfig = unset;
  let url = '';

  beforeAll(async () => {
    db = await database!.open();
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
        document.body.append('Welcome, ' + document.getElementById('password').value)">${button}</button>`);
    });
    await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/`; // it listens on TCP
    background = createBackground({ db, log: silent });
    handleAgenticRuns(background, {
      db,
      encryption,
      now: clock.now,
      config: {
        ...unset,
        endpoint: model.endpoint,
        get agenticBrowser() {
          return config.agenticBrowser;
        },
      },
    });
    await background.prepare();
    service = await startTestService(db, { now: clock.now, background, encryption });
  });
  beforeEach(async () => {
    config = unset;
    button = 'Sign in';
    model.asked.length = 0;
    model.answers.length = 0;
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
    await service.close();
    await background.stop();
    await model.close();
    await new Promise((resolve) => shop.close(resolve));
    await database!.close();
  });

  /** The next run that is due; its result. */
  async function run(): Promise<Fields & { details: Fields & { steps: Fields[] } }> {
    clock.advance(5 * 60_000);
    await db.query('update checks set activated = false where id <> $1', [checkId]);
    await createAgenticSchedule({ db, background, now: clock.now, log: silent }).tick();
    await background.tick();
    const { body } = await service.call<(Fields & { details: Fields & { steps: Fields[] } })[]>(
      'GET',
      `/v1/check-results/${checkId}`,
    );
    return body[0]!;
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
      expect(JSON.stringify([first, model.asked.map(({ body }) => body)])).not.toContain(secret);

      const second = await run();
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
    'an assertion that does not hold fails the check; addresses of clouds are not visited',
    async () => {
      model.answers.push(
        [{ name: 'navigate', arguments: { url: 'http://169.254.169.254/latest' } }],
        [{ name: 'navigate', arguments: { url: 'file:///etc/passwd' } }],
        [
          { name: 'navigate', arguments: { url } },
          { name: 'assert', arguments: { condition: 'it says so', expected: 'Goodbye' } },
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

  test.skipIf(!hasBrowser)('a model that fails is our own error', async () => {
    model.answers.push(500);
    expect(await run()).toMatchObject({
      status: 'errored',
      hasErrors: true,
      reason: { code: 'INTERNAL', owner: 'ours' },
    });
  });

  test('without a browser the result says so', async () => {
    expect(existsSync('/nowhere/chromium')).toBe(false);
    config = { ...unset, agenticBrowser: '/nowhere/chromium' };
    expect(await run()).toMatchObject({
      status: 'errored',
      reason: { code: 'BROWSER_UNAVAILABLE', owner: 'ours' },
    });
    expect(model.asked).toHaveLength(0);
  });
});
