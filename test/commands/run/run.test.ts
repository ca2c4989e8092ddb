import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packageRuntimes } from '../../../src/agent/script-host.ts';
import { run } from '../../../src/commands/run/run.ts';
import { FatalError } from '../../../src/errors.ts';
import type { Result } from '../../../src/protocol/result.ts';
import { startTargets, type Targets } from '../../../src/targets/targets.ts';

let folder: string;
let targets: Targets;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'run-'));
  targets = await startTargets();
});
afterAll(async () => {
  await targets.close();
  rmSync(folder, { recursive: true, force: true });
});

function file(content: unknown): string {
  const path = join(folder, 'check.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

async function runFile(content: unknown, options: { env?: Record<string, string>; args?: string[] } = {}) {
  let out = '';
  let err = '';
  const code = await run([file(content), ...(options.args ?? [])], {
    env: options.env ?? {},
    stdout: (text) => (out += text),
    stderr: (text) => (err += text),
  });
  return { code, out, err };
}

async function resultOf(
  content: unknown,
  env: Record<string, string> = {},
): Promise<Result & { exit: number }> {
  const { code, out } = await runFile(content, { env, args: ['--json'] });
  expect(out.endsWith('}\n')).toBe(true);
  return { ...(JSON.parse(out) as Result), exit: code };
}

test('each type runs here and now', async () => {
  const local = '127.0.0.1';
  const bodies = [
    { checkType: 'URL', request: { url: `${targets.http.url}/ok` } },
    { checkType: 'API', request: { url: `${targets.http.url}/json` } },
    { checkType: 'TCP', request: { hostname: local, port: targets.tcp.echo.port, data: 'x' } },
    { checkType: 'DNS', request: { query: 'sample.test', nameServer: local, port: targets.dns.port } },
  ];
  for (const body of bodies) {
    expect(await resultOf(body)).toMatchObject({
      exit: 0,
      checkType: body.checkType,
      status: 'passed',
      resultType: 'FINAL',
      runLocation: 'local',
      reason: null,
    });
  }
  // Whether this machine grants ICMP is not the command's to decide; that it says so, is.
  const icmp = await resultOf({ checkType: 'ICMP', request: { hostname: local, pingCount: 1 } });
  expect([icmp.exit, icmp.status, icmp.reason?.code ?? null]).toEqual(
    icmp.status === 'passed' ? [0, 'passed', null] : [2, 'errored', 'ICMP_UNAVAILABLE'],
  );
});

test('degraded is 0, failed is 1', async () => {
  const slow = {
    checkType: 'URL',
    degradedResponseTime: 50,
    request: { url: `${targets.http.url}/slow?ms=80` },
  };
  expect(await resultOf(slow)).toMatchObject({
    exit: 0,
    status: 'degraded',
    reason: { code: 'RESPONSE_TOO_SLOW' },
  });
  const expired = {
    checkType: 'URL',
    doubleCheck: false,
    request: { url: `${targets.https.expired.url}/ok` },
  };
  expect(await resultOf(expired)).toMatchObject({
    exit: 1,
    status: 'failed',
    reason: { code: 'CERT_HAS_EXPIRED' },
  });
});

test('retries are the daemon own: the last attempt is the result', async () => {
  const body = (path: string) => ({
    checkType: 'URL',
    retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 3 },
    request: { url: targets.http.url + path },
  });
  expect(await resultOf(body('/status/503'))).toMatchObject({
    exit: 1,
    status: 'failed',
    attempt: 4,
    attempts: 3,
  });
  // Every second request fails: the first passes, the second run needs a retry.
  expect(await resultOf(body('/flaky?every=2'))).toMatchObject({ exit: 0, attempts: 0 });
  expect(await resultOf(body('/flaky?every=2'))).toMatchObject({ exit: 0, attempts: 1 });
});

test('the report is for people', async () => {
  const { code, out } = await runFile({
    checkType: 'API',
    name: 'stock',
    doubleCheck: false,
    request: {
      url: `${targets.http.url}/json`,
      assertions: [
        { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' },
        { source: 'JSON_BODY', property: '$.name', comparison: 'EQUALS', target: 'other' },
      ],
    },
  });
  expect(code).toBe(1);
  expect(out).toMatch(/^FAILED {2}API {2}stock\nASSERTION_FAILED \(target\): assertion 2 of 2 failed/);
  expect(out).toMatch(
    /\nok {6}STATUS_CODE EQUALS 200 {2}actual 200\nFAILED {2}JSON_BODY \$\.name EQUALS other {2}actual "sample"/,
  );
  expect(out).toMatch(/\ntotal +[\d.]+ ms\n/);
});

test('secrets of the file and of the environment leave neither in reports nor in JSON', async () => {
  const body = {
    checkType: 'API',
    environmentVariables: [{ key: 'TOKEN', value: 'very-secret-value', secret: true }],
    request: {
      method: 'POST',
      url: `${targets.http.url}/echo`,
      bodyType: 'RAW',
      body: 'token={{{TOKEN}}} and env=from-the-environment',
      assertions: [{ source: 'JSON_BODY', property: '$.body', comparison: 'CONTAINS', target: 'token=' }],
    },
  };
  const env = { SERVICE_SECRET_PLACE: 'from-the-environment' };
  for (const args of [[], ['--json']]) {
    const { code, out } = await runFile(body, { env, args });
    expect([code, out.includes('very-secret-value'), out.includes('from-the-environment')]).toEqual([
      0,
      false,
      false,
    ]);
    expect(out).toContain('token=********* and env=*********');
  }
});

test('a check that cannot run reports why, with its exit code', async () => {
  const rejection = async (start: Promise<unknown>): Promise<[number, string]> => {
    const error: unknown = await start.then(
      () => new Error('it ran'),
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof FatalError)) throw error;
    return [error.exitCode, error.message];
  };
  const io = { env: {}, stdout: () => undefined, stderr: () => undefined };
  expect(await rejection(run([], io))).toEqual([
    64,
    'run needs the file of a check, or the folder of a suite: see location-agent run --help',
  ]);
  expect(await rejection(run(['a', 'b'], io))).toEqual([
    64,
    'run takes one file or folder: see location-agent run --help',
  ]);
  expect(await rejection(run([join(folder, 'none.json')], io))).toEqual([
    2,
    `cannot read ${join(folder, 'none.json')} (ENOENT)`,
  ]);
  const [code, message] = await rejection(runFile({ checkType: 'URL', nmae: 1, request: { url: 'x' } }));
  expect([code, message]).toEqual([
    64,
    `${join(folder, 'check.json')} is not a valid check:\n  nmae: is not a known field`,
  ]);
  const [, script] = await rejection(runFile('import a\n\nimport b'));
  expect(script.split('\n')).toHaveLength(2);
  // A byte order mark is no mistake.
  expect(await rejection(runFile('\ufeff{"checkType":"X"}'))).toEqual([
    64,
    expect.stringContaining('checkType: must be one of'),
  ]);
  expect(await rejection(runFile('{"checkType":'))).toEqual([
    64,
    expect.stringContaining('file: is not valid JSON'),
  ]);
});

const missing = ['2026.04', '2025.04', '2024.09'].find(
  (name) => !existsSync(join(packageRuntimes(), name, 'node_modules')),
);
test.skipIf(missing === undefined)('a runtime that is not installed: how to get it', async () => {
  const script = join(folder, 'shop.spec.ts');
  writeFileSync(script, "import { test } from '@playwright/test';");
  let out = '';
  let err = '';
  const code = await run(
    [script, '--runtime', missing ?? '', '--json', '--output', join(folder, 'artifacts')],
    {
      env: { AGENT_DATA_DIR: join(folder, 'data') },
      stdout: (text) => (out += text),
      stderr: (text) => (err += text),
    },
  );
  expect([code, (JSON.parse(out) as Result).reason?.code]).toEqual([2, 'RUNTIME_UNAVAILABLE']);
  expect(err).toContain(`node scripts/runtime.mjs install ${missing}`);
});
