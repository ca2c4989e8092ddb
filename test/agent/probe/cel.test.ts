import { createServer, type Server } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HealthServer } from '../../../src/agent/metrics/health.ts';
import { celExpression } from '../../../src/agent/probe/cel/expression.ts';
import { celFailure } from '../../../src/agent/probe/cel/judge.ts';
import type * as rulesModule from '../../../src/agent/probe/cel/body-failure.ts';
import type * as threadModule from '../../../src/agent/probe/cel/thread.ts';
import { builtProgram } from '../../helpers/build.ts';
import { parsePrometheus } from '../../helpers/prometheus-text.ts';
import { startProbe } from './probe-lab.ts';

/** Expressions of CEL over the JSON of a body. */

const body = {
  status: 'up',
  count: 1,
  share: 0.5,
  none: null,
  list: [1, 2, 3],
  nodes: [
    { name: 'a', up: true },
    { name: 'b', up: false },
  ],
  constructor: { toString: 'own' },
};
const text = JSON.stringify(body);

async function failureOf(expression: string, json = text): Promise<string | null> {
  return celFailure(Buffer.from(json), { matches: null, notMatches: await celExpression(expression) });
}

describe('what an expression says about a body', () => {
  test.each([
    "body.status == 'up'",
    'body.count == 1 && body.count < 2.5 && body.count >= 1.0',
    'body.none == null',
    'has(body.status) && !has(body.other)',
    'size(body.list) == 3 && body.list[0] == 1',
    '2 in body.list && !(4 in body.list)',
    "'status' in body && body['status'] == 'up'",
    "body.nodes.exists(n, n.name == 'b' && !n.up)",
    'body.nodes.all(n, has(n.name))',
    'body.nodes.exists_one(n, n.up)',
    "body.nodes.filter(n, n.up).map(n, n.name) == ['a']",
    'body.nodes[1].up ? false : true',
    "body.exists(key, key == 'share')",
    "body.status.startsWith('u') && body.status.contains('p')",
    'body.other == 1 || true',
    "type(body.count) == double && string(body.count) == '1'",
    // Names that JavaScript's objects have, too.
    "body.constructor.toString == 'own' && !has(body.toString)",
    // Patterns are those of RE2.
    "body.status.matches('(?i)^UP$') && matches(body.status, '[[:lower:]]+')",
    "(body.status) . matches('\\\\Aup\\\\z')",
    "body.nodes.exists(n, n.name.matches('(?i)B'))",
  ])('%s', async (expression) => {
    expect(await failureOf(expression)).toBeNull();
  });

  test.each([
    ["body.status == 'down'", /is false$/],
    ['body.other == 1', /cannot be evaluated: No such key: other$/],
    ['body.count + 1 == 2', /cannot be evaluated: no such overload/],
    ['body.list[5] == 1', /cannot be evaluated: .*out of bounds/],
    ['body.count', /is neither true nor false$/],
    ["body.status.matches('(?=a)')", /cannot be evaluated: .*not supported/],
  ])('%s fails', async (expression, why) => {
    expect(await failureOf(expression)).toMatch(why);
  });

  test.each(['', 'up', '{"a":', '[1,]'])('the body %j is not JSON', async (json) => {
    expect(await failureOf('true', json)).toMatch(/^the body is not JSON/);
  });

  test('a body whose nesting is too deep', async () => {
    expect(await failureOf('true', `${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toMatch(/not JSON/);
  });

  test.each([
    ['nothing', ''],
    ['half an expression', '1 +'],
    ['another variable', 'other == 1'],
    ['types that cannot be compared', "1 == 'a'"],
    ['a function that does not exist', 'none(body)'],
    ['a comment before a pattern', "body.name // why\n .matches('a')"],
    ['endless nesting', `${'('.repeat(1000)}1${')'.repeat(1000)}`],
  ])('%s is not read', async (_what, expression) => {
    await expect(celExpression(expression)).rejects.toThrow(/^is not an expression of CEL: /);
  });
});

describe('how much work an expression may be', () => {
  const stepsOf = async (expression: string, bytes: number) => (await celExpression(expression)).steps(bytes);

  test.each([
    ["body.status == 'up'", 20_000],
    ['body.nodes.all(n, n.up)', 20_000],
    ['size(body.list) > 2 && has(body.status)', 20_000],
  ])('%s is quick', async (expression, bytes) => {
    expect(await stepsOf(expression, bytes)).toBeLessThanOrEqual(1_000_000);
  });

  test.each([
    ['body.list.all(a, body.list.exists(b, a == b))', 20_000],
    ['body.list.all(a, a in body.list)', 20_000],
    ["body.list.map(a, body.status + a).exists(a, a.contains('x'))", 20_000],
    ["body.status.matches('(a+)+b')", 20_000],
    ["body.status == 'up'", 2_000_000],
    // Both look at a complete text each time.
    ['body.items.all(i, size(body.text) > 3)', 110_000],
    ['body.items.all(i, body.items == body.others)', 20_000],
  ])('%s may be slow', async (expression, bytes) => {
    expect(await stepsOf(expression, bytes)).toBeGreaterThan(1_000_000);
  });
});

describe('the endpoint', () => {
  let folder = '';
  let server: Server;
  let probe: HealthServer;
  let answer = '';
  let status = 200;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probe-cel-'));
    const file = join(folder, 'blackbox.yml');
    writeFileSync(
      file,
      `
modules:
  not_up: {prober: http, http: &http {preferred_ip_protocol: ip4, fail_if_body_json_not_matches_cel: "body.status == 'up'"}}
  down: {prober: http, http: {preferred_ip_protocol: ip4, fail_if_body_json_matches_cel: "body.status == 'down'"}}
  both: {prober: http, http: {<<: *http, fail_if_body_json_matches_cel: "body.count > 1"}}
  with_pattern: {prober: http, http: {<<: *http, fail_if_body_not_matches_regexp: [status]}}
  plain: {prober: http, http: {preferred_ip_protocol: ip4}}
`,
    );
    server = createServer((_, response) => response.writeHead(status).end(answer));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    probe = await startProbe({ file });
  });
  afterAll(async () => {
    await probe.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function ask(module: string, more: { [name: string]: string } = {}) {
    const { port } = server.address() as { port: number }; // it listens on TCP
    const query = new URLSearchParams({ module, target: `http://127.0.0.1:${port}/`, ...more });
    return (await fetch(`${probe.url}/probe?${query}`)).text();
  }
  const valueOf = (page: string, name: string) => parsePrometheus(page).get(name)?.samples[0]?.value;

  test.each([
    ['not_up', '{"status":"up"}', 200, 1, 0],
    ['not_up', '{"status":"down"}', 200, 0, 1],
    ['not_up', '{}', 200, 0, 1],
    ['not_up', 'up', 200, 0, 1],
    ['not_up', '', 200, 0, 1],
    ['down', '{"status":"up"}', 200, 1, 0],
    ['down', '{"status":"down"}', 200, 0, 1],
    ['both', '{"status":"up","count":1}', 200, 1, 0],
    ['both', '{"status":"up","count":2}', 200, 0, 1],
    ['both', '{"status":"down","count":1}', 200, 0, 1],
    ['with_pattern', '{"status":"up"}', 200, 1, 0],
    ['with_pattern', '{}', 200, 0, 0],
    // The status is judged first.
    ['not_up', '{"status":"down"}', 500, 0, 0],
  ])('%s of %s with %i', async (module, json, code, success, cel) => {
    answer = json;
    status = code;
    const page = await ask(module);
    expect([valueOf(page, 'probe_success'), valueOf(page, 'probe_failed_due_to_cel')]).toEqual([
      success,
      cel,
    ]);
  });

  test('modules without expressions have no such metric, and debug says what is not met', async () => {
    answer = '{"status":"down"}';
    status = 200;
    expect(await ask('plain')).not.toContain('probe_failed_due_to_cel');
    expect(await ask('not_up', { debug: 'true' })).toContain("body.status == 'up' is false");
  });
});

describe('the thread', () => {
  let create: typeof threadModule.createCelThread;
  let rules: typeof rulesModule;
  beforeAll(async () => {
    // Threads load compiled modules only.
    const folder = join(await builtProgram(), '../agent/probe/cel');
    ({ createCelThread: create } = (await import(join(folder, 'thread.js'))) as typeof threadModule);
    rules = (await import(join(folder, 'body-failure.js'))) as typeof rulesModule;
  }, 120_000);

  const never = new AbortController().signal;
  const limits = { timeMs: 20_000, heapMegabytes: 128, idleMs: 50 };
  const task = (notMatches: string, json: unknown = body) => ({
    matches: null,
    notMatches,
    body: Buffer.from(JSON.stringify(json)),
  });
  const long = { list: Array.from({ length: 20_000 }, (_, at) => at) };
  const endless = 'body.list.all(a, body.list.all(b, body.list.all(c, a + b + c >= 0.0)))';

  test('answers as the main thread does, also one after the other', async () => {
    const thread = create(limits);
    const expressions = ["body.status == 'up'", "body.status == 'down'", 'body.other', 'body.count'];
    const answers = await Promise.all(expressions.map((text) => thread.failure(task(text), never)));
    expect(answers).toEqual(await Promise.all(expressions.map((one) => failureOf(one))));
  });

  test('work that does not end is stopped, and the next is done', async () => {
    const thread = create({ ...limits, timeMs: 1500 });
    const startedAt = performance.now();
    const [slow, next] = await Promise.all([
      thread.failure(task(endless, long), never),
      thread.failure(task('size(body.list) == 20000', long), never),
    ]);
    expect([slow, next]).toEqual(['the expression took longer than 1500 ms and was stopped', null]);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });

  test('work that needs too much memory', async () => {
    const thread = create({ ...limits, heapMegabytes: 32 });
    const growing = 'body.list.map(a, body.list.map(b, [a, b])).size() == 1';
    expect(await thread.failure(task(growing, long), never)).toBe(
      'the expression needs more than 32 MB of memory',
    );
  }, 60_000);

  test('work that may be slow leaves the main thread free', async () => {
    const notMatches = await celExpression('body.list.all(a, body.list.exists(b, a == b))');
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 20);
    const bytes = Buffer.from(JSON.stringify(long));
    const failure = await rules.bodyFailure(bytes, { matches: null, notMatches }, never);
    clearInterval(timer);
    expect(failure).toMatch(/^the expression took longer than 2000 ms/);
    expect(ticks).toBeGreaterThan(10);
  });

  test('a probe that has ended does not wait, and its work is stopped', async () => {
    const thread = create(limits);
    const [running, waiting] = [new AbortController(), new AbortController()];
    const first = thread.failure(task(endless, long), running.signal);
    const second = thread.failure(task(endless, long), waiting.signal);
    waiting.abort(new Error('over'));
    await expect(second).rejects.toThrow('over');
    running.abort(new Error('over'));
    await expect(first).rejects.toThrow('over');
    expect(await thread.failure(task('true'), never)).toBeNull();
  });
});
