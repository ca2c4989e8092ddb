import { expect, test } from 'vitest';
import { artifactLines, scriptLines } from '../../../src/commands/run/report-script.ts';

test('tests with their steps and errors, calls, pages', () => {
  const lines = scriptLines({
    errors: ['told with its test'],
    tests: [
      {
        title: 'orders',
        titlePath: ['shop.spec.ts', 'shop', 'orders'],
        status: 'passed',
        degraded: false,
        durationMs: 1234.5,
        errors: [],
        steps: [
          {
            title: 'search',
            category: 'test.step',
            durationMs: 200,
            error: null,
            steps: [{ title: 'page.goto', category: 'pw:api', durationMs: 20, error: null, steps: [] }],
          },
        ],
      },
      {
        title: 'pays',
        titlePath: ['shop.spec.ts', 'pays'],
        status: 'timedOut',
        degraded: false,
        durationMs: 2000,
        errors: ['Timed out \u001b[31m2000 ms\u001b[0m\n\n  at shop.spec.ts:4'],
        steps: [],
      },
      {
        title: 'slow',
        titlePath: ['x', 'slow'],
        status: 'passed',
        degraded: true,
        durationMs: 1,
        errors: [],
      },
    ],
    apiCalls: [
      {
        request: { method: 'GET', url: 'http://shop.test/json' },
        response: { status: 200 },
        error: null,
        durationMs: 12.2,
      },
      {
        request: { method: 'PUT', url: 'http://shop.test/' },
        response: null,
        error: 'ECONNREFUSED',
        durationMs: 1,
      },
    ],
    pages: [
      {
        url: 'http://shop.test/',
        webVitals: {
          CLS: { score: 'GOOD', value: 0.01 },
          LCP: { score: 'NEEDS_IMPROVEMENT', value: 2600.4 },
        },
        consoleErrors: ['broken'],
        networkErrors: [],
      },
    ],
  });
  expect(lines).toEqual([
    'ok      shop › orders  1235 ms',
    '        · search  200 ms',
    'FAILED  pays  2000 ms',
    '        Timed out  [31m2000 ms [0m',
    '          at shop.spec.ts:4',
    'DEGR    slow  1 ms',
    'call    GET http://shop.test/json  200  12 ms',
    'call    PUT http://shop.test/  ECONNREFUSED  1 ms',
    'page    http://shop.test/',
    '        CLS 0.010 good, LCP 2600 ms needs improvement',
    '        console: broken',
  ]);
});

test('errors of a script without tests, and none for other types', () => {
  expect(scriptLines({ errors: ['SyntaxError: no'], tests: [] })).toEqual(['        SyntaxError: no']);
  expect(scriptLines({ response: { status: 200 } })).toEqual([]);
});

test('artifacts with a size that can be read', () => {
  expect(
    artifactLines([
      { name: 'a.zip', type: 'trace', size: 3_500_000 },
      { name: 'b.png', type: 'screenshot', size: 20_000 },
      { name: 'c', type: 'file', size: 5 },
    ]),
  ).toEqual(['trace       a.zip  3.3 MB', 'screenshot  b.png  20 KB', 'file        c  5 bytes']);
});
