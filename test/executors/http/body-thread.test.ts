import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { AssertedBody } from '../../../src/executors/http/body-sources.ts';
import type * as threadModule from '../../../src/executors/http/body-thread.ts';
import { evaluateAssertions } from '../../../src/executors/assertions/evaluate.ts';
import { bodySources } from '../../../src/executors/http/body-sources.ts';
import type { Assertion } from '../../../src/protocol/assertions.ts';
import { builtProgram } from '../../helpers/build.ts';

/**
 * Assertions on large bodies do not run on the main thread, and have limits. Threads load compiled modules only, so
 * these tests use the build.
 */

let thread: typeof threadModule;
let dist: string;

beforeAll(async () => {
  dist = join(await builtProgram(), '..');
  thread = (await import(join(dist, 'executors/http/body-thread.js'))) as typeof threadModule;
}, 120_000);

const assertion = (more: Partial<Assertion>): Assertion => ({
  source: 'JSON_BODY',
  property: '$.last',
  comparison: 'EQUALS',
  target: '1',
  regex: null,
  ...more,
});
const bodyOf = (text: string, more: Partial<AssertedBody> = {}): AssertedBody => ({
  bytes: Buffer.from(text),
  cut: false,
  error: null,
  mediaType: 'application/json',
  charset: null,
  ...more,
});
/** A document of several megabytes. */
const large = (items: number): string =>
  JSON.stringify({
    list: Array.from({ length: items }, (_, id) => ({ id, name: `item ${id}`, tags: ['a', 'b'] })),
    last: 1,
  });
const never = new AbortController().signal;
const usual = { timeMs: 60_000, lookMs: 5, threads: 2, heapMegabytes: 512, idleMs: 50 };

describe('the results of a thread', () => {
  test.each([
    ['a document', bodyOf('{"last":1,"id":12345678901234567890,"list":[1,2]}')],
    ['no JSON', bodyOf('{"last":1')],
    ['a cut body', bodyOf('{"last":1}', { cut: true })],
    ['an unreadable body', bodyOf('', { error: 'the body cannot be decoded' })],
    [
      'another charset',
      bodyOf('caf\u00e9', { bytes: Buffer.from('caf\u00e9', 'latin1'), charset: 'iso-8859-1' }),
    ],
    ['another type', bodyOf('x', { mediaType: 'text/plain' })],
  ])('%s: the same as on the main thread', async (_name, body) => {
    const all = [
      assertion({}),
      assertion({ target: '2' }),
      assertion({ property: '$.id', target: '12345678901234567890' }),
      assertion({ property: '$.list[*]', comparison: 'GREATER_THAN', target: '0' }),
      assertion({ property: 'nonsense' }),
      assertion({ source: 'TEXT_BODY', property: 'caf(.)', comparison: 'EQUALS', target: 'é' }),
    ];
    const threads = thread.createBodyThreads(usual);
    const results = await threads.evaluate({ assertions: all, body }, never);
    expect(results).toEqual(evaluateAssertions(all, bodySources(body)));
    expect(await threads.evaluate({ assertions: all, body }, never)).toEqual(results);
  });
});

describe('limits of a thread', () => {
  test('assertions that take too long fail with a clear error', async () => {
    const body = bodyOf(large(30_000));
    const threads = thread.createBodyThreads({ ...usual, timeMs: 30 });
    const all = Array.from({ length: 100 }, () => assertion({ property: '$..id', comparison: 'NOT_EMPTY' }));
    const results = await threads.evaluate({ assertions: all, body }, never);
    expect(results).toHaveLength(100);
    expect(results[99]).toEqual({
      ...all[99],
      actual: null,
      error: expect.stringMatching(
        /^the assertions on a body of \d\.\d MB took longer than 0\.03 s and were stopped$/,
      ),
    });
  });

  test('assertions that need too much memory fail with a clear error', async () => {
    const threads = thread.createBodyThreads({ ...usual, heapMegabytes: 8 });
    const [result] = await threads.evaluate(
      { assertions: [assertion({})], body: bodyOf(large(60_000)) },
      never,
    );
    expect(result?.error).toMatch(/need more than 8 MB of memory$/);
  });

  test('an attempt that ends stops its assertions', async () => {
    const threads = thread.createBodyThreads(usual);
    const controller = new AbortController();
    const work = threads.evaluate(
      { assertions: [assertion({})], body: bodyOf(large(30_000)) },
      controller.signal,
    );
    setImmediate(() => controller.abort(new Error('cancelled here')));
    await expect(work).rejects.toThrow('cancelled here');
  });

  test('waiting for a thread until the deadline is the agent’s fault', async () => {
    const threads = thread.createBodyThreads({ ...usual, threads: 1 });
    const first = threads.evaluate({ assertions: [assertion({})], body: bodyOf(large(3000)) }, never);
    const controller = new AbortController();
    const second = threads.evaluate({ assertions: [assertion({})], body: bodyOf('{}') }, controller.signal);
    const third = threads.evaluate({ assertions: [assertion({})], body: bodyOf('{"last":1}') }, never);
    controller.abort();
    await expect(second).rejects.toMatchObject({ name: 'AgentError', code: 'AGENT_OVERLOADED' });
    expect([(await first)[0]?.error, (await third)[0]?.error]).toEqual([null, null]);
  });
});

