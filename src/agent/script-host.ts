import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentConfig } from '../config.ts';
import { AgentError, toError } from '../errors.ts';
import type { ScriptsOptions } from '../script/create-scripts.ts';
import type { Scripts } from '../script/interface/scripts.ts';

/**
 * Customer code, as far as this agent has it: which runtimes and which engines of suites stand in the package, looked at
 * again and again (one may be installed while the agent runs), and the processes that run it, which are loaded with the first
 * job that has a script.
 */
export type ScriptHost = {
  /** False where the package has no runtimes at all (the uptime image): nothing of scripts is ever loaded. */
  readonly carriesScripts: boolean;
  /** Names of the runtimes that can be used, newest first, as last looked at. */
  runtimes: () => readonly string[];
  /** What suites run on, such as `node 22.23.3`, the default first, as last looked at. */
  engines: () => readonly string[];
  /** Reads the installed runtimes and engines again; true if they have changed. Never rejects. */
  refresh: () => Promise<boolean>;
  readonly scripts: Scripts;
};

/** `runtimes/` of the package that this program is part of. */
export function packageRuntimes(): string {
  return packageFolder('runtimes');
}

/** False where the package has no runtimes at all, not even their lists: the uptime image. */
export function carriesScripts(runtimesFolder: string = packageRuntimes()): boolean {
  return existsSync(runtimesFolder);
}

/** `engines/` of the package: what suites run on and install with. */
export function packageEngines(): string {
  return packageFolder('engines');
}

function packageFolder(name: string): string {
  // From src/agent as from dist/agent, package.json is two folders up.
  return join(fileURLToPath(new URL('../..', import.meta.url)), name);
}

/** The options of scripts that the settings of an agent decide. */
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
  // They are looked at often, and what is wrong with one stays wrong.
  const warn = (line: string) => {
    if (!warned.has(line)) options.warn(line);
    warned.add(line);
  };
  let names: readonly string[] = [];
  let engines: readonly string[] = [];
  let opened: Promise<Scripts> | null = null;
  let closed = false;

  const open = async (): Promise<Scripts> => {
    if (closed) throw new AgentError('INTERNAL', 'the agent stops');
    const { createScripts } = await import('../script/create-scripts.ts').catch((error: unknown) => {
      throw new AgentError('INTERNAL', `this agent carries no script code (${toError(error).message})`);
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
      warn(`runtimes cannot be looked for: ${toError(error).message}`);
      return false;
    }
  };
  const refreshEngines = async (): Promise<boolean> => {
    try {
      // Most hosts that have no engines have no such folder either, and load nothing for them.
      const found = existsSync(enginesFolder)
        ? (await import('../script/suite/install/engines.ts')).findEngines(dataFolder, enginesFolder)
        : [];
      const titles = found.map(({ name, version }) => `${name} ${version}`);
      if (same(titles, engines)) return false;
      engines = titles;
      return true;
    } catch (error) {
      warn(`engines of suites cannot be looked for: ${toError(error).message}`);
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
