import { expect, test } from 'vitest';
import { suiteSections } from '../../../src/commands/run/report-suite.ts';

const aTest = (title: string, status: string, more: object = {}) => ({
  title,
  titlePath: ['shop.spec.ts', title],
  project: 'desktop',
  status,
  degraded: false,
  durationMs: 12.4,
  retries: 0,
  errors: [],
  ...more,
});

test('counts, tools, failed tests first with their errors, stages', () => {
  const sections = suiteSections(
    {
      playwrightVersion: '1.58.0',
      engine: { name: 'node', version: '22.1.0' },
      packageManager: { name: 'npm', version: null },
      dependencyCache: 'hit',
      totals: {
        tests: 6,
        passed: 2,
        degraded: 1,
        failed: 1,
        flaky: 1,
        timedOut: 0,
        skipped: 1,
        interrupted: 1,
      },
      errors: ['told above', 'global setup: it broke'],
      tests: [
        aTest('buys', 'passed'),
        aTest('slow', 'passed', { degraded: true }),
        aTest('pays', 'failed', {
          retries: 2,
          errors: ['Error: \u001b[31mno money\u001b[0m\n  at shop.spec.ts:4'],
        }),
        aTest('late', 'interrupted'),
        aTest('lucky', 'flaky', { retries: 1 }),
        aTest('later', 'skipped', { project: '' }),
      ],
      testsLeftOut: 3,
      stages: [
        { name: 'bundle', startTime: 1, durationMs: 40 },
        { name: 'test', startTime: 1, durationMs: 12_345 },
      ],
    },
    'told above',
  );
  expect(sections).toEqual([
    [
      '6 tests: 2 passed, 1 degraded, 1 failed, 1 flaky, 1 skipped, 1 interrupted',
      'Playwright 1.58.0, node 22.1.0, npm, dependencies from the cache',
    ],
    ['        global setup: it broke'],
    [
      'FAILED  [desktop] shop.spec.ts › pays  12 ms  after 2 retries',
      '        Error:  [31mno money [0m',
      '          at shop.spec.ts:4',
    ],
    ['CUT OFF [desktop] shop.spec.ts › late  12 ms'],
    [
      'flaky   [desktop] shop.spec.ts › lucky  12 ms  after 1 retry',
      'ok      [desktop] shop.spec.ts › buys  12 ms',
      'DEGR    [desktop] shop.spec.ts › slow  12 ms',
      'skip    shop.spec.ts › later  12 ms',
      'and 3 more tests: see the saved report',
    ],
    ['bundle            0.0 s', 'test             12.3 s'],
  ]);
});

test('a run whose tests never began', () => {
  expect(
    suiteSections(
      { totals: { tests: 0 }, engine: null, errors: ['the install command failed'], stages: [] },
      null,
    ),
  ).toEqual([[], ['        the install command failed'], [], []]);
});
