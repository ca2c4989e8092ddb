import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemChromium } from '../../../src/script/playwright/browsers.ts';
import { createPlaywrightRunner, type RunnerOptions } from '../../../src/script/playwright/run.ts';
import type { PlaywrightRun } from '../../../src/script/interface/playwright-run.ts';
import { installedRuntimes, type Runtime } from '../../../src/script/process/runtimes.ts';
import type { PlaywrightOptions } from '../../../src/script/interface/scripts.ts';
import type { CheckScript } from '../../../src/protocol/script.ts';

/** Runs of Playwright scripts for tests, on the newest runtime of this checkout. */

const root = join(import.meta.dirname, '..', '..', '..');

export const runtime: Runtime | undefined = installedRuntimes(join(root, 'runtimes'), () => undefined)[0];

/** A runtime is installed (the set-up does it) and a Chromium is there. */
export const hasPlaywright = runtime !== undefined && systemChromium.some((path) => existsSync(path));
if (!hasPlaywright) {
  process.stderr.write('skipped here: browser checks, which need an installed runtime and a Chromium\n');
}

export type TestRun = {
  run: Promise<PlaywrightRun>;
  workDir: string;
  log: string[];
  secrets: string[];
  withheld: string[];
};

export type TestRunner = {
  folder: string;
  warnings: string[];
  start: (
    content: string,
    options?: Partial<Omit<PlaywrightOptions, 'script'>> & { script?: Partial<CheckScript> },
  ) => TestRun;
  /** Command lines of processes that belong to this runner. */
  processes: () => string[];
  /** Files of runs that are left below the data folder. */
  leftFolders: () => string[];
  close: () => Promise<void>;
};

export function startRunner(options: Partial<RunnerOptions> = {}): TestRunner {
  if (runtime === undefined) throw new Error('no runtime is installed');
  const chosen = runtime;
  const folder = mkdtempSync(join(tmpdir(), 'playwright-test-'));
  const warnings: string[] = [];
  const runner = createPlaywrightRunner({
    dataFolder: folder,
    slots: 1,
    warn: (line) => void warnings.push(line),
    ...options,
  });
  return {
    folder,
    warnings,
    start: (content, given = {}) => {
      const workDir = mkdtempSync(join(folder, 'work-'));
      const log: string[] = [];
      const secrets: string[] = [];
      const withheld: string[] = [];
      const { script, ...rest } = given;
      const run = runner.run(chosen, {
        workDir,
        env: { PATH: '/usr/bin:/bin', SERVICE_RUN: '1' },
        signal: new AbortController().signal,
        log: (_level, line) => void log.push(line),
        addSecret: (_name, value) => void secrets.push(value),
        withhold: (why) => void withheld.push(why),
        checkType: 'BROWSER',
        keepAll: false,
        timeoutMs: 60_000,
        ...rest,
        script: {
          runtimeId: chosen.name,
          content,
          path: null,
          files: [],
          playwrightConfig: null,
          ...script,
        },
      });
      return { run, workDir, log, secrets, withheld };
    },
    processes: () => processesOf(folder),
    leftFolders: () => {
      const runs = join(folder, 'playwright');
      return existsSync(runs) ? readdirSync(runs) : [];
    },
    close: async () => {
      await runner.close();
      const runs = join(folder, 'playwright');
      const left = existsSync(runs) ? readdirSync(runs) : [];
      rmSync(folder, { recursive: true, force: true });
      if (left.length > 0) throw new Error(`folders of runs are left: ${left.join(' ')}`);
    },
  };
}

/** Processes that name the folder in their arguments or their environment. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
      return line.includes(folder) || environment.includes(folder) ? [`${pid} ${line.slice(0, 200)}`] : [];
    } catch {
      return []; // It has ended.
    }
  });
}
