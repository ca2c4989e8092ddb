import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { grade } from '../../src/agent/run/grade.ts';
import { InvalidJobError, JobAborted } from '../../src/errors.ts';
import { runtimeId, scriptProcesses, startScripted, type Scripted } from '../helpers/scripts/api-scripts.ts';
import { pair, variable } from '../helpers/network/http.ts';
import { runtimesHere } from '../helpers/scripts/runtimes.ts';
import { closedPort } from '../helpers/network/closed-port.ts';

let scripted: Scripted;

const asserting = (source: 'STATUS_CODE' | 'JSON_BODY' | 'TEXT_BODY', property: string, target: string) => ({
  source,
  property,
  comparison: 'EQUALS' as const,
  target,
  regex: null,
});

const failure = (code: string, message: string | RegExp) => ({
  ok: false,
  reason: {
    code,
    owner: 'script',
    message: typeof message === 'string' ? message : expect.stringMatching(message),
  },
});

describe.skipIf(runtimesHere.length === 0)('setup and teardown of API checks', () => {
  beforeAll(async () => {
    scripted = await startScripted();
  });
  afterAll(async () => {
    await scripted.close();
    expect(scriptProcesses()).toEqual([]);
  });
  beforeEach(() => {
    scripted.seen.length = 0;
  });

  describe('order, and data passed from one script to the next', () => {
    test('group setup, check setup, request, check teardown, group teardown, assertions', async () => {
      const step = (name: string) => `process.env.STEPS = (process.env.STEPS ?? '') + '${name} ';`;
      const outcome = await scripted.run(
        {
          groupSetup: step('one'),
          setup: step('two'),
          teardown: step('three'),
          groupTeardown: `${step('four')} response.body = JSON.stringify({ steps: process.env.STEPS.trim() });`,
        },
        {
          request: {
            headers: [pair('x-steps', '{{{STEPS}}}')],
            assertions: [asserting('JSON_BODY', '$.steps', 'one two three four')],
          },
        },
      );
      expect(outcome.base).toEqual({ ok: true });
      expect(outcome.assertions).toMatchObject([{ actual: 'one two three four', error: null }]);
      expect(scripted.seen.map(({ headers }) => headers['x-steps'])).toEqual(['one two']);
    });

    test('variables that setup writes and deletes feed every template', async () => {
      await scripted.run(
        { setup: `process.env.TOKEN = 'a b'; process.env.NUMBER = 5; delete process.env.GONE;` },
        {
          request: {
            url: `${scripted.url}/{{TOKEN}}/{{NUMBER}}`,
            method: 'POST',
            bodyType: 'RAW',
            body: '{{{TOKEN}}}[{{GONE}}][{{KEPT}}]',
            queryParameters: [pair('q', '{{TOKEN}}')],
          },
          job: { environmentVariables: [variable('GONE', 'x'), variable('KEPT', 'k')] },
        },
      );
      expect(scripted.seen).toMatchObject([{ url: '/a%20b/5?q=a%20b', body: 'a b[][k]' }]);
    });

    test('one process serves all scripts of a run, another the next run', async () => {
      const count = 'globalThis.count = (globalThis.count ?? 0) + 1; console.log(globalThis.count);';
      const texts = { groupSetup: count, setup: count, teardown: count, groupTeardown: count };
      const lines = ['info setup: 1', 'info setup: 2', 'info teardown: 3', 'info teardown: 4'];
      expect((await scripted.run(texts)).lines).toEqual(lines);
      expect((await scripted.run(texts)).lines).toEqual(lines);
    });

    test('console lines are part of the log, with phase and level', async () => {
      const { lines } = await scripted.run({
        setup: `console.log('a %d', 1, { b: 2 }); console.debug('d'); console.warn('w'); console.error(new Error('e').message)`,
        teardown: `console.info('i')`,
      });
      expect(lines).toEqual([
        'info setup: a 1 { b: 2 }',
        'debug setup: d',
        'warn setup: w',
        'error setup: e',
        'info teardown: i',
      ]);
    });
  });

  describe('the request', () => {
    test('setup sees the check’s own fields and may change each of them', async () => {
      const outcome = await scripted.run(
        {
          setup: `
            console.log(JSON.stringify(request));
            request.method = 'put';
            request.url += 'changed';
            request.body = JSON.stringify({ at: 'setup' });
            request.headers['x-new'] = 7;
            delete request.headers['x-old'];
            request.queryParameters.page = '{{PAGE}}';
            process.env.PAGE = '2';`,
        },
        { request: { headers: [pair('x-old', 'o')], queryParameters: [pair('a', 'b')], method: 'GET' } },
      );
      const given = {
        method: 'GET',
        url: `${scripted.url}/`,
        body: '',
        headers: { 'x-old': 'o' },
        queryParameters: { a: 'b' },
      };
      expect(outcome.lines).toEqual([`info setup: ${JSON.stringify(given)}`]);
      expect(scripted.seen).toMatchObject([
        { method: 'PUT', url: '/changed?a=b&page=2', body: '{"at":"setup"}', headers: { 'x-new': '7' } },
      ]);
      expect(scripted.seen[0]?.headers['x-old']).toBeUndefined();
    });

    test('headers that setup does not change are sent unchanged, including repeated ones', async () => {
      await scripted.run({ setup: '' }, { request: { headers: [pair('x-r', '1'), pair('x-r', '2')] } });
      expect(scripted.seen[0]?.headers['x-r']).toBe('1, 2');
    });

    test('teardown sees the sent request and cannot change it', async () => {
      const { lines } = await scripted.run(
        {
          teardown: `request.url = 'x'; request.headers.h = 'x';
            console.log(request.method, request.url, request.body, request.headers.h, request.queryParameters.q, REQUEST_URL)`,
        },
        {
          request: {
            method: 'POST',
            bodyType: 'RAW',
            body: 'sent {{V}}',
            headers: [pair('h', '{{V}}')],
            queryParameters: [pair('q', '{{V}}')],
          },
          job: { environmentVariables: [variable('V', 'v')] },
        },
      );
      const url = `${scripted.url}/?q=v`;
      expect(lines).toEqual([`info teardown: POST ${url} sent v v v ${url}`]);
    });

    test.each([
      ['request = null', 'request must be an object, not null'],
      ['request.method = 5', 'request.method must be a string, not a number'],
      ['request.method = "FETCH"', 'request.method is "FETCH" after the setup scripts; use one of GET'],
      ['request.url = undefined', 'request.url must be a string, not a undefined'],
      ['request.body = { a: 1 }', 'request.body must be a string, not an object; use JSON.stringify'],
      ['request.headers = "a: b"', 'request.headers must be an object of names and strings'],
      ['request.headers.a = { b: 1 }', 'request.headers["a"] must be a string, not an object'],
      ['request.queryParameters = [1]', 'request.queryParameters must be an object'],
      ['request.body = "x".repeat(300000)', 'body has 300000 bytes after the script; the limit is 262144'],
      ['process.env.BIG = "x".repeat(300000)', 'the variables that the script wrote to process.env has 30'],
    ])('%s is refused', async (setup, message) => {
      const { base } = await scripted.run({ setup });
      expect(base).toMatchObject({ ok: false, reason: { code: 'SCRIPT_INVALID' } });
      expect(base.ok ? '' : base.reason.message).toContain(message);
      expect(scripted.seen).toEqual([]);
    });
  });

  describe('the response', () => {
    test('teardown sees the complete response and can change only the body', async () => {
      const outcome = await scripted.run(
        {
          teardown: `
            response.statusCode = 500; response.headers['content-type'] = 'text/plain';
            console.log(response.statusCode, response.statusText, response.headers['content-type'], response.headers['x-two']);
            console.log(Object.keys(response.timings).join(), Object.keys(response.timingPhases).join());
            const { list } = JSON.parse(response.body);
            response.body = JSON.stringify({ sum: list.reduce((a, b) => a + b), text: 'é' });`,
        },
        {
          request: {
            assertions: [
              asserting('JSON_BODY', '$.sum', '6'),
              asserting('TEXT_BODY', '', '{"sum":6,"text":"é"}'),
              asserting('STATUS_CODE', '', '200'),
            ],
          },
        },
      );
      expect(outcome.lines).toEqual([
        "info teardown: 200 OK application/json [ 'a', 'b' ]",
        'info teardown: socket,lookup,connect,response,end wait,dns,tcp,firstByte,download,total',
      ]);
      expect(outcome.assertions.map(({ error }) => error)).toEqual([null, null, null]);
      expect(outcome.details['response']).toMatchObject({ status: 200, body: '{"sum":6,"text":"é"}' });
    });

    test('a body is decoded by its charset, and a body written by a script is UTF-8', async () => {
      const outcome = await scripted.run(
        { teardown: `response.body += ' ✓'` },
        { request: { url: `${scripted.url}/latin`, assertions: [asserting('TEXT_BODY', '', 'café ✓')] } },
      );
      expect(outcome.assertions).toMatchObject([{ error: null }]);
    });

    test('of a large body scripts see 256 KB, assertions all of it', async () => {
      const outcome = await scripted.run(
        { teardown: 'console.log(response.body.length)' },
        {
          request: {
            url: `${scripted.url}/text/400000`,
            assertions: [asserting('TEXT_BODY', 'E$', 'E')],
          },
        },
      );
      expect(outcome.lines).toEqual([
        'warn teardown: the scripts see the first 262144 of 400000 bytes of the body',
        'info teardown: 262144',
      ]);
      expect(outcome.assertions).toMatchObject([{ error: null }]);
    });

    test('without a response, teardown does not run and the target’s failure is reported', async () => {
      const port = await closedPort();
      const outcome = await scripted.run(
        { teardown: `console.log('ran')` },
        { request: { url: `http://127.0.0.1:${port}/` } },
      );
      expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'ECONNREFUSED' } });
      expect(outcome.lines).toEqual([]);
    });
  });

  describe('a script that fails', () => {
    test('in setup: no request, no further script, no assertions; shouldFail changes nothing', async () => {
      const outcome = await scripted.run(
        {
          groupSetup: `\n\nthrow new TypeError('no token')`,
          setup: `console.log('second')`,
          teardown: `console.log('teardown')`,
        },
        { request: { assertions: [asserting('STATUS_CODE', '', '200')] } },
      );
      const message = "the group's setup script threw TypeError: no token (line 3)";
      expect(outcome).toEqual({
        base: failure('SCRIPT_THREW', message),
        responseTime: 0,
        timings: null,
        assertions: [],
        details: {
          request: { method: 'GET', url: `${scripted.url}/` },
          response: null,
          hops: [],
          addresses: [],
          requestError: null,
        },
        lines: [],
        secrets: [],
        withheld: [],
      });
      expect(scripted.seen).toEqual([]);
      const rules = { shouldFail: true, degradedResponseTime: null, maxResponseTime: null };
      expect(grade(rules, outcome)).toMatchObject({ status: 'failed', reason: { code: 'SCRIPT_THREW' } });
    });

    test('in teardown: the other teardown runs, assertions are checked, the result fails', async () => {
      const outcome = await scripted.run(
        { teardown: `response.body = '{}'; null.x`, groupTeardown: `console.log(response.body.length)` },
        { request: { assertions: [asserting('STATUS_CODE', '', '200')] } },
      );
      expect(outcome.base).toEqual(
        failure('SCRIPT_THREW', /^the check's teardown script threw TypeError: .*null.* \(line 1\)$/),
      );
      expect(outcome.lines).toEqual(['info teardown: 26']);
      expect(outcome.assertions).toMatchObject([{ actual: 200, error: null }]);
    });

    test('in a file of the check: its name and line', async () => {
      const { base } = await scripted.run({
        setup: `const auth = require('./snippets/auth.js');\nawait auth();`,
        files: [
          {
            path: 'snippets/auth.js',
            content: `module.exports = async () => {\n  throw new Error('401')\n}`,
          },
        ],
      });
      expect(base).toEqual(
        failure('SCRIPT_THREW', "the check's setup script threw Error: 401 (snippets/auth.js line 2)"),
      );
    });

    test.each([
      ['let x = ;', /setup script is not valid: line 1: SyntaxError: Unexpected token ';'$/],
      [`\nimport axios from 'axios';`, /line 2: SyntaxError: Cannot use import statement.*use require/],
      [`require('left-pad')`, /the package left-pad is not in the runtime .* \(line 1\)$/],
      [`require('./snippets/none')`, /require\('\.\/snippets\/none'\): no such file; the check has none/],
      [`require('../../etc/passwd')`, /no such file/],
      [`require('/etc/passwd')`, /you can require only files of the check and packages/],
      [`require('axios/../../../package.json')`, /only files of the check and packages/],
      [`require('node:child_process')`, /node:child_process is not available in setup and teardown/],
      [`require('fs')`, /the module fs is not available/],
      [`require('net')`, /the module net is not available/],
      [`require('worker_threads')`, /the module worker_threads is not available/],
      [`require('vm')`, /the module vm is not available/],
      [`require('@playwright/test')`, /@playwright\/test is not available.*browser or multi-step/],
    ])('%s is invalid', async (setup, message) => {
      const { base } = await scripted.run({ setup });
      expect(base).toEqual(failure('SCRIPT_INVALID', message));
    });

    test('an error that its own code catches is none', async () => {
      const { base, lines } = await scripted.run({
        setup: `try { require('fs') } catch (error) { console.log(error instanceof Error) }`,
      });
      expect(base).toEqual({ ok: true });
      expect(lines).toEqual(['info setup: true']);
    });

    test('a thrown value that is no Error is shown', async () => {
      const { base } = await scripted.run({ setup: `throw { code: 5 }` });
      expect(base).toEqual(failure('SCRIPT_THREW', "the check's setup script threw { code: 5 }"));
    });
  });

  describe('globals and modules for scripts', () => {
    test('packages of the runtime, built-in modules, own files, top-level await, import()', async () => {
      const { lines, base } = await scripted.run({
        setup: `
          const { z } = require('zod');
          const crypto = require('node:crypto');
          const { join } = require('path/posix');
          const { get } = require('lodash');
          const data = require('./data/list.json');
          const one = require('./lib');
          const axios = (await import('axios')).default;
          const { data: answer } = await axios.get(request.url);
          console.log(z.string().parse('z'), crypto.createHash('sha256').update('a').digest('hex').length, join('a', 'b'));
          console.log(get(data, '0.a'), one.two, one === require('./lib/index.js'), answer.ok, __filename, __dirname);`,
        files: [
          { path: 'data/list.json', content: '[{"a":"A"}]' },
          { path: 'lib/index.js', content: `exports.two = require('../lib/two').value` },
          { path: './lib/two.js', content: `module.exports = { value: 2 }` },
        ],
      });
      expect(base).toEqual({ ok: true });
      expect(lines).toEqual(['info setup: z 64 a/b', 'info setup: A 2 true true /script.js /']);
    });

    test('globals and variables of the run, none of the agent’s', async () => {
      vi.stubEnv('OF_THE_AGENT', 'its own');
      onTestFinished(() => void vi.unstubAllEnvs());
      const { lines } = await scripted.run(
        {
          setup: `console.log(REGION, REQUEST_URL, GROUP_BASE_URL);
            console.log(JSON.stringify(Object.fromEntries(Object.entries(process.env).sort())))`,
        },
        {
          job: {
            groupBaseUrl: 'https://group.example',
            testSession: true,
            environmentVariables: [
              variable('MINE', 'm'),
              variable('EMPTY', ''),
              variable('LD_PRELOAD', '/x.so'),
              variable('__proto__', 'p'),
            ],
          },
        },
      );
      expect(lines[0]).toMatch(/^warn the variable LD_PRELOAD is not passed to scripts/);
      expect(lines[1]).toBe(`info setup: office ${scripted.url}/ https://group.example`);
      expect(JSON.parse(lines[2]?.slice('info setup: '.length) ?? '')).toEqual(
        Object.fromEntries([
          ['CHECK_ID', '00000000-0000-7000-8000-000000000004'],
          ['CHECK_NAME', 'a check'],
          ['CHECK_RESULT_ID', '00000000-0000-7000-8000-000000000001'],
          ['CHECK_RUN_ID', '00000000-0000-7000-8000-000000000002'],
          ['CHECK_TYPE', 'API'],
          ['CI', '1'],
          ['GROUP_BASE_URL', 'https://group.example'],
          ['LANG', 'C.UTF-8'],
          ['MINE', 'm'],
          ['PATH', '/usr/local/bin:/usr/bin:/bin'],
          ['REGION', 'office'],
          ['REQUEST_URL', `${scripted.url}/`],
          ['RUNTIME_VERSION', runtimeId],
          ['SERVICE_CHECK_ID', '00000000-0000-7000-8000-000000000004'],
          ['SERVICE_REGION', 'office'],
          ['SERVICE_RUN', '1'],
          ['SERVICE_RUN_SOURCE', 'SCHEDULER'],
          ['TZ', 'UTC'],
          ['__proto__', 'p'],
        ]),
      );
    });

    test('new secrets are recognised: by the helper, by name, and as new values of secret variables', async () => {
      const { secrets } = await scripted.run(
        {
          setup: `
            const { secret } = require('@location-agent/helpers');
            console.log(secret('from-helper'));
            process.env.SERVICE_SECRET_A = 'by-name';
            process.env = { ...process.env, SERVICE_SECRET_B: 'by-new-object' };
            process.env.PASSWORD = 'new-password';`,
          teardown: `process.env.SERVICE_SECRET_C = 'late'`,
        },
        { job: { environmentVariables: [{ ...variable('PASSWORD', 'old'), secret: true }] } },
      );
      expect(secrets).toEqual([
        'secret()=from-helper',
        'SERVICE_SECRET_A=by-name',
        'SERVICE_SECRET_B=by-new-object',
        'PASSWORD=new-password',
        'SERVICE_SECRET_C=late',
        'PASSWORD=new-password',
      ]);
    });

    test('a file path that leaves the folder fails the run before any script', async () => {
      const { base, lines } = await scripted.run({
        setup: `console.log('ran')`,
        files: [{ path: '../../up.js', content: '' }],
      });
      expect(base).toEqual(
        failure('SCRIPT_INVALID', 'the file path "../../up.js" is invalid: it leaves the script\'s folder'),
      );
      expect(lines).toEqual([]);
    });
  });

  test('more files than pass to a process fail the run before any script', async () => {
    const content = 'x'.repeat(1024 * 1024);
    const files = Array.from({ length: 9 }, (_, index) => ({ path: `${index}.js`, content }));
    const { base } = await scripted.run({ setup: '', files });
    expect(base).toEqual(
      failure('SCRIPT_INVALID', /^files and variables have 94\d+ bytes together; .* is 8388608$/),
    );
  });

  describe('the run around it', () => {
    test('a runtime that is not here is named with those that are', async () => {
      const job = {
        scripts: {
          runtimeId: '1999.01',
          files: [],
          setup: [{ origin: 'check' as const, content: '' }],
          teardown: [],
        },
      };
      const error = await scripted.run({}, { job }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(InvalidJobError);
      expect(error).toMatchObject({
        code: 'RUNTIME_UNAVAILABLE',
        message: expect.stringContaining(runtimeId),
      });
    });

    test.each([
      ['setup', `console.log('here'); for (;;);`],
      ['teardown', `console.log('here'); await new Promise(() => undefined)`],
    ])('cancelled in %s: the process is gone when it rejects', async (phase, text) => {
      const controller = new AbortController();
      const cancelled = new JobAborted('cancelled');
      let before: number[] = [];
      const run = scripted.run(
        { [phase]: text },
        {
          signal: controller.signal,
          onLine: () => {
            before = scriptProcesses();
            controller.abort(cancelled);
          },
        },
      );
      await expect(run).rejects.toBe(cancelled);
      const left = scriptProcesses();
      expect(before.length).toBeGreaterThan(0);
      expect(before.filter((pid) => left.includes(pid)).length).toBeLessThan(before.length);
    });

    test('the deadline in a script is a timeout of the script', async () => {
      const controller = new AbortController();
      const { base } = await scripted.run(
        { setup: `console.log('here'); await new Promise(() => undefined)` },
        { signal: controller.signal, onLine: () => controller.abort(new JobAborted('deadline')) },
      );
      expect(base).toEqual(failure('SCRIPT_TIMEOUT', 'the deadline of the run passed in its setup scripts'));
    });
  });
});
