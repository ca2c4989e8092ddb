import type { ScriptType } from '../../protocol/check-types.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { CheckScript } from '../../protocol/script.ts';
import { normalScriptPath } from '../process/script-files.ts';
import { scriptTypeRows } from '../child/script-types.ts';

/** What a run's Playwright config is made of. All paths are absolute. */
export type ConfigOptions = {
  checkType: ScriptType;
  script: CheckScript;
  /** The folder that holds the user's files. */
  scriptFolder: string;
  outputFolder: string;
  /** What our reporter writes, and what Playwright's JSON reporter writes. */
  reporterFile: string;
  reportFile: string;
  /** A file that hands out our reporter's class. */
  reporterModule: string;
  keepAll: boolean;
  video: boolean;
  timeoutMs: number;
  agentVersion: string;
};

const allowed = ['timeout', 'use', 'expect'];
/** Of `use`: the browser, its start and the recordings are the agent's. */
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

/** The script's path, relative and normal; or why the script can't be run. */
export function scriptPathOf(script: CheckScript): { path: string } | Reason {
  const given = script.path ?? 'script.ts';
  const normal = normalScriptPath(given);
  const shown = JSON.stringify(given.slice(0, 200));
  if ('error' in normal) {
    return reasonOf('SCRIPT_INVALID', `the script's path ${shown} is refused: ${normal.error}`);
  }
  if (!extensions.test(normal.path)) {
    return reasonOf('SCRIPT_INVALID', `the script's path ${shown} must end in .ts, .js, .mts or .mjs`);
  }
  return normal;
}

/** What is wrong with the settings that a check may make; null = nothing. Names the key. */
export function refusedSetting(config: CheckScript['playwrightConfig']): Reason | null {
  if (config === null) return null;
  const refused = (key: string, why: string) =>
    reasonOf('SCRIPT_INVALID', `playwrightConfig.${key} can't be set by a check: ${why}`);
  for (const key of Object.keys(config)) {
    if (!allowed.includes(key)) {
      return refused(key.slice(0, 64), `only ${allowed.join(', ')} can; everything else is the agent's`);
    }
  }
  for (const key of Object.keys(config.use ?? {})) {
    if (refusedOfUse.includes(key)) {
      return refused(`use.${key}`, "the browser's start and its recordings are the agent's");
    }
  }
  const browserName = config.use?.['browserName'];
  if (browserName !== undefined && browserName !== 'chromium') {
    return refused('use.browserName', 'checks run in chromium');
  }
  return null;
}

/**
 * The text of the config file (CommonJS). It first tells the process that it is being read: what goes wrong from then on is
 * the script's doing.
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
    // A missing golden file is an error; nothing is written beside the script.
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
      : // Sites that turn headless browsers away know them by this name.
        `require('@playwright/test').devices['Desktop Chrome'].userAgent + ${JSON.stringify(` (location-agent/${options.agentVersion})`)}`;
  const file = `${options.scriptFolder}/${scriptPath}`.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return [
    `'use strict';`,
    `globalThis[Symbol.for('location-agent.playwright')]?.configured();`,
    // As text: a key such as __proto__ stays a key.
    `const config = JSON.parse(${JSON.stringify(JSON.stringify(config))});`,
    `config.testMatch = /^${file}$/;`,
    `config.projects[0].use.userAgent ??= ${defaultAgent};`,
    `module.exports = config;`,
    '',
  ].join('\n');
}

/** Playwright needs its loader for ES modules (a thread in each process, 50 ms) only where there are any. */
export function needsModuleLoader(script: CheckScript, scriptPath: string): boolean {
  return (
    /\.m[jt]s$/.test(scriptPath) ||
    script.files.some(
      ({ path, content }) =>
        /\.m[jt]s$/.test(path) || (/(^|\/)package\.json$/.test(path) && content.includes('"module"')),
    )
  );
}
