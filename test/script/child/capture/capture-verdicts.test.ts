import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { captureRun, removeRuns, runtimeNamed, type CaptureRun } from './capture-run.ts';

/** How tests, soft assertions, marks and broken scripts become a verdict: through the runtime's own `playwright test`. */

afterAll(removeRuns);

const runtime = runtimeNamed();

const script = (body: string): string => `import { test, expect } from '@playwright/test';
import { markCheckAsDegraded, secret } from '@location-agent/helpers';
${body}`;

/** Code of the failure, reason of the degradation, status of each test (a star: degraded). */
type Verdict = [failure: string | null, degraded: string | null, statuses: string];

const soft = `expect.soft(1, 'own words').toBe(2);`;
const hard = `expect(1).toBe(2);`;

const cases: [name: string, body: string, ...Verdict][] = [
  ['a soft failure without a mark fails', `test('a', () => { ${soft} });`, 'TEST_FAILED', null, 'failed'],
  ['a mark alone degrades', `test('a', () => { markCheckAsDegraded('slow'); });`, null, 'slow', 'passed*'],
  [
    'marks before and after soft failures, in a step, a hook, twice, each reason reported once',
    `test.beforeEach(() => { if (test.info().title === 'hooked') markCheckAsDegraded('hook'); });
       test('after', async () => { ${soft} await test.step('s', async () => { ${soft} markCheckAsDegraded('one'); }); });
       test('twice', () => { markCheckAsDegraded('one'); markCheckAsDegraded('two'); ${soft} });
       test('async', async () => { await expect.configure({ soft: true }).poll(() => 1, { timeout: 20 }).toBe(2); markCheckAsDegraded(); });
       test('hooked', () => { ${soft} });
       test('plain', () => undefined);`,
    null,
    'one; two; hook',
    'passed* passed* passed* passed* passed',
  ],
  [
    'a mark after the test, in a hook',
    `test.afterEach(() => markCheckAsDegraded('late')); test('a', () => { ${soft} });`,
    null,
    'late',
    'passed*',
  ],
  [
    'a hard failure next to a soft one fails, marked or not',
    `test('a', () => { markCheckAsDegraded('x'); ${soft} ${hard} });`,
    'TEST_FAILED',
    null,
    'failed',
  ],
  [
    'a hard failure in another test fails',
    `test('a', () => { markCheckAsDegraded('x'); }); test('b', () => { ${hard} });`,
    'TEST_FAILED',
    null,
    'passed failed',
  ],
  [
    'a timeout fails, marked or not',
    `test('a', async () => { test.setTimeout(200); markCheckAsDegraded('x'); ${soft} await new Promise(() => {}); });
       test('b', async () => { test.setTimeout(200); await new Promise(() => {}); });`,
    'TEST_FAILED',
    null,
    'failed timedOut',
  ],
  [
    'the mark of a retried try does not count, the last try does',
    `test.describe.configure({ retries: 1 });
       test('a', () => { if (test.info().retry === 0) { markCheckAsDegraded('x'); ${hard} } });
       test.fail('b', () => { ${hard} }); test.skip('c', () => undefined);`,
    null,
    null,
    'passed passed skipped',
  ],
  [
    'a test that should fail and passes, fails',
    `test.fail('b', () => undefined);`,
    'TEST_FAILED',
    null,
    'failed',
  ],
];
const fileOf = (name: string) => `${name.replaceAll(/[^a-z]+/g, '-')}.spec.ts`;

describe.skipIf(runtime === undefined)('statuses', () => {
  let all: CaptureRun;

  // All of them in one run of Playwright, each in its own file.
  beforeAll(async () => {
    if (runtime === undefined) return;
    const files = Object.fromEntries(cases.map(([name, body]) => [fileOf(name), script(body)]));
    files['script.ts'] = script(`test('fine', () => { secret('a value'); console.log('printed'); });
test.describe('group', () => { test('broken', async () => { await test.step('outer', async () => { ${hard} }); }); });`);
    all = await captureRun({ runtime, checkType: 'MULTI_STEP', files, testMatch: '*.ts' });
    // Playwright starts another process after each test that fails: seconds, but more of them on a busy machine.
  }, 150_000);

  test.each(cases)('%s', async (name, _, ...expected) => {
    const run = await all.ofFile(fileOf(name));
    const statuses = run.details.tests.map(({ status, degraded }) => (degraded ? `${status}*` : status));
    expect([run.failure?.code ?? null, run.degraded?.message ?? null, statuses.join(' ')]).toEqual(expected);
  });

  // One run for them too: Playwright reports each file that it cannot load.
  test('scripts that throw while they load, with a syntax error, with a package that is not there', async () => {
    if (runtime === undefined) return;
    const files = {
      'throws.spec.ts': `throw new TypeError('boom at load');`,
      'syntax.spec.ts': `const = 3;`,
      'package.spec.ts': `import 'no-such-package';`,
    };
    const broken = await captureRun({ runtime, checkType: 'MULTI_STEP', files, testMatch: '*.spec.ts' });
    expect(broken.run.details.tests).toEqual([]);
    const verdict = async (words: string) => (await broken.ofError(words)).failure;
    expect(await verdict('boom')).toEqual({
      code: 'SCRIPT_THREW',
      owner: 'script',
      message: 'TypeError: boom at load',
    });
    expect(await verdict('syntax.spec')).toMatchObject({
      code: 'SCRIPT_INVALID',
      owner: 'script',
      message: expect.stringMatching(/SyntaxError: .*syntax\.spec\.ts.*Unexpected token/) as unknown,
    });
    expect(await verdict('no-such-package')).toMatchObject({
      code: 'SCRIPT_INVALID',
      owner: 'script',
      message: expect.stringContaining("Cannot find module 'no-such-package'") as unknown,
    });
  });

  test('the message of a failed run is one line with counts, title and the first error', async () => {
    const { secrets, output } = all;
    const run = await all.ofFile('script.ts');
    expect(run.failure).toEqual({
      code: 'TEST_FAILED',
      owner: 'target',
      message: '1 of 2 tests failed: broken: Error: expect(received).toBe(expected) // Object.is equality',
    });
    expect(run.details.errors).toHaveLength(1);
    // oxlint-disable-next-line no-control-regex -- what must not be there
    expect(run.details.errors[0]).not.toMatch(/\u001b|node_modules|\/tmp\//);
    expect(run.details.errors[0]).toContain('at script.ts:');
    expect(run.details.tests[1]).toMatchObject({ titlePath: ['script.ts', 'group', 'broken'] });
    expect(run.details.tests[1]?.steps).toContainEqual(
      expect.objectContaining({
        title: 'outer',
        category: 'test.step',
        error: expect.stringContaining('toBe(expected)') as unknown,
        steps: [expect.objectContaining({ category: 'expect' }) as unknown],
      }),
    );
    expect(secrets).toEqual(['a value']);
    expect(output).toContain('printed');
    expect(run.details).not.toHaveProperty('pages');
    expect(run.files.map(({ name, type }) => ({ name, type }))).toContainEqual({
      name: 'report.json',
      type: 'report',
    });
  });
});
