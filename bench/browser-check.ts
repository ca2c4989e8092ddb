/**
 * One trivial browser check with a trace and a video against a local page, after a warm-up. Compared with the same script run by
 * `npx playwright test` on the same runtime and Chromium; the two alternate. Limits: at most 1.15 × the peer without its start-up,
 * and at most 0.7 × the peer with it. Also measured: the peak memory of a run, and the memory growth of this process from the 20th
 * run (or the middle run, if there are fewer than 40) to the last. Arguments: number of timed runs (6), total number of runs (40; the project's
 * own goal is over 200).
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { browsersFor } from '../src/script/playwright/browsers.ts';
import { createPlaywrightRunner } from '../src/script/playwright/run.ts';
import { installedRuntimes } from '../src/script/process/runtimes.ts';
import { machine, report } from './lib/processes.ts';

const timedRuns = Number(process.argv[2] ?? 6);
const allRuns = Math.max(timedRuns, Number(process.argv[3] ?? 40));
const root = process.cwd();
const folder = join(root, 'build', 'bench', 'browser-check');
const runtime = installedRuntimes(join(root, 'runtimes'), (line) => process.stderr.write(`${line}\n`))[0];
if (runtime === undefined) {
  console.log('no runtime is installed: node scripts/runtime.mjs install 2026.04');
  process.exit(2);
}
const chosen = runtime;
rmSync(folder, { recursive: true, force: true });
mkdirSync(join(folder, 'peer'), { recursive: true });

const server = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html');
  response.end('<!doctype html><title>page</title><h1>hello</h1>');
});
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`; // a TCP server's
const script = `import { test, expect } from '@playwright/test';
test('page', async ({ page }) => {
  await page.goto('${url}');
  await expect(page.locator('h1')).toHaveText('hello');
});`;

const runner = createPlaywrightRunner({
  dataFolder: folder,
  slots: 1,
  warn: (line) => process.stderr.write(`${line}\n`),
});
const sandbox = false;
const browsers = await browsersFor({ runtimeFolder: chosen.folder, dataFolder: folder, sandbox });
writeFileSync(join(folder, 'peer', 'script.spec.ts'), script);
writeFileSync(
  join(folder, 'peer', 'playwright.config.cjs'),
  `module.exports = { workers: 1, use: { trace: 'on', video: 'on', screenshot: 'only-on-failure' }, reporter: [['json', { outputFile: 'report.json' }]] };`,
);
symlinkSync(join(chosen.folder, 'node_modules'), join(folder, 'peer', 'node_modules'));

/** Runs the agent's check once. Returns milliseconds, and the peak memory of all its processes in bytes. */
async function ours(number: number, measured: boolean): Promise<{ ms: number; peak: number }> {
  const workDir = join(folder, `work-${number}`);
  mkdirSync(workDir);
  let peak = 0;
  const timer = measured ? setInterval(() => (peak = Math.max(peak, memoryBelow(folder))), 100) : undefined;
  const began = performance.now();
  const run = await runner.run(chosen, {
    workDir,
    env: {},
    signal: new AbortController().signal,
    log: (level, line) => (level === 'info' ? undefined : console.error(line)),
    addSecret: () => undefined,
    withhold: () => undefined,
    checkType: 'BROWSER',
    keepAll: true,
    timeoutMs: 60_000,
    script: { runtimeId: chosen.name, content: script, path: null, files: [], playwrightConfig: null },
  });
  const ms = performance.now() - began;
  clearInterval(timer);
  if (run.failure !== null) throw new Error(run.failure.message);
  rmSync(workDir, { recursive: true });
  return { ms, peak };
}

/** Runs the script once with npx. Returns milliseconds in total and before the test started. */
async function peer(): Promise<{ ms: number; startUp: number }> {
  const began = performance.now();
  const beganAt = Date.now();
  const child = spawn('npx', ['playwright', 'test'], {
    cwd: join(folder, 'peer'),
    env: {
      PATH: `${dirname(chosen.node)}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      PLAYWRIGHT_BROWSERS_PATH: browsers.folder,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const ms = performance.now() - began;
  if (code !== 0) throw new Error(`npx playwright test ended with code ${code}`);
  const peerReport = JSON.parse(readFileSync(join(folder, 'peer', 'report.json'), 'utf8')) as {
    suites: { specs: { tests: { results: { startTime: string }[] }[] }[] }[];
  }; // Playwright's JSON report
  const startTime = peerReport.suites[0]?.specs[0]?.tests[0]?.results[0]?.startTime ?? '';
  return { ms, startUp: Date.parse(startTime) - beganAt };
}

/** Proportional memory of all processes whose environment names the folder, in bytes. */
function memoryBelow(place: string): number {
  let bytes = 0;
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(place)) continue;
      bytes +=
        Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) * 1024;
    } catch {
      // The process has exited, or belongs to another user.
    }
  }
  return bytes;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

try {
  const times: number[] = [];
  const wholes: number[] = [];
  const withoutStart: number[] = [];
  let peak = 0;
  let early = 0;
  const earlyAt = Math.min(20, Math.max(1, Math.floor(allRuns / 2)));
  // The first run of each fills caches and starts the warm process.
  await ours(0, false);
  await peer();
  for (let number = 1; number <= allRuns; number++) {
    if (number <= timedRuns) {
      const { ms, startUp } = await peer();
      wholes.push(ms);
      withoutStart.push(ms - startUp);
      // The waiting process has finished loading when the next check arrives.
      await pause(1500);
    }
    const { ms } = await ours(number, false);
    if (number <= timedRuns) times.push(ms);
    if (number === earlyAt) early = process.memoryUsage().rss;
  }
  const late = process.memoryUsage().rss;
  ({ peak } = await ours(allRuns + 1, true));
  const mine = median(times);
  const whole = median(wholes);
  const bare = median(withoutStart);
  console.log(
    `One trivial browser check with a trace and a video, warm, median of ${timedRuns} runs, ${machine}\n`,
  );
  const row = (name: string, value: string, note: string) =>
    console.log(`${name.padEnd(34)} ${value.padStart(10)}   ${note}`);
  row('ours', `${mine.toFixed(0)} ms`, '');
  row(
    'npx playwright test',
    `${whole.toFixed(0)} ms`,
    `ours is ${(mine / whole).toFixed(2)} × (at most 0.70)`,
  );
  row(
    '  without its start-up',
    `${bare.toFixed(0)} ms`,
    `ours is ${(mine / bare).toFixed(2)} × (at most 1.15)`,
  );
  row('peak memory of one run', `${(peak / 1e6).toFixed(0)} MB`, 'of all its processes, shared pages once');
  row(
    `this process after ${earlyAt} and ${allRuns} runs`,
    `${(late / early).toFixed(2)} ×`,
    `${(early / 1e6).toFixed(0)} → ${(late / 1e6).toFixed(0)} MB (at most 1.10 over 200 runs)`,
  );
  report({
    name: 'browser-check',
    unit: 'ms',
    ours: mine,
    peer: whole,
    limit: 0.7 * whole,
    ratio: mine / whole,
  });
} finally {
  await runner.close();
  server.close();
  rmSync(folder, { recursive: true, force: true });
}
