/**
 * A Playwright suite of 20 tests against local pages. Compared with `npx playwright test` in a folder of the same project with
 * installed packages, on the same Node and Chromium; the two alternate, both with traces, two workers and no retries. The agent's
 * side is a complete run of a suite that it ran before: bundle, cached packages, browsers, tests, reports. Limits: 1.10 × the peer's
 * wall time, and 3 s from the claim to the first test. Argument: number of timed runs (3).
 */
import { spawn } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { browsersFor } from '../src/script/playwright/browsers.ts';
import { chooseEngine, findEngines } from '../src/script/suite/install/engines.ts';
import { packBundle } from '../src/script/suite/bundle/pack.ts';
import { createSuiteRunner } from '../src/script/suite/run-suite.ts';
import { machine, percentile, report, temporaryFolder } from './lib/processes.ts';
import { enginesFolder, installerVariables, linkPackageFolders, makeProject } from './lib/suite-project.ts';

const rounds = Number(process.argv[2] ?? 3);
const tests = 20;
const limits = { ratio: 1.1, firstTestMs: 3000 };
// Outside of the checkout, because git ignores build/, so a bundle of a folder in it would be empty.
const folder = temporaryFolder();
linkPackageFolders();
const dataFolder = join(folder, 'data');
const engine = chooseEngine(findEngines(dataFolder, enginesFolder), null);

// Simulates a shop behind a network: each answer is delayed.
const server = createServer((request, response) => {
  setTimeout(() => {
    response.setHeader('content-type', 'text/html');
    response.end(
      `<!doctype html><title>${request.url}</title><h1>hello</h1><a href="/next">next</a><input id="name"><p></p>
<script>document.querySelector('#name').oninput = (event) => { document.querySelector('p').textContent = event.target.value; };</script>`,
    );
  }, 150);
});
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server's

const spec = (first: number) => `
import { test, expect } from '@playwright/test';
for (let number = ${first}; number < ${first + 5}; number++) {
  test('visit ' + number, async ({ page }) => {
    for (let round = 0; round < 3; round++) {
      await page.goto('/visit-' + number + '-' + round);
      await page.locator('#name').fill('somebody ' + round);
      await expect(page.locator('p')).toHaveText('somebody ' + round);
      await page.getByRole('link', { name: 'next' }).click();
      await expect(page).toHaveTitle('/next');
    }
  });
}`;
const project = makeProject(join(folder, 'project'), {
  'playwright.config.ts': `
import { defineConfig, devices } from '@playwright/test';
export default defineConfig({
  workers: 2, retries: 0, reporter: [['list'], ['json', { outputFile: 'own.json' }], ['html', { open: 'never' }]],
  use: { baseURL: '${url}', trace: 'on', video: 'off', screenshot: 'only-on-failure' },
  projects: [{ name: 'desktop', use: { ...devices['Desktop Chrome'] } }],
});`,
  ...Object.fromEntries([0, 1, 2, 3].map((part) => [`tests/part-${part}.spec.ts`, spec(part * 5)])),
});

const archive = join(folder, 'bundle.tar.gz');
const packed = await packBundle({ folder: project, to: archive });
const runner = createSuiteRunner({
  dataFolder,
  enginesFolder,
  installEnvironment: installerVariables(),
  fetchBundle: (_bundle, { path }) => Promise.resolve(copyFileSync(archive, path)),
  warn: (line) => process.stderr.write(`${line}\n`),
});

type Times = { ms: number; firstTestMs: number; stages: { [name: string]: number } };

async function ours(number: number): Promise<Times> {
  const workDir = join(folder, `work-${number}`);
  mkdirSync(workDir);
  const log: string[] = [];
  const claimedAt = Date.now();
  const began = performance.now();
  const run = await runner.run({
    suite: {
      bundle: { key: 'bench', digest: packed.digest, size: packed.size },
      workingDir: '',
      installCommand: null,
      testCommand: null,
      configPath: null,
      projects: [],
      tags: [],
      engine: null,
      browsers: [],
      maxMinutes: 30,
      refreshCache: false,
    },
    workDir,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
    signal: new AbortController().signal,
    log: (_level, line) => void log.push(line),
    onStage: () => undefined,
    addSecret: () => undefined,
    withhold: () => undefined,
  });
  const ms = performance.now() - began;
  if (run.failure !== null || run.details.totals.passed !== tests) {
    throw new Error(`${run.failure?.message ?? 'not all tests ran'}\n${log.join('\n')}`);
  }
  const path = run.files.find(({ name }) => name === 'test-results.json')?.path ?? '';
  const firstTestMs = firstStart(path) - claimedAt;
  rmSync(workDir, { recursive: true });
  return {
    ms,
    firstTestMs,
    stages: Object.fromEntries(run.details.stages.map(({ name, durationMs }) => [name, durationMs])),
  };
}

/** When the first test of Playwright's JSON report started. */
function firstStart(path: string): number {
  return [...readFileSync(path, 'utf8').matchAll(/"startTime": "([^"]+)",\s*"annotations"/g)]
    .map(([, time = '']) => Date.parse(time))
    .reduce((a, b) => Math.min(a, b), Infinity);
}

/** Installs the same project in a separate folder. */
async function preparePeer(): Promise<() => Promise<number>> {
  const prepared = join(folder, 'peer');
  cpSync(project, prepared, { recursive: true });
  const env = { PATH: `${engine.bin}:/usr/local/bin:/usr/bin:/bin`, HOME: folder, ...installerVariables() };
  await command('npm', ['ci', '--no-audit', '--no-fund'], prepared, env);
  const browsers = await browsersFor({ runtimeFolder: prepared, dataFolder: folder, sandbox: false });
  return async () => {
    const began = performance.now();
    await command('npx', ['playwright', 'test'], prepared, {
      ...env,
      PLAYWRIGHT_BROWSERS_PATH: browsers.folder,
    });
    return performance.now() - began;
  };
}

async function command(
  program: string,
  args: readonly string[],
  cwd: string,
  env: { [name: string]: string },
): Promise<void> {
  const child = spawn(join(engine.bin, program), args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with code ${code}`);
}

const median = (values: readonly number[]): number => percentile(values, 0.5);

try {
  const peer = await preparePeer();
  // The first run of each fills caches.
  await ours(0);
  await peer();
  const mine: Times[] = [];
  const whole: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    whole.push(await peer());
    mine.push(await ours(round));
  }
  const own = median(mine.map(({ ms }) => ms));
  const bare = median(whole);
  const ratio = own / bare;
  const first = median(mine.map(({ firstTestMs }) => firstTestMs));
  console.log(`A suite of ${tests} tests with traces, two workers, median of ${rounds} runs, ${machine}\n`);
  const row = (name: string, value: number, note: string) =>
    console.log(`${name.padEnd(26)} ${value.toFixed(0).padStart(8)} ms   ${note}`);
  row('ours', own, `${ratio.toFixed(2)} × (at most ${limits.ratio.toFixed(2)})`);
  for (const name of ['bundle', 'install', 'browsers', 'test', 'report'])
    row(`  ${name}`, median(mine.map(({ stages }) => stages[name] ?? 0)), '');
  row('npx playwright test', bare, '');
  row('claim to first test', first, `at most ${limits.firstTestMs} ms`);
  report({ name: 'suite', unit: 'ms', ours: own, peer: bare, limit: limits.ratio * bare, ratio });
  process.exitCode = ratio <= limits.ratio && first <= limits.firstTestMs ? 0 : 1;
} finally {
  await runner.close();
  server.close();
  rmSync(folder, { recursive: true, force: true });
}
