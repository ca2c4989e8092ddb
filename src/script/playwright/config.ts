import type { ScriptType } from '../../protocol/check-types.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { CheckScript } from '../../protocol/script.ts';
import { normalScriptPath } from '../process/script-files.ts';
import { scriptTypeRows } from '../child/script-types.ts';
import { shortened } from '../../shortened.ts';

/** Input for a run's Playwright config. All paths are absolute. */
export type ConfigOptions = {
  checkType: ScriptType;
  script: CheckScript;
  /** The folder that contains the user's files. */
  scriptFolder: string;
  outputFolder: string;
  /** The output files of our reporter and of Playwright's JSON reporter. */
  reporterFile: string;
  reportFile: string;
  /** A file that exports our reporter's class. */
  reporterModule: string;
  keepAll: boolean;
  video: boolean;
  timeoutMs: number;
  agentVersion: string;
};

const allowed = ['timeout', 'use', 'expect'];
/** Keys of `use` that a check cannot set: the agent controls the browser, its start and the recordings. */
const refusedOfUse = [
  'launchOptions',
  'connectOptions',
  'channel',
  'headless',
  'screenshot',
  'trace',
  'video',
  'storageState',
  'defaultBrowserType',
];

const extensions = /\.[cm]?[jt]sx?$/;

/** The script's path, relative and normalized, or the reason why the script cannot be run. */
export function scriptPathOf(script: CheckScript): { path: string } | Reason {
  const given = script.path ?? 'script.ts';
  const normal = normalScriptPath(given);
  const shown = JSON.stringify(shortened(given, 200));
  if ('error' in normal) {
    return reasonOf('SCRIPT_INVALID', `the script's path ${shown} is invalid: ${normal.error}`);
  }
  if (!extensions.test(normal.path)) {
    return reasonOf('SCRIPT_INVALID', `the script's path ${shown} must end in .ts, .js, .mts or .mjs`);
  }
  return normal;
}

/** The error in the settings of a check; null = valid. Names the key. */
export function refusedSetting(config: CheckScript['playwrightConfig']): Reason | null {
  if (config === null) return null;
  const refused = (key: string, why: string) =>
    reasonOf('SCRIPT_INVALID', `playwrightConfig.${key} cannot be set by a check: ${why}`);
  for (const key of Object.keys(config)) {
    if (!allowed.includes(key)) {
      return refused(shortened(key, 64), `a check can set only ${allowed.join(', ')}`);
    }
  }
  for (const key of Object.keys(config.use ?? {})) {
    if (refusedOfUse.includes(key)) {
      return refused(`use.${key}`, "the agent controls the browser's start and its recordings");
    }
  }
  const browserName = config.use?.['browserName'];
  if (browserName !== undefined && browserName !== 'chromium') {
    return refused('use.browserName', 'checks run in chromium');
  }
  return null;
}

/**
 * The text of the config file (CommonJS). It first reports that it is being read: from then on, errors are the script's
 * fault.
 */
export function configText(options: ConfigOptions, scriptPath: string): string {
  const { script, checkType, keepAll } = options;
  const own = scriptTypeRows[checkType];
  const recording = keepAll ? 'on' : 'retain-on-failure';
  const use = {
    ...script.playwrightConfig?.use,
    browserName: 'chromium',
    headless: true,
    screenshot: 'only-on-failure',
    trace: recording,
    video: own.visitsPages && options.video ? recording : 'off',
  };
  const config = {
    testDir: options.scriptFolder,
    outputDir: options.outputFolder,
    respectGitIgnore: false,
    forbidOnly: false,
    fullyParallel: false,
    workers: 1,
    retries: 0,
    preserveOutput: 'always',
    // A missing golden file is an error; nothing is written next to the script.
    updateSnapshots: 'none',
    globalTimeout: options.timeoutMs,
    timeout: script.playwrightConfig?.timeout ?? 30_000,
    ...(script.playwrightConfig?.expect === undefined ? {} : { expect: script.playwrightConfig.expect }),
    reporter: [
      [options.reporterModule, { outputFile: options.reporterFile }],
      ['json', { outputFile: options.reportFile }],
    ],
    projects: [{ name: 'chromium', use }],
  };
  const defaultAgent =
    own.userAgent === 'agent'
      ? JSON.stringify(`location-agent/${options.agentVersion}`)
      : // Sites that reject headless browsers recognize them by this name.
        `require('@playwright/test').devices['Desktop Chrome'].userAgent + ${JSON.stringify(` (location-agent/${options.agentVersion})`)}`;
  const file = `${options.scriptFolder}/${scriptPath}`.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return [
    `'use strict';`,
    `globalThis[Symbol.for('location-agent.playwright')]?.configured();`,
    // As text, so that a key such as __proto__ stays a key.
    `const config = JSON.parse(${JSON.stringify(JSON.stringify(config))});`,
    `config.testMatch = /^${file}$/;`,
    `config.projects[0].use.userAgent ??= ${defaultAgent};`,
    `module.exports = config;`,
    '',
  ].join('\n');
}

/** Playwright needs its loader for ES modules (a thread in each process, 50 ms) only if there are any. */
export function needsModuleLoader(script: CheckScript, scriptPath: string): boolean {
  return (
    /\.m[jt]s$/.test(scriptPath) ||
    script.files.some(
      ({ path, content }) =>
        /\.m[jt]s$/.test(path) || (/(^|\/)package\.json$/.test(path) && content.includes('"module"')),
    )
  );
}
