import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { SuitePlace } from '../../../../src/script/suite/place/place.ts';
import { openRecordFile } from '../../../../src/script/child/capture/file.ts';
import { readSuiteReport } from '../../../../src/script/suite/report/report.ts';
import { makeProject, removeProject } from '../../../helpers/suites/suite-project.ts';

/** How lines are read, as the reporter writes them and as a customer's code may write them. */

const places: SuitePlace[] = [];
const folders = (): SuitePlace => {
  const place = makeProject({});
  places.push(place);
  return place;
};
afterEach(() => places.splice(0).forEach(removeProject));

const ended = { code: 1, signal: null, exceeded: null } as const;
type Line = { [field: string]: unknown };

const run: Line = { kind: 'run', version: 1, mode: 'test', playwrightVersion: '1.58.2', globalTimeout: 0 };
const done = (status: string): Line => ({ kind: 'done', status, endTime: 5 });
const plan = (id: string, more: Line = {}): Line => ({
  kind: 'plan',
  id,
  title: id,
  titlePath: ['a.spec.ts', id],
  file: '/a.spec.ts',
  line: 1,
  project: '',
  tags: [],
  ...more,
});
const end = (id: string, status: string, more: Line = {}): Line => ({
  kind: 'end',
  id,
  retry: 0,
  status,
  expectedStatus: 'passed',
  startTime: 10,
  durationMs: 3,
  errors: status === 'failed' ? [`Error: ${id} broke\n  more`] : [],
  errorCount: status === 'failed' ? 1 : 0,
  steps: [],
  attachments: [],
  ...more,
});
const write = (place: SuitePlace, lines: readonly Line[], stamp = '100-1') =>
  writeFileSync(
    join(place.report, `run-${stamp}.jsonl`),
    lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  );
const read = (place: SuitePlace, code = 1, lastLines: string[] = []) =>
  readSuiteReport({ place, end: { ...ended, code }, lastLines });

test('each test by its tries: passed, failed, flaky, timed out, skipped, expected to fail, cut off, never begun', async () => {
  const place = folders();
  const titles = ['pass', 'fail', 'flaky', 'slow', 'skip', 'expected', 'cut', 'never'];
  write(place, [
    run,
    ...titles.map((title) => plan(title)),
    end('pass', 'passed'),
    end('fail', 'failed'),
    end('fail', 'failed', { retry: 1 }),
    end('flaky', 'failed'),
    end('flaky', 'passed', { retry: 1, durationMs: 7 }),
    end('slow', 'timedOut', { errors: ['Test timeout of 1ms exceeded.'] }),
    end('skip', 'skipped', { expectedStatus: 'skipped' }),
    end('expected', 'failed', { expectedStatus: 'failed' }),
    { kind: 'begin', id: 'cut', retry: 0, startTime: 11 },
  ]);
  const report = await read(place);
  expect(Object.fromEntries(report.tests.map(({ title, status }) => [title, status]))).toEqual({
    pass: 'passed',
    fail: 'failed',
    flaky: 'flaky',
    slow: 'timedOut',
    skip: 'skipped',
    expected: 'passed',
    cut: 'interrupted',
    never: 'interrupted',
  });
  expect(report.totals).toEqual({
    tests: 8,
    passed: 2,
    failed: 1,
    flaky: 1,
    skipped: 1,
    timedOut: 1,
    interrupted: 2,
    degraded: 0,
  });
  expect(report.failure).toEqual({
    code: 'TEST_FAILED',
    owner: 'target',
    message: '2 of 8 tests failed: fail: Error: fail broke',
  });
  expect(report).toMatchObject({ runStatus: 'interrupted', playwrightVersion: '1.58.2', firstTestAt: 10 });
  expect(report.tests.find(({ title }) => title === 'flaky')).toMatchObject({
    retries: 1,
    durationMs: 7,
    errors: ['Error: flaky broke\n  more'],
  });
});

