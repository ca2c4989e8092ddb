import { openApiScripts } from './api-scripts.ts';
import { createPlaywrightRunner } from './playwright.ts';
import { installedRuntimes, type Runtime } from './runtimes.ts';
import type { Scripts } from './scripts.ts';
import { InvalidJobError } from '../errors.ts';

export type ScriptsOptions = {
  /** The folder whose subfolders are runtimes. */
  runtimesFolder: string;
  /** Where browsers directories and other things that outlive a run are kept. */
  dataFolder: string;
  /** Browser and multi-step runs that may go on at a time: as many processes are kept warm. */
  slots: number;
  warn: (line: string) => void;
};

/** Customer code on this machine: its runtimes, and the processes that run it. */
export function createScripts(options: ScriptsOptions): Scripts {
  const runtimes = installedRuntimes(options.runtimesFolder, options.warn);
  const runtimeOf = (name: string): Runtime => {
    const runtime = runtimes.find((each) => each.name === name);
    if (runtime !== undefined) return runtime;
    const known = runtimes.length === 0 ? 'none' : runtimes.map((each) => each.name).join(', ');
    throw new InvalidJobError(
      'RUNTIME_UNAVAILABLE',
      `runtime ${name} is not in this agent; it has: ${known}`,
    );
  };
  const playwright = createPlaywrightRunner(options);
  return {
    runtimes: runtimes.map(({ name }) => name),
    openApiScripts: async (run) => openApiScripts(runtimeOf(run.scripts.runtimeId), run),
    runPlaywright: async (run) => playwright.run(runtimeOf(run.script.runtimeId), run),
    close: () => playwright.close(),
  };
}
