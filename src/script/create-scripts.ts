import { resolve } from 'node:path';
import { createApiScriptHost } from './api/run.ts';
import { playwrightCaches } from './playwright/browsers.ts';
import { announceConfinement } from './process/confinement.ts';
import { createPlaywrightRunner } from './playwright/run.ts';
import { limitScriptNetwork, type ScriptNetwork } from './process/script-network.ts';
import { installedRuntimes, type Runtime } from './process/runtimes.ts';
import type { Scripts } from './interface/scripts.ts';
import { createSuiteRunner } from './suite/run-suite.ts';
import type { SuiteRunnerOptions } from './suite/session.ts';
import { InvalidJobError } from '../errors.ts';

export type ScriptsOptions = Pick<
  SuiteRunnerOptions,
  'enginesFolder' | 'fetchBundle' | 'installEnvironment' | 'dependencyCache' | 'suiteSlots' | 'artifactBytes'
> & {
  /** The folder whose subfolders are runtimes. */
  runtimesFolder: string;
  /** The folder for browsers directories and other files that outlive a run. */
  dataFolder: string;
  /** Maximum number of concurrent browser and multi-step runs; as many processes are kept warm. */
  slots: number;
  /** PEM file of authorities that Node trusts in addition to its own, in scripts too; Chromium has its own. */
  extraCaFile?: string | null;
  /** Where to look for Playwright's own builds before the usual places. */
  playwrightBrowsersPath?: string | null;
  /** How far scripts reach; asked when a script's process starts. */
  network: () => ScriptNetwork;
  warn: (line: string) => void;
};

/** Customer code on this machine: its runtimes, and the processes that run it. */
export function createScripts(given: ScriptsOptions): Scripts {
  // Each script has its own working folder.
  const extraCaFile = typeof given.extraCaFile !== 'string' ? null : resolve(given.extraCaFile);
  const installed = playwrightCaches(given.playwrightBrowsersPath);
  const options = { ...given, extraCaFile, installed, browsers: { installed } };
  announceConfinement(options.warn);
  limitScriptNetwork(options.network);
  let runtimes: Runtime[] = [];
  const runtimeOf = (name: string): Runtime => {
    const known = (): Runtime | undefined => runtimes.find((each) => each.name === name);
    // It may have been installed since the last lookup.
    if (known() === undefined) runtimes = installedRuntimes(options.runtimesFolder, options.warn);
    const runtime = known();
    if (runtime !== undefined) return runtime;
    const others = runtimes.length === 0 ? 'none' : runtimes.map((each) => each.name).join(', ');
    throw new InvalidJobError(
      'RUNTIME_UNAVAILABLE',
      `runtime ${name} is not installed in this agent; installed: ${others}`,
    );
  };
  const apiScripts = createApiScriptHost(options);
  const playwright = createPlaywrightRunner(options);
  const suites = createSuiteRunner(options);
  return {
    get runtimes() {
      runtimes = installedRuntimes(options.runtimesFolder, options.warn);
      return runtimes.map(({ name }) => name);
    },
    openApiScripts: async (run) => apiScripts.open(runtimeOf(run.scripts.runtimeId), run),
    runPlaywright: async (run) => playwright.run(runtimeOf(run.script.runtimeId), run),
    runSuite: async (run) => suites.run(run),
    close: async () => {
      await Promise.all([apiScripts.close(), playwright.close(), suites.close()]);
    },
  };
}