test('runs of one command: shards are one, the last word on a test counts', async () => {
  const place = folders();
  write(place, [run, plan('a'), plan('b'), end('a', 'failed'), end('b', 'passed'), done('failed')], '100-1');
  write(place, [run, plan('a'), plan('c'), end('a', 'passed'), end('c', 'passed'), done('passed')], '200-2');
  write(place, [{ ...run, mode: 'merge' }, done('passed')], '300-3');
  const report = await read(place, 0);
  expect(report.failure).toBeNull();
  expect(report.runStatus).toBe('passed');
  expect(report.tests.map(({ title, status }) => `${title} ${status}`)).toEqual([
    'a passed',
    'b passed',
    'c passed',
  ]);
});

test.each<[string, Line[], number, string[], object | null]>([
  ['all passed', [run, plan('a'), end('a', 'passed'), done('passed')], 0, [], null],
  [
    'global timeout',
    [
      { ...run, globalTimeout: 3000 },
      plan('a'),
      { kind: 'error', text: 'Timed out waiting 3s' },
      done('timedout'),
    ],
    1,
    [],
    { code: 'SCRIPT_TIMEOUT', message: 'Timed out waiting 3000ms from config.globalTimeout.' },
  ],
  [
    'no tests',
    [run, { kind: 'error', text: 'Error: No tests found' }, done('failed')],
    1,
    [],
    { code: 'SCRIPT_INVALID', message: expect.stringMatching(/^No tests found: compare projects, tags/) },
  ],
  [
    'global setup',
    [run, { kind: 'error', text: 'Error: setup broke\n    at x' }, done('failed')],
    1,
    [],
    { code: 'SCRIPT_THREW', message: 'Error: setup broke' },
  ],
  ['config', [], 1, ['Error: bad config', 'x: 1'], { code: 'SCRIPT_THREW', message: 'Error: bad config' }],
  [
    'no Playwright',
    [],
    0,
    ['hi'],
    { code: 'SCRIPT_INVALID', message: expect.stringContaining('ran no Playwright tests') },
  ],
  [
    'exit code',
    [run, plan('a'), end('a', 'passed'), done('passed')],
    7,
    ['one', 'two'],
    { code: 'SCRIPT_THREW', message: 'the test command exited with code 7: one | two' },
  ],
])('the reason: %s', async (_name, lines, code, lastLines, failure) => {
  const place = folders();
  if (lines.length > 0) write(place, lines);
  const report = await read(place, code, lastLines);
  if (failure === null) expect(report.failure).toBeNull();
  else expect(report.failure).toMatchObject(failure);
});

test('secrets of many processes, the same ones and long ones, are all read', async () => {
  const place = folders();
  write(place, [run, plan('a'), end('a', 'passed'), done('passed')]);
  const long = '\u0001'.repeat(131_072);
  for (let process_ = 1; process_ <= 5; process_++) {
    const values = Array.from({ length: 1000 }, (_, n) => (n < 500 ? `same ${n}` : `own ${process_} ${n}`));
    const records = [...values, long].map((value) => `${JSON.stringify({ kind: 'secret', value })}\n`);
    writeFileSync(join(place.report, `capture-${process_}-1.jsonl`), records.join(''));
  }
  const { secrets, lostSecret } = await read(place);
  expect(lostSecret).toBeNull();
  expect(secrets).toHaveLength(500 + 5 * 500 + 1);
  expect(secrets).toContain(long);
});

test.each([
  [{ kind: 'lost-secret', limit: 'length' }, 'a test registered a secret of more than 128 KiB'],
  [
    { kind: 'lost-secret', limit: 'records' },
    'the tests recorded too much for all of their secrets to be read',
  ],
  [{ kind: 'lost-secret' }, 'the tests recorded too much for all of their secrets to be read'],
  [{ kind: 'secret', value: 'x'.repeat(131_073) }, 'a test registered a secret of more than 128 KiB'],
])('a secret that cannot be masked is reported: %#', async (record, why) => {
  const place = folders();
  write(place, [run, plan('a'), end('a', 'passed'), done('passed')]);
  writeFileSync(join(place.report, 'capture-1-1.jsonl'), `${JSON.stringify(record)}\n`);
  expect((await read(place)).lostSecret).toBe(why);
});

