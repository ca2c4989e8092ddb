import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JobAborted } from '../../../src/errors.ts';
import { builtProgram } from '../../helpers/build.ts';
import { openFiles } from '../../helpers/suites/suite-results.ts';
import { reachesRegistry } from '../../helpers/suites/suite-registry.ts';
import { hasSuites, startSuites, suiteFixtures, type SuiteBench } from '../../helpers/suites/suites.ts';

/**
 * A suite that is cancelled, with the oldest and the newest release of Playwright that projects here have: SIGINT ends it as Ctrl-C
 * would, so that its own reports are there, and nothing of it stays. (run-suite.test.ts does so with the one in between.)
 */

const runs = hasSuites && (await reachesRegistry());

const spec = `
const { test } = require('@playwright/test');
test('quick', async ({}, info) => {
  await info.attach('note', { body: 'kept', contentType: 'text/plain' });
});
test('endless', async ({ page }) => {
  test.setTimeout(0);
  await page.setContent('<h1>here</h1>');
  console.log('it has begun');
  await new Promise(() => setInterval(() => undefined, 1000));
});
test('never begun', () => {});`;
const config = `
const http = require('node:http');
module.exports = { workers: 1, retries: 0, reporter: [['line'], ['json', { outputFile: 'own.json' }]],
  webServer: { command: 'node server.js', port: Number(process.env.SERVER_PORT) } };`;
const server = `require('node:http').createServer((_, response) => response.end('yes')).listen(Number(process.env.SERVER_PORT));`;

describe.runIf(runs)('a cancelled suite', { timeout: 120_000 }, () => {
  let bench: SuiteBench;
  beforeAll(async () => {
    await builtProgram();
    bench = startSuites({ builds: true });
  }, 180_000);
  afterAll(async () => {
    // With several runs at once, a process without a run's name cannot be attributed.
    const left = bench.processes();
    await bench.close();
    expect(left).toEqual([]);
  });

  const releases = [
    { fixture: 'npm-148', version: '1.48.2' },
    { fixture: 'npm-165', version: '1.65.1' },
  ];
  test.concurrent.each(releases)('Playwright $version', async ({ fixture, version }) => {
    const folder = join(bench.folder, fixture);
    mkdirSync(folder);
    for (const name of ['package.json', 'package-lock.json'])
      cpSync(join(suiteFixtures, fixture, name), join(folder, name));
    writeFileSync(join(folder, 'a.spec.js'), spec);
    writeFileSync(join(folder, 'server.js'), server);
    writeFileSync(join(folder, 'playwright.config.js'), config);
    const port =
      24_000 + ((process.pid * 2 + releases.findIndex((each) => each.version === version)) % 4_000);
    const started = await bench.start(folder, {
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', SERVER_PORT: String(port) },
    });
    await started.line('it has begun');
    started.abort.abort(new JobAborted('cancelled'));
    const run = await started.run;
    expect(run, started.log.join('\n')).toMatchObject({
      failure: { code: 'CANCELLED' },
      details: {
        playwrightVersion: version,
        runStatus: 'interrupted',
        totals: { tests: 3, passed: 1, interrupted: 2, failed: 0 },
      },
    });
    const told = /^the suite was stopped because it was cancelled after .*stage test had been running/;
    expect(started.log.some((line) => told.test(line))).toBe(true);
    const report = await openFiles(run);
    expect(report.config.version).toBe(version);
    expect(report.suites.flatMap(({ specs }) => specs).map(({ title }) => title)).toContain('endless');
    const of = (title: string) =>
      run.details.tests.find((each) => each.title === title)?.attachments.map(({ name }) => name);
    expect(of('quick')).toEqual(expect.arrayContaining(['note', 'trace']));
    expect(bench.processes().filter((line) => line.includes(started.workDir))).toEqual([]);
  });
});