/**
 * Runs an API check in a program of its own, because a test runner's loader does not apply to threads. Prints the
 * number of assertions that passed, and how often a timer of the main thread fired while they were evaluated.
 */
const program = `
  import http from 'node:http';
  const [dist, kind, count, property, comparison] = process.argv.slice(1);
  const { executeApi } = await import(dist + '/executors/api.js');
  const { createNetwork } = await import(dist + '/executors/system-network.js');
  let threads = 0;
  process.on('worker', () => (threads += 1));
  const texts = {
    large: () => JSON.stringify({ list: Array.from({ length: 20000 }, (_, id) => ({ id, tags: ['a', 'b'] })) }),
    deep: () => '[1234567890123456789,'.repeat(1e6) + '0' + ']'.repeat(1e6),
    small: () => '{"list":[{"id":1}]}',
  };
  const text = texts[kind]();
  const network = createNetwork({ useOsDnsResolver: false });
  let ticks = 0;
  let timer;
  const server = http.createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(text, () => { timer = setInterval(() => (ticks += 1), 1); });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const assertions = Array.from({ length: Number(count) }, () => ({
    source: 'JSON_BODY', property, comparison, target: '', regex: null,
  }));
  const request = {
    method: 'GET', url: 'http://127.0.0.1:' + server.address().port + '/', ipFamily: 'IPv4', followRedirects: true,
    skipSSL: false, headers: [], queryParameters: [], body: '', bodyType: 'NONE', basicAuth: null, assertions,
  };
  const job = { checkType: 'API', proxyUrl: null, environmentVariables: [], clientCertificates: [], request };
  const outcome = await executeApi(job, {
    signal: new AbortController().signal, log() {}, network, scripts: null, now: Date.now,
    artifacts: { add() {} }, addSecret() {}, withhold() {}, workDir: () => Promise.reject(new Error('no files')),
  });
  clearInterval(timer);
  process.stdout.write(JSON.stringify({
    results: outcome.assertions.length,
    errors: outcome.assertions.filter(({ error }) => error !== null).map(({ error }) => error).slice(0, 1),
    ticks,
    threads,
  }));
  process.exit(0);
`;

describe('the main thread stays free', () => {
  const checked = (kind: string, count: number, property: string, comparison: string) => {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', program, dist, kind, String(count), property, comparison],
      { encoding: 'utf8' },
    );
    expect(stderr).toBe('');
    return JSON.parse(stdout) as { results: number; errors: string[]; ticks: number; threads: number };
  };

  test('100 JSONPaths over a large body', { timeout: 120_000 }, () => {
    const done = checked('large', 100, '$.list[*].id', 'NOT_NULL');
    expect(done).toMatchObject({ results: 100, errors: [], threads: 1 });
    expect(done.ticks).toBeGreaterThan(20);
  });

  test('JSON that is a million levels deep', { timeout: 120_000 }, () => {
    const done = checked('deep', 20, '$..x', 'IS_NULL');
    expect(done).toMatchObject({ results: 20, threads: 1 });
    expect(done.ticks).toBeGreaterThan(20);
  });

  test('a small body needs no thread', { timeout: 60_000 }, () => {
    expect(checked('small', 100, '$.list[*].id', 'NOT_NULL')).toMatchObject({
      results: 100,
      errors: [],
      threads: 0,
    });
  });
});
