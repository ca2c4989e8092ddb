import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { SuiteSettings } from './format.ts';

/** Shared by the modules that are copied into a suite's run: the run's settings, and the Playwright that has loaded them. */

let known: SuiteSettings | null = null;

/** The bundle of this module is in the same folder. */
export function suiteSettings(): SuiteSettings {
  known ??= JSON.parse(readFileSync(join(__dirname, 'settings.json'), 'utf8')) as SuiteSettings; // written by the agent
  return known;
}

/** Set in the test processes and in every process that they start. */
export const inWorker = (): boolean => process.env['TEST_WORKER_INDEX'] !== undefined;

export const loader = createRequire(__filename);

/** The folder of the package `playwright` that runs in this process. */
export function playwrightFolder(): string | null {
  const inside = /^(.*[\\/]playwright)[\\/]lib[\\/]/;
  for (const path of [process.argv[1] ?? '', ...Object.keys(loader.cache)]) {
    const folder = inside.exec(path)?.[1];
    if (folder !== undefined && existsSync(join(folder, 'package.json'))) return folder;
  }
  return null;
}

/** The part of Playwright's own reporters that is used. */
export type OwnReporter = {
  onConfigure?: (config: unknown) => void;
  onBegin?: (suite: unknown) => void;
  onTestBegin?: (test: unknown, result: unknown) => void;
  onStdOut?: (chunk: unknown, test: unknown, result: unknown) => void;
  onStdErr?: (chunk: unknown, test: unknown, result: unknown) => void;
  onTestEnd?: (test: unknown, result: unknown) => void;
  onStepBegin?: (test: unknown, result: unknown, step: unknown) => void;
  onStepEnd?: (test: unknown, result: unknown, step: unknown) => void;
  onError?: (error: unknown) => void;
  onEnd?: (result: unknown) => unknown;
};
type Description = [name: string, options: { [name: string]: unknown }];
type CreateReporters = (...args: unknown[]) => Promise<OwnReporter[]>;

/** Playwright's function that creates its reporters, if its release has one that we know. */
function creator(): { create: CreateReporters; withServerFlag: boolean } | null {
  const folder = playwrightFolder();
  if (folder === null) return null;
  for (const file of ['lib/runner/reporters.js', 'lib/runner/index.js']) {
    const path = join(folder, file);
    if (!existsSync(path)) continue;
    try {
      const found = loader(path) as {
        createReporters?: unknown;
        runnerReporters?: { createReporters?: unknown };
      };
      const create = found.createReporters ?? found.runnerReporters?.createReporters;
      if (typeof create !== 'function') continue;
      // Releases before 1.50 take one more argument.
      const withServerFlag = /^async function createReporters\(\s*\w+,\s*\w+,\s*isTestServer/.test(
        String(create),
      );
      return { create: create as CreateReporters, withServerFlag };
    } catch {
      continue;
    }
  }
  return null;
}

export const canCreateReporters = (): boolean => creator() !== null;

/** Creates Playwright's own reporters in addition to those of the run. Null = this release is not supported. */
export async function createOwnReporters(
  configDir: string,
  descriptions: Description[],
): Promise<OwnReporter[] | null> {
  const found = creator();
  if (found === null) return null;
  const config = {
    config: { reporter: descriptions, tags: [] },
    configDir,
    configCLIOverrides: {},
    cliArgs: [],
  };
  // In this mode Playwright adds no terminal reporter.
  const args = found.withServerFlag
    ? [config, 'merge', false, descriptions]
    : [config, 'merge', descriptions];
  return withoutEnvironment(() => found.create(...args));
}

/** Variables that would redirect these reporters or start this one again. */
const misleading = /^PLAYWRIGHT_(HTML|JSON)_|^PLAYWRIGHT_HTML_REPORT$|^PW_TEST_(HTML_REPORT_OPEN|REPORTER)$/;

/** Runs the synchronous part of `work` without them. */
export function withoutEnvironment<Result>(work: () => Result): Result {
  const saved = Object.entries(process.env).filter(([name]) => misleading.test(name));
  for (const [name] of saved) delete process.env[name];
  try {
    return work();
  } finally {
    for (const [name, value] of saved) process.env[name] = value;
  }
}
