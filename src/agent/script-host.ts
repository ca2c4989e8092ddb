import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentConfig } from '../config.ts';
import { AgentError, toError } from '../errors.ts';
import type { ScriptsOptions } from '../script/create-scripts.ts';
import type { Scripts } from '../script/interface/scripts.ts';

/**
 * Support for customer code in this agent: the installed runtimes and suite engines, searched for at intervals, and
 * the processes that run scripts. The latter are loaded with the first job that has a script.
 */
export type ScriptHost = {
  /** False if the package has no runtimes at all (the uptime image): no script code is ever loaded. */
  readonly carriesScripts: boolean;
  /** Usable runtimes, newest first, as of the last search. */
  runtimes: () => readonly string[];
  /** Suite engines, such as `node 22.23.3`, the default first, as of the last search. */
  engines: () => readonly string[];
  /** Reads the installed runtimes and engines again; true if they have changed. Never rejects. */
  refresh: () => Promise<boolean>;
  readonly scripts: Scripts;
};

/** `runtimes/` of the package that this program is part of. */
export function packageRuntimes(): string {
  return packageFolder('runtimes');
}

/** False if the package has no runtimes at all, not even their package lists: the uptime image. */
export function carriesScripts(runtimesFolder: string = packageRuntimes()): boolean {
  return existsSync(runtimesFolder);
}

/** `engines/` of the package: the suite engines and their installers. */
export function packageEngines(): string {
  return packageFolder('engines');
}

function packageFolder(name: string): string {
  // package.json is two folders up from both src/agent and dist/agent.
  return join(fileURLToPath(new URL('../..', import.meta.url)), name);
}

/** The script options that the agent's settings determine. */
export function scriptSettings({
  dataDir,
  dependencyCache,
  installEnvironment,
  extraCaFile,
  playwrightBrowsersPath,
}: Pick<
  AgentConfig,
  'dataDir' | 'dependencyCache' | 'installEnvironment' | 'extraCaFile' | 'playwrightBrowsersPath'
>) {
  return {
    dataFolder: dataDir,
    dependencyCache,
    installEnvironment: Object.fromEntries(
      Object.entries(installEnvironment).map(([name, secret]) => [name, secret.reveal()]),
    ),
    extraCaFile,
    playwrightBrowsersPath,
  } satisfies Partial<ScriptsOptions>;
}

export function createScriptHost(options: ScriptsOptions & { enginesFolder: string }): ScriptHost {
  const { runtimesFolder, enginesFolder, dataFolder } = options;
  const carried = carriesScripts(runtimesFolder);
  const warned = new Set<string>();
  // Warn once: the search is repeated, and a broken runtime stays broken.
  const warn = (line: string) => {
    if (!warned.has(line)) options.warn(line);
    warned.add(line);
  };
  let names: readonly string[] = [];
  let engines: readonly string[] = [];
  let opened: Promise<Scripts> | null = null;
  let closed = false;

  const open = async (): Promise<Scripts> => {
    if (closed) throw new AgentError('INTERNAL', 'the agent is stopping');
    const { createScripts } = await import('../script/create-scripts.ts').catch((error: unknown) => {
      throw new AgentError('INTERNAL', `this agent has no script code (${toError(error).message})`);
    });
    return createScripts({ ...options, warn });
  };
  const current = (): Promise<Scripts> => (opened ??= open());

  const refreshRuntimes = async (): Promise<boolean> => {
    try {
      const { installedRuntimes } = await import('../script/process/runtimes.ts');
      const found = installedRuntimes(runtimesFolder, warn).map(({ name }) => name);
      if (same(found, names)) return false;
      names = found;
      return true;
    } catch (error) {
      warn(`cannot search for runtimes: ${toError(error).message}`);
      return false;
    }
  };
  const refreshEngines = async (): Promise<boolean> => {
    try {
      // Most hosts without engines have no such folder either, so nothing is loaded for them.
      const found = existsSync(enginesFolder)
        ? (await import('../script/suite/install/engines.ts')).findEngines(dataFolder, enginesFolder)
        : [];
      const titles = found.map(({ name, version }) => `${name} ${version}`);
      if (same(titles, engines)) return false;
      engines = titles;
      return true;
    } catch (error) {
      warn(`cannot search for suite engines: ${toError(error).message}`);
      return false;
    }
  };

  return {
    carriesScripts: carried,
    runtimes: () => names,
    engines: () => engines,
    refresh: async () => {
      if (!carried || closed) return false;
      const changed = [await refreshRuntimes(), await refreshEngines()];
      return changed.includes(true);
    },
    scripts: {
      get runtimes() {
        return names;
      },
      openApiScripts: async (run) => (await current()).openApiScripts(run),
      runPlaywright: async (run) => (await current()).runPlaywright(run),
      runSuite: async (run) => (await current()).runSuite(run),
      close: async () => {
        closed = true;
        const scripts = await opened?.catch(() => null);
        await scripts?.close();
      },
    },
  };
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}
