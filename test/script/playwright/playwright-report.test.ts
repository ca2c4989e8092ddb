import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { execFileSync } from 'node:child_process';
import { readSecretRecords } from '../../../src/script/playwright/secret-records.ts';
import { readPlaywrightReport, type ReportOptions } from '../../../src/script/playwright/report.ts';

/** What a script may have put where the report and the capture are: none of it may do harm. */

let parent: string;
let folder: string;
let options: ReportOptions;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'report-'));
  folder = join(parent, 'run');
  for (const each of ['script', 'output/a-test', 'capture'])
    mkdirSync(join(folder, each), { recursive: true });
  options = {
    checkType: 'BROWSER',
    runtimeVersion: '2026.04',
    playwrightVersion: '1.58.2',
    folder,
    originalFolder: '/was/here',
    scriptFolder: join(folder, 'script'),
    outputFolder: join(folder, 'output'),
    captureFolder: join(folder, 'capture'),
    reporterFile: join(folder, 'run.json'),
    jsonReport: join(folder, 'report.json'),
    startTime: 1000,
  };
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

const report = (value: unknown) => writeFileSync(options.reporterFile, JSON.stringify(value));
const passed = {
  id: 't1',
  retry: 0,
  title: 'a',
  titlePath: ['script.ts', 'a'],
  status: 'passed',
  expectedStatus: 'passed',
  ok: true,
  startTime: 2000,
  durationMs: 10,
  errors: [],
  errorCount: 0,
  steps: [],
  attachments: [] as unknown[],
};
const complete = {
  version: 1,
  complete: true,
  began: true,
  startTime: 1500,
  endTime: 2500,
  errors: [],
  tests: [passed],
};
const capture = (name: string, ...records: unknown[]) =>
  writeFileSync(
    join(options.captureFolder, name),
    records.map((each) => `${JSON.stringify(each)}\n`).join(''),
  );

test('no report, a pipe, a folder, a link or an incomplete one in its place: there is none', async () => {
  expect(await readPlaywrightReport(options)).toBeNull();
  execFileSync('mkfifo', [options.reporterFile]);
  expect(await readPlaywrightReport(options)).toBeNull();
  rmSync(options.reporterFile);
  mkdirSync(options.reporterFile);
  expect(await readPlaywrightReport(options)).toBeNull();
  rmSync(options.reporterFile, { recursive: true });
  writeFileSync(join(parent, 'other.json'), JSON.stringify(complete));
  symlinkSync(join(parent, 'other.json'), options.reporterFile);
  expect(await readPlaywrightReport(options)).toBeNull();
  rmSync(options.reporterFile);
  report({ ...complete, complete: false });
  expect(await readPlaywrightReport(options)).toBeNull();
});

test.each(['', '{', 'null', '[]', '{"version":2,"complete":true}', '"text"'])(
  '%j is a failure of the script',
  async (text) => {
    writeFileSync(options.reporterFile, text);
    const answer = await readPlaywrightReport(options);
    expect(answer?.failure).toMatchObject({ code: 'SCRIPT_INVALID', owner: 'script' });
    expect(answer?.details).toMatchObject({ tests: [], pages: [] });
  },
);

test.each<[string, unknown]>([
  ['no tests', { ...complete, tests: [] }],
  ['tests of another kind', { ...complete, tests: 'many' }],
  ['nothing but a version', { version: 1, complete: true }],
])('%s: SCRIPT_INVALID', async (_, value) => {
  report(value);
  const answer = await readPlaywrightReport(options);
  expect(answer?.failure).toMatchObject({
    code: 'SCRIPT_INVALID',
    message: expect.stringContaining('no tests') as unknown,
  });
});

test('values of the wrong kind and size become small ones of the right kind', async () => {
  let deep: unknown = { title: 'end', steps: [] };
  for (let depth = 0; depth < 500; depth++)
    deep = { title: 't'.repeat(5000), category: 7, startTime: 'x', steps: [deep] };
  report({
    ...complete,
    startTime: -5,
    endTime: 'later',
    errors: [{}, 'e'.repeat(100_000)],
    tests: [
      {
        ...passed,
        steps: [deep, ...Array.from({ length: 5000 }, () => ({ title: 'many' }))],
        titlePath: [1, {}],
      },
      null,
      5,
      { ok: false, status: 'passed', errors: 'none', durationMs: 1e308, attachments: { length: 4 } },
    ],
  });
  const answer = await readPlaywrightReport(options);
  const run = answer;
  expect(run?.failure).toMatchObject({
    code: 'TEST_FAILED',
    message: expect.stringContaining('3 of 4 tests failed') as unknown,
  });
  expect(run?.details.tests[0]?.titlePath).toEqual(['', '']);
  expect(run?.details.tests.at(-1)).toMatchObject({ status: 'failed', errors: [] });
  expect(JSON.stringify(run?.details).length).toBeLessThan(400_000);
  expect(run?.details.startTime).toBe(1000);
  expect(Number.isFinite(run?.durationMs)).toBe(true);
});

