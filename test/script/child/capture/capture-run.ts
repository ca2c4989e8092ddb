import { spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { RunReport } from '../../../../src/script/child/capture/format.ts';
import { readSecretRecords } from '../../../../src/script/playwright/secret-records.ts';
import { readPlaywrightReport } from '../../../../src/script/playwright/report.ts';
import type { PlaywrightRun } from '../../../../src/script/interface/playwright-run.ts';
import type { Runtime } from '../../../../src/script/process/runtimes.ts';
import { builtProgram } from '../../../helpers/build.ts';
import { runtimesHere } from '../../../helpers/scripts/runtimes.ts';

/** Runs scripts by `playwright test` of a runtime with our reporter and capture, without the agent's own process handling. */

/** The runtime of this name, or the newest, where it is installed. */
export function runtimeNamed(name?: string): Runtime | undefined {
  return runtimesHere.find((each) => name === undefined || each.name === name);
}

export type CaptureRun = {
  run: PlaywrightRun;
  secrets: string[];
  output: string;
  /** The expected result of this file alone. */
  ofFile: (path: string) => Promise<PlaywrightRun>;
  /** What would have come of it, had the error with these words been all. */
  ofError: (words: string) => Promise<PlaywrightRun>;
};

export type CaptureOptions = {
  runtime: Runtime;
  checkType?: 'BROWSER' | 'MULTI_STEP';
  /** By path; the first one is the script, unless `testMatch` says which. */
  files: { [path: string]: string };
  testMatch?: string;
  baseURL?: string;
  timeout?: number;
  trace?: 'on' | 'off';
};

const folders: string[] = [];

/** Removes what all runs left. */
export function removeRuns(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export async function captureRun(options: CaptureOptions): Promise<CaptureRun> {
  const { runtime, checkType = 'BROWSER' } = options;
  const child = join(dirname(await builtProgram()), 'script', 'child');
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'capture-')));
  folders.push(folder);
  const scriptFolder = join(folder, 'script');
  const outputFolder = join(folder, 'output');
  const captureFolder = join(folder, 'capture');
  symlinkSync(join(runtime.folder, 'node_modules'), join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(options.files)) {
    mkdirSync(dirname(join(scriptFolder, path)), { recursive: true });
    writeFileSync(join(scriptFolder, path), text);
  }
  const reporterFile = join(folder, 'run.json');
  const jsonReport = join(folder, 'report.json');
  const use = {
    browserName: 'chromium',
    baseURL: options.baseURL,
    trace: options.trace ?? 'off',
    screenshot: 'only-on-failure',
    launchOptions: { executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] },
  };
  const reporterModule = join(folder, 'reporter.cjs');
  const load = (name: string) => `require(${JSON.stringify(join(child, name))})`;
  writeFileSync(reporterModule, `module.exports = ${load('playwright/reporter.js')}.default;\n`);
  const config = {
    testDir: scriptFolder,
    testMatch: options.testMatch ?? Object.keys(options.files)[0],
    outputDir: outputFolder,
    workers: 1,
    timeout: options.timeout ?? 15_000,
    reporter: [
      [reporterModule, { outputFile: reporterFile }],
      ['json', { outputFile: jsonReport }],
    ],
    projects: [{ name: 'chromium', use }],
  };
  // CommonJS, as the agent's own: a config that is an ES module needs Playwright's loader for such.
  const configFile = join(folder, 'playwright.config.cjs');
  writeFileSync(
    configFile,
    `const { createRequire } = require('node:module');
const { install } = ${load('playwright/fixtures.js')};
if (process.env.TEST_WORKER_INDEX !== undefined) {
  install({
    require: createRequire(${JSON.stringify(join(runtime.folder, 'package.json'))}),
    checkType: ${JSON.stringify(checkType)},
    outputFolder: ${JSON.stringify(captureFolder)},
  });
}
module.exports = ${JSON.stringify(config)};
`,
  );
  const cli = join(runtime.folder, 'node_modules', '@playwright', 'test', 'cli.js');
  const output = await new Promise<string>((resolve, reject) => {
    const started = spawn(runtime.node, [cli, 'test', '--config', configFile], {
      cwd: scriptFolder,
      // As the agent does for scripts without ES modules: their loader would load Playwright's compiler a second time.
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        FORCE_COLOR: '1',
        PW_DISABLE_TS_ESM: '1',
        // Playwright starts another process after each test that fails.
        NODE_COMPILE_CACHE: join(folder, 'compiled'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 150_000,
      killSignal: 'SIGKILL',
    });
    let text = '';
    started.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    started.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    started.once('error', reject);
    started.once('close', () => resolve(text));
  });
  const reportOptions = {
    checkType,
    runtimeVersion: runtime.name,
    playwrightVersion: runtime.playwrightVersion,
    folder,
    originalFolder: folder,
    scriptFolder,
    outputFolder,
    captureFolder,
    reporterFile,
    jsonReport,
    startTime: Date.now(),
  };
  const report = await readPlaywrightReport(reportOptions);
  if (report === null) throw new Error(`there is no report:\n${output}`);
  const whole = JSON.parse(readFileSync(reporterFile, 'utf8')) as RunReport; // our own reporter's
  const withPart = async (part: Partial<RunReport>): Promise<PlaywrightRun> => {
    writeFileSync(reporterFile, JSON.stringify({ ...whole, ...part }));
    const read = await readPlaywrightReport(reportOptions);
    if (read === null) throw new Error('there is no report');
    return read;
  };
  const { secrets } = await readSecretRecords(captureFolder);
  return {
    run: report,
    secrets: [...secrets],
    output,
    ofFile: (path) => withPart({ tests: whole.tests.filter(({ titlePath }) => titlePath[0] === path) }),
    ofError: (words) => withPart({ errors: whole.errors.filter((error) => error.includes(words)) }),
  };
}
