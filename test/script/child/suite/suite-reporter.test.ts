import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SuitePlace } from '../../../../src/script/suite/place/place.ts';
import { builtProgram } from '../../../helpers/build.ts';
import { runtimesHere } from '../../../helpers/scripts/runtimes.ts';
import { makeProject, removeProject, runProject } from '../../../helpers/suites/suite-project.ts';

/** The reports of a real Playwright, run without a browser, which makes no difference here. */

const places: SuitePlace[] = [];
const project = (files: { [path: string]: string }): SuitePlace => {
  const place = makeProject(files);
  places.push(place);
  return place;
};
beforeAll(async () => void (await builtProgram()), 120_000);
afterEach(() => places.splice(0).forEach(removeProject));

describe.skipIf(runtimesHere.length === 0)('a suite reports', () => {
  test('its degraded mark, soft assertions, response times and attachments', async () => {
    const place = project({
      'playwright.config.ts': `export default { retries: 0 };`,
      'a.spec.ts': `import { test, expect } from '@playwright/test';
import { getAPIResponseTime, markCheckAsDegraded, secret } from '@location-agent/helpers';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
test('degraded', { tag: '@slow' }, async () => {
  expect.soft(1).toBe(2);
  markCheckAsDegraded('too slow');
  expect.soft(3, 'with words of its own').toBe(4);
});
test('answers', async ({ request }, info) => {
  const server = createServer((_, response) => setTimeout(() => response.end('x'), 50));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const answer = await request.get(\`http://127.0.0.1:\${(server.address() as AddressInfo).port}\`);
  expect(getAPIResponseTime(answer)).toBeGreaterThan(40);
  await info.attach('token', { body: secret('hidden'), contentType: 'text/plain' });
  await test.step('a step', async () => expect(1).toBe(1));
  server.close();
});
test.fail('expected', () => { expect(1).toBe(2); });`,
    });
    const { report, code } = await runProject(place);
    expect(code).toBe(1);
    expect(report).toMatchObject({
      failure: null,
      degraded: { message: 'too slow' },
      runStatus: 'passed',
      totals: { tests: 3, passed: 3, degraded: 1, failed: 0 },
      secrets: ['hidden'],
    });
    const [degraded, answers] = report.tests;
    expect(degraded).toMatchObject({ degraded: true, status: 'passed', tags: ['@slow'] });
    expect(degraded?.errors).toHaveLength(2);
    expect(answers?.attachments).toEqual([
      { name: 'token', contentType: 'text/plain', artifact: 'a-answers-token.txt' },
      { name: 'trace', contentType: 'application/zip', artifact: 'a-answers.zip' },
    ]);
    expect(answers?.steps.map(({ title }) => title)).toContain('a step');
  }, 60_000);

  test('shards with a merged report as one run, files of the first included', async () => {
    const place = project({
      'playwright.config.ts': `export default { reporter: 'blob', fullyParallel: true, workers: 1 };`,
      'a.spec.ts': `import { test } from '@playwright/test';
for (const name of ['a', 'b', 'c', 'd']) test(name, async ({}, info) => { await info.attach('x', { body: name }); });`,
    });
    const testCommand =
      'playwright test --shard=1/2 && PWTEST_BLOB_DO_NOT_REMOVE=1 playwright test --shard=2/2 && playwright merge-reports --reporter=line blob-report';
    const { report, code } = await runProject(place, { testCommand });
    expect(code).toBe(0);
    expect(report).toMatchObject({ failure: null, runStatus: 'passed', totals: { tests: 4, passed: 4 } });
    expect(report.files.map(({ name }) => name).filter((name) => !name.startsWith('a-'))).toEqual([
      'report.zip',
      'test-results.json',
    ]);
    const traces = report.files.filter(({ type }) => type === 'trace').map(({ name }) => name);
    expect(traces.sort()).toEqual(['a-a.zip', 'a-b.zip', 'a-c.zip', 'a-d.zip']);
  }, 60_000);

  test('its progress until it was killed', async () => {
    const place = project({
      'playwright.config.ts': `export default { workers: 1 };`,
      'a.spec.ts': `import { test } from '@playwright/test';
test('quick', async () => {});
// Once the test above has been told, the process group is killed: as by an agent whose time is over.
test('cut', async () => { test.setTimeout(0); await new Promise((r) => setTimeout(r, 300)); process.kill(-Number(process.env.GROUP), 'SIGKILL'); });
test('never', async () => {});`,
    });
    const { report } = await runProject(place, { testCommand: 'GROUP=$$ playwright test' });
    expect(report).toMatchObject({
      failure: { code: 'SCRIPT_KILLED' },
      runStatus: 'interrupted',
      totals: { tests: 3, passed: 1, interrupted: 2 },
    });
    expect(report.files.map(({ name }) => name)).toEqual(['test-results.json', 'a-quick.zip']);
  }, 60_000);

  test('a global timeout by its own words, and tests that can’t be loaded', async () => {
    // The time in which the tests are loaded counts, too.
    const hanging = project({
      'playwright.config.ts': `export default { globalTimeout: 5000, workers: 1 };`,
      'a.spec.ts': `import { test } from '@playwright/test';
test('slow', async () => { await new Promise((r) => setTimeout(r, 20_000)); });
test('never begun', () => {});`,
    });
    const { report } = await runProject(hanging);
    expect(report).toMatchObject({ runStatus: 'timedout', totals: { tests: 2, failed: 0 } });
    expect(report.tests.map(({ title, status }) => `${title} ${status}`)).toEqual([
      'slow interrupted',
      'never begun interrupted',
    ]);
    expect(report.failure).toEqual({
      code: 'SCRIPT_TIMEOUT',
      owner: 'script',
      message: 'Timed out waiting 5000ms from config.globalTimeout.',
    });
    const broken = project({
      'playwright.config.ts': `throw new Error('no config today');`,
      'a.spec.ts': '',
    });
    expect((await runProject(broken)).report.failure).toMatchObject({
      code: 'SCRIPT_THREW',
      message: 'Error: no config today',
    });
  }, 60_000);
});