test('a full file of records says that it lost a secret', async () => {
  const place = folders();
  write(place, [run, plan('a'), end('a', 'passed'), done('passed')]);
  const file = openRecordFile(place.report);
  for (let n = 0; n < 100; n++) file.write({ kind: 'secret', value: `${n}`.padEnd(100_000, 'x') });
  const { secrets, lostSecret } = await read(place);
  expect(secrets).toHaveLength(83);
  expect(lostSecret).toBe('the tests recorded too much for all of their secrets to be read');
});

test('degraded: only if the test is marked, and no hard failure occurred', async () => {
  const place = folders();
  const mark = (id: string) => ({
    kind: 'degraded',
    test: { testId: id, retry: 0 },
    reason: `${id} is slow`,
  });
  const soft = (id: string) => ({ kind: 'soft', test: { testId: id, retry: 0 } });
  const tell = (marks: Line[]) =>
    writeFileSync(
      join(place.report, 'capture-1-1.jsonl'),
      marks.map((m) => `${JSON.stringify(m)}\n`).join(''),
    );
  const tests = [run, plan('a'), plan('b'), end('a', 'passed'), end('b', 'failed'), done('failed')];
  write(place, tests);

  tell([mark('b'), soft('b'), { kind: 'secret', value: 'hidden' }]);
  const forgiven = await read(place);
  expect(forgiven).toMatchObject({
    failure: null,
    degraded: { message: 'b is slow' },
    secrets: ['hidden'],
    totals: { passed: 2, failed: 0, degraded: 1 },
  });

  tell([mark('a'), soft('b')]);
  const unmarked = await read(place);
  expect(unmarked).toMatchObject({ failure: { code: 'TEST_FAILED' }, degraded: null, totals: { failed: 1 } });

  tell([mark('b')]);
  expect(await read(place)).toMatchObject({ failure: { code: 'TEST_FAILED' }, degraded: null });
});

test('a thousand tests fit: failed ones with their steps, the others without', async () => {
  const place = folders();
  const steps = Array.from({ length: 40 }, (_, index) => ({
    title: `step ${index} ${'x'.repeat(100)}`,
    category: 'test.step',
    startTime: 1,
    durationMs: 1,
    error: null,
    steps: [],
  }));
  const lines = Array.from({ length: 1000 }, (_, index) => [
    plan(`t${index}`),
    end(`t${index}`, index % 100 === 50 ? 'failed' : 'passed', { steps }),
  ]).flat();
  write(place, [run, ...lines, done('failed')]);
  const report = await read(place);
  expect(JSON.stringify(report.tests).length).toBeLessThan(1.1 * 1024 * 1024);
  expect(report.testsLeftOut).toBe(0);
  expect(report.totals).toMatchObject({ tests: 1000, failed: 10 });
  expect(
    report.tests.filter(({ status }) => status === 'failed').every(({ steps: own }) => own.length === 40),
  ).toBe(true);
});