test('only files of the run are collected: no links, no paths outside, no hard links', async () => {
  const inside = join(folder, 'output', 'a-test', 'trace.zip');
  writeFileSync(inside, 'zip');
  writeFileSync(join(folder, 'script', 'shot.png'), 'png');
  writeFileSync(join(parent, 'secret.txt'), 'secret');
  writeFileSync(join(parent, 'secret.png'), 'secret');
  symlinkSync(join(parent, 'secret.txt'), join(folder, 'output', 'link.txt'));
  symlinkSync(parent, join(folder, 'output', 'up'));
  symlinkSync(join(parent, 'secret.png'), join(folder, 'script', 'link.png'));
  linkSync(join(parent, 'secret.png'), join(folder, 'script', 'hard.png'));
  execFileSync('mkfifo', [join(folder, 'output', 'pipe')]);
  const attachments = [
    ['trace', '/was/here/output/a-test/trace.zip', 'application/zip'],
    ['again', '/was/here/output/a-test/trace.zip', 'application/zip'],
    ['a', '/was/here/output/link.txt', 'text/plain'],
    ['a', '/was/here/output/up/secret.txt', 'text/plain'],
    ['a', '/was/here/../secret.txt', 'text/plain'],
    ['a', join(parent, 'secret.txt'), 'text/plain'],
    ['a', '/etc/passwd', 'text/plain'],
    ['a', '/was/here/output/pipe', 'text/plain'],
    ['a', '/was/here/output', 'text/plain'],
    ['a', '/was/here/output/none.txt', 'text/plain'],
    ['a', '/was/here/\0', 'text/plain'],
    ['a', 5, 'text/plain'],
  ].map(([name, path, contentType]) => ({ name, path, contentType }));
  report({ ...complete, tests: [{ ...passed, attachments }] });
  const answer = await readPlaywrightReport(options);
  expect(answer?.files).toEqual([
    { path: inside, name: 'a-test-trace.zip', type: 'trace', contentType: 'application/zip' },
    {
      path: join(folder, 'script', 'shot.png'),
      name: 'shot.png',
      type: 'screenshot',
      contentType: 'image/png',
    },
  ]);
});

test('records of the capture: wrong ones are left out, links are not read, everything has a bound', async () => {
  report(complete);
  const visit = {
    kind: 'visit',
    id: 1,
    startTime: 5,
    url: 'https://a.example/',
    consoleErrors: ['x'],
    networkErrors: [],
  };
  capture(
    'capture-1-2.jsonl',
    'text',
    null,
    {
      kind: 'visit',
      id: 0,
      startTime: 9,
      url: 'https://b.example/',
      vitals: { LCP: 2500, CLS: 0.2, FCP: 3000.1, TBT: 'no', TTFB: -1, OTHER: 3 },
    },
    visit,
    { ...visit, consoleErrors: Array.from({ length: 100 }, () => 'y'.repeat(9999)), onLoad: '12' },
    { kind: 'counts', consoleErrors: 1, networkErrors: 'x', documentErrors: 1e9 },
    { kind: 'unknown' },
    ...Array.from({ length: 250 }, () => ({
      kind: 'call',
      test: null,
      request: { url: 'u', body: 'b'.repeat(20_000) },
      timingPhases: [3],
    })),
  );
  writeFileSync(join(options.captureFolder, 'capture-3-4.jsonl'), '{"kind":"visit"');
  writeFileSync(
    join(parent, 'outside'),
    `${JSON.stringify({ ...visit, url: 'https://outside.example/' })}\n`,
  );
  symlinkSync(join(parent, 'outside'), join(options.captureFolder, 'capture-5-6.jsonl'));
  // Sparse: larger than the part that is read.
  writeFileSync(join(options.captureFolder, 'capture-7-8.jsonl'), '');
  truncateSync(join(options.captureFolder, 'capture-7-8.jsonl'), 1e9);
  const answer = await readPlaywrightReport(options);
  const { pages = [], traceSummary, apiCalls = [] } = answer?.details ?? {};
  expect(pages.map(({ url }) => url)).toEqual(['https://a.example/', 'https://b.example/']);
  expect(pages[0]?.consoleErrors).toHaveLength(50);
  expect(pages[0]?.pageTimings.onLoad).toBeNull();
  expect(pages[1]?.webVitals).toEqual({
    LCP: { score: 'GOOD', value: 2500 },
    CLS: { score: 'NEEDS_IMPROVEMENT', value: 0.2 },
    FCP: { score: 'POOR', value: 3000.1 },
  });
  expect(traceSummary).toEqual({
    consoleErrors: 1,
    networkErrors: 0,
    documentErrors: 1e6,
    userScriptErrors: 0,
  });
  expect(apiCalls.length).toBeGreaterThan(20);
  expect(JSON.stringify(apiCalls).length).toBeLessThan(530_000);
});

