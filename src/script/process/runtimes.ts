import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toError } from '../../errors.ts';

/** A runtime that is installed here: a fixed set of packages and the Node that they run on. */
export type Runtime = {
  name: string;
  /** The folder that contains its package.json and node_modules. */
  folder: string;
  /** Its own Node binary. */
  node: string;
  nodeVersion: string;
  playwrightVersion: string;
  multiStepSupport: boolean;
};

/** The state of a runtime below the folder of runtimes. */
export type FoundRuntime = {
  name: string;
  /** ALPHA, BETA, CURRENT, STABLE, DEPRECATED or REMOVED. */
  stage: string;
  /** missing: no packages here, which is not an error. broken: something is there that cannot be used. */
  state: { is: 'installed'; runtime: Runtime } | { is: 'missing' } | { is: 'broken'; reason: string };
};

/** The paths that its scripts must be able to read. Its packages may be a link to another place. */
export function foldersOf(runtime: Runtime): string[] {
  return [runtime.folder, join(runtime.folder, 'node_modules')];
}

/**
 * Finds the runtimes that are installed below `root`, newest first. Never throws: broken runtimes are skipped and
 * reported to `warn`.
 */
export function installedRuntimes(root: string, warn: (line: string) => void): Runtime[] {
  return findRuntimes(root).flatMap(({ name, state }) => {
    if (state.is === 'broken') warn(`runtime ${name} is skipped: ${state.reason}`);
    return state.is === 'installed' ? [state.runtime] : [];
  });
}

/** All runtimes that have a package list below `root`, newest first. Empty if there is no such folder. */
export function findRuntimes(root: string): FoundRuntime[] {
  return namesBelow(root)
    .filter((name) => exists(join(root, name, 'package.json')))
    .map((name): FoundRuntime => {
      const folder = join(root, name);
      try {
        const { stage, multiStepSupport } = readRecord(folder, name);
        if (!exists(join(folder, 'node_modules'))) return { name, stage, state: { is: 'missing' } };
        const runtime = { name, folder, multiStepSupport, ...readInstalled(folder) };
        return { name, stage, state: { is: 'installed', runtime } };
      } catch (error: unknown) {
        return { name, stage: 'unknown', state: { is: 'broken', reason: toError(error).message } };
      }
    });
}

function namesBelow(root: string): string[] {
  try {
    return readdirSync(root)
      .filter((name) => exists(join(root, name, 'runtime.json')))
      .sort()
      .reverse();
  } catch {
    return [];
  }
}

function readRecord(folder: string, name: string): { stage: string; multiStepSupport: boolean } {
  const record = readJson(join(folder, 'runtime.json'));
  const { stage, multiStepSupport } = record;
  if (record['name'] !== name) throw new Error(`the name in its runtime.json is not ${name}`);
  if (typeof stage !== 'string' || typeof multiStepSupport !== 'boolean')
    throw new Error('its runtime.json lacks stage or multiStepSupport');
  return { stage, multiStepSupport };
}

function readInstalled(folder: string): Pick<Runtime, 'node' | 'nodeVersion' | 'playwrightVersion'> {
  const packages = join(folder, 'node_modules');
  // The install writes this file last.
  if (!exists(join(packages, '.runtime-stamp'))) throw new Error('its install is not complete');
  const listed = readJson(join(folder, 'package.json'))['dependencies'] as { [name: string]: string };
  const playwrightVersion = versionOf(join(packages, 'playwright'));
  if (listed['playwright'] !== playwrightVersion)
    throw new Error(`Playwright ${playwrightVersion} is installed, but its list has ${listed['playwright']}`);
  const platform = `${process.platform}-${process.arch}`;
  const nodePackage = join(packages, `node-${platform}`);
  if (!exists(nodePackage)) throw new Error(`it has no Node for ${platform}`);
  const node = join(nodePackage, 'bin', 'node');
  try {
    accessSync(node, constants.X_OK);
  } catch {
    throw new Error(`its Node cannot be executed: ${node}`);
  }
  return { node, nodeVersion: versionOf(nodePackage), playwrightVersion };
}

function versionOf(packageFolder: string): string {
  const { version } = readJson(join(packageFolder, 'package.json'));
  if (typeof version !== 'string') throw new Error(`${packageFolder} names no version`);
  return version;
}

function readJson(file: string): { [name: string]: unknown } {
  const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof value !== 'object' || value === null) throw new Error(`${file} contains no object`);
  return value as { [name: string]: unknown };
}

function exists(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}