test('files: failed tests first, unique names, at most so many; the rest is in the report', async () => {
  const place = folders();
  const output = join(place.project, 'test-results');
  mkdirSync(output);
  const attachment = (name: string) => {
    writeFileSync(join(output, name), name);
    return { name: 'trace', contentType: 'application/zip', path: join(output, name), kept: null };
  };
  mkdirSync(join(place.report, 'html-100-1', 'data'), { recursive: true });
  writeFileSync(join(place.report, 'html-100-1', 'index.html'), '<html>');
  writeFileSync(join(place.report, 'html-100-1', 'data', 'a.zip'), 'x');
  writeFileSync(join(place.report, 'results-100-1.json'), '{}');
  write(place, [
    run,
    plan('Zurück: an/ab', { titlePath: ['a.spec.ts', 'group', 'Zurück: an/ab'], project: 'Mobile Safari' }),
    plan('b'),
    plan('日本', { id: 'abcdef-123456789012' }),
    end('Zurück: an/ab', 'passed', { attachments: [attachment('1.zip')] }),
    end('b', 'failed', { attachments: [attachment('2.zip'), attachment('3.zip')] }),
    end('b', 'failed', { retry: 1, attachments: [attachment('4.zip')] }),
    end('abcdef-123456789012', 'passed', { attachments: [attachment('5.zip')] }),
    done('failed'),
  ]);
  const report = await readSuiteReport({ place, end: ended, lastLines: [], maxFiles: 6 });
  expect(report.files.map(({ name, type }) => `${type} ${name}`)).toEqual([
    'report report.zip',
    'report test-results.json',
    'trace a-b-retry1.zip',
    'trace a-b.zip',
    'trace a-b-2.zip',
    'trace a-group-Zur-ck-an-ab-Mobile-Safari.zip',
  ]);
  expect(report.notes).toEqual([
    '3 tests: 2 passed, 1 failed',
    '1 files of tests are only in report.zip: a run has at most 6 artifacts',
  ]);
  expect(report.tests[1]?.attachments.map(({ artifact }) => artifact)).toEqual([
    'a-b.zip',
    'a-b-2.zip',
    'a-b-retry1.zip',
  ]);
});

test('no file name has the beginning of a part of a title: a part that does not fit is left out', async () => {
  const place = folders();
  const output = join(place.project, 'test-results');
  mkdirSync(output, { recursive: true });
  for (const name of ['1.zip', '2.txt']) writeFileSync(join(output, name), 'x');
  const secret = 'walnut-tree-in-full-bloom';
  const long = `${'w'.repeat(80)} ${secret}`;
  write(place, [
    run,
    plan('a', { titlePath: ['a.spec.ts', 'group', long, 'last'], project: `${'p'.repeat(20)} ${secret}` }),
    end('a', 'passed', {
      attachments: [
        { name: 'trace', contentType: 'application/zip', path: join(output, '1.zip'), kept: null },
        {
          name: `${'n'.repeat(40)} ${secret}`,
          contentType: 'text/plain',
          path: join(output, '2.txt'),
          kept: null,
        },
      ],
    }),
    done('passed'),
  ]);
  const report = await readSuiteReport({ place, end: ended, lastLines: [], maxFiles: 6 });
  expect(report.files.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['a-group-a.zip', 'a-group-a-2.txt']),
  );
});

test('the JSON report: Playwright’s own with the status of the run, or one in its format when the run was killed', async () => {
  const place = folders();
  const jsonOf = ({ files }: { files: { name: string; path: string }[] }): unknown =>
    JSON.parse(readFileSync(files.find(({ name }) => name === 'test-results.json')?.path ?? '', 'utf8'));
  const titlePath = ['a.spec.ts', 'group', 'a'];
  const lines = [run, plan('a', { titlePath, tags: ['@x'] }), plan('b'), end('a', 'passed')];
  write(place, lines);
  expect(jsonOf(await read(place))).toMatchObject({
    suites: [
      {
        title: 'a.spec.ts',
        specs: [{ title: 'b', ok: true, tests: [{ results: [], status: 'skipped' }] }],
        suites: [
          {
            title: 'group',
            specs: [
              { title: 'a', tags: ['x'], tests: [{ status: 'expected', results: [{ status: 'passed' }] }] },
            ],
          },
        ],
      },
    ],
    stats: { expected: 1, skipped: 1, unexpected: 0, flaky: 0 },
    _service: { status: 'interrupted', totals: { tests: 2, passed: 1, interrupted: 1 } },
  });

  const own = { config: { version: '1' }, suites: [], stats: { expected: 2 } };
  writeFileSync(join(place.report, 'results-100-1.json'), JSON.stringify(own, undefined, 2));
  write(place, [...lines, end('b', 'passed'), done('passed')]);
  expect(jsonOf(await read(place, 0))).toMatchObject({
    ...own,
    _service: { status: 'passed', degraded: null, totals: { tests: 2, passed: 2 } },
  });
});