test('secrets that were named: those of all processes, and none from elsewhere', async () => {
  capture('secrets-1-2.jsonl', { kind: 'secret', value: 'abc' }, 'text', null, { kind: 'secret', value: 7 });
  capture('secrets-3-4.jsonl', { kind: 'secret', value: 'def' });
  capture('other-5-6.jsonl', { kind: 'secret', value: 'ghi' });
  symlinkSync(
    join(options.captureFolder, 'other-5-6.jsonl'),
    join(options.captureFolder, 'secrets-7-8.jsonl'),
  );
  const { secrets, lostSecret } = await readSecretRecords(options.captureFolder);
  expect([[...secrets].sort(), lostSecret]).toEqual([['abc', 'def'], null]);
  expect(await readSecretRecords(join(options.captureFolder, 'none'))).toEqual({
    secrets: new Set(),
    lostSecret: null,
  });
});

test('records that cannot be read, or have no end, may hide secrets', async () => {
  const lost = 'the tests recorded too much for all of their secrets to be read';
  const lostSecret = async () => (await readSecretRecords(options.captureFolder)).lostSecret;
  writeFileSync(join(options.captureFolder, 'secrets-1-2.jsonl'), '{"kind":"secret","value":"ab');
  expect(await lostSecret()).toBe(lost);
  rmSync(options.captureFolder, { recursive: true });
  expect(await lostSecret()).toBeNull();
  symlinkSync('capture', options.captureFolder);
  expect(await lostSecret()).toBeNull();
  options.captureFolder = `${join(options.captureFolder, 'x'.repeat(300))}`;
  expect(await lostSecret()).toBe(lost);
});

test.each([
  ['says so', { kind: 'lost-secret', limit: 'count' }, 'a test process registered more than 1000 secrets'],
  [
    'has a longer value',
    { kind: 'secret', value: 'x'.repeat(131_073) },
    'a test registered a secret of more than 128 KiB',
  ],
  [
    'found no room',
    { kind: 'lost-secret', limit: 'records' },
    'the tests recorded too much for all of their secrets to be read',
  ],
])('a secret that cannot be masked is reported: a record %s', async (_name, record, why) => {
  capture('secrets-1-2.jsonl', record);
  expect((await readSecretRecords(options.captureFolder)).lostSecret).toBe(why);
});

test('marks of tests that are not in the report are ignored', async () => {
  report(complete);
  capture('capture-1-2.jsonl', { kind: 'degraded', test: { testId: 'other', retry: 0 }, reason: 'x' });
  expect((await readPlaywrightReport(options))?.degraded).toBeNull();
  capture('capture-1-3.jsonl', { kind: 'degraded', test: { testId: 't1', retry: 0 }, reason: 7 });
  expect((await readPlaywrightReport(options))?.degraded).toEqual({
    message: 'the script marked the check as degraded',
  });
});

test('the time limit of the run, and an error outside of tests', async () => {
  report({ ...complete, errors: ['Timed out waiting 240s for the test suite to run'] });
  expect((await readPlaywrightReport(options))?.failure?.code).toBe('SCRIPT_TIMEOUT');
  report({ ...complete, errors: ['\n Error: in a worker\n at x'] });
  expect((await readPlaywrightReport(options))?.failure).toEqual({
    code: 'SCRIPT_THREW',
    owner: 'script',
    message: 'Error: in a worker',
  });
});

test('endless records are read up to a limit', async () => {
  report(complete);
  for (const id of [1, 2, 3]) {
    writeFileSync(
      join(options.captureFolder, `capture-${id}-1.jsonl`),
      `${JSON.stringify({ kind: 'counts', consoleErrors: 1 })}\n${'{}\n'.repeat(30_000)}`,
    );
  }
  const read = await readPlaywrightReport(options);
  expect(read?.details.traceSummary?.consoleErrors).toBe(2);
});