test('a file that a later run deleted is kept; links to other files are not followed', async () => {
  const place = folders();
  const outside = folders();
  const path = (name: string) => join(place.project, name);
  writeFileSync(join(outside.project, 'key'), 'secret');
  const kept = join(place.report, 'kept-100-1');
  mkdirSync(kept);
  writeFileSync(path('cleared.zip'), 'x');
  linkSync(path('cleared.zip'), join(kept, '1-cleared.zip'));
  rmSync(path('cleared.zip'));
  writeFileSync(path('there.zip'), 'x');
  linkSync(path('there.zip'), join(kept, '2-there.zip'));
  symlinkSync(join(outside.project, 'key'), path('link.zip'));
  linkSync(join(outside.project, 'key'), path('hard.zip'));
  symlinkSync(outside.project, path('folder'));
  mkdirSync(join(place.report, 'html-100-1'));
  linkSync(join(outside.project, 'key'), join(place.report, 'html-100-1', 'index.html'));
  symlinkSync(join(outside.project, 'key'), join(place.report, 'results-100-1.json'));
  const given = [
    { path: path('cleared.zip'), kept: join(kept, '1-cleared.zip') },
    { path: path('there.zip'), kept: join(kept, '2-there.zip') },
    { path: path('link.zip'), kept: null },
    { path: path('hard.zip'), kept: path('link.zip') },
    { path: join(path('folder'), 'key'), kept: null },
    { path: join(outside.project, 'key'), kept: join(outside.project, 'key') },
  ].map((each, index) => ({ name: `n${index}`, contentType: 'text/plain', ...each }));
  write(place, [run, plan('a'), end('a', 'passed', { attachments: given }), done('passed')]);
  const report = await read(place, 0);
  expect(report.files.map(({ path: where }) => where.slice(place.root.length))).toEqual([
    expect.stringMatching(/^\/zips-\w+\/report\.zip$/),
    expect.stringMatching(/^\/json-\w+\/results\.json$/),
    '/report/kept-100-1/1-cleared.zip',
    '/project/there.zip',
  ]);
  expect(existsSync(join(outside.project, 'key'))).toBe(true);

  rmSync(place.report, { recursive: true });
  write(outside, [run, plan('a'), end('a', 'passed'), done('passed')]);
  symlinkSync(outside.report, place.report);
  expect((await read(place, 0)).totals.tests).toBe(0);
});

test('invalid, unknown and endless lines are ignored', async () => {
  const place = folders();
  const text = [
    'null',
    '[]',
    '"x"',
    '{',
    JSON.stringify({ kind: 'plan', id: 5, titlePath: 'x', tags: [1, null] }),
    JSON.stringify({ ...end('a', 'failed'), id: 'unknown' }),
    JSON.stringify(plan('a', { line: -3, titlePath: [1, 2] })),
    JSON.stringify(
      end('a', 'failed', { errors: 'x', steps: { length: 1e9 }, attachments: [null, 7], retry: 1e9 }),
    ),
    JSON.stringify(
      end('a', 'strange', { durationMs: 'x', startTime: Number.NaN, errors: [7], steps: [null] }),
    ),
    'x'.repeat(1024 * 1024),
    JSON.stringify(done('strange')),
    '{"kind":"done","sta',
  ].join('\n');
  writeFileSync(join(place.report, 'run-100-1.jsonl'), text);
  mkdirSync(join(place.report, 'run-200-1.jsonl'));
  symlinkSync('/etc/passwd', join(place.report, 'run-300-1.jsonl'));
  const report = await read(place);
  expect(report.failure?.code).toBe('TEST_FAILED');
  expect(report.tests.map(({ status, line, durationMs }) => ({ status, line, durationMs }))).toEqual([
    { status: 'interrupted', line: 0, durationMs: 0 },
    { status: 'failed', line: 0, durationMs: 0 },
  ]);
});
