import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A runtime as the API returns it (facts, 5.4). */
export type RuntimeRecord = {
  /** For example 2026.04. */
  name: string;
  multiStepSupport: boolean;
  nodeJsVersion: string;
  stage: 'ALPHA' | 'BETA' | 'STABLE' | 'CURRENT' | 'DEPRECATED' | 'REMOVED';
  /** Removal date, for example 04/30/2028 (month, day, year). */
  runtimeEndOfLife: string;
  description: string;
  /** Version of each package; empty for removed runtimes. */
  dependencies: { [name: string]: string };
};

let own: RuntimeRecord[] | null = null;

/** The runtimes that checks may name, newest first. They are read once, because they are part of the package. */
export function listRuntimes(): RuntimeRecord[] {
  // package.json is two folders up, both from src/service and from dist/service.
  own ??= readRuntimes(join(fileURLToPath(new URL('../../..', import.meta.url)), 'runtimes'));
  return own;
}

/**
 * Reads the records below `root`, whether or not a runtime is installed here. Empty if the folder does not exist;
 * throws if a record is not JSON.
 */
export function readRuntimes(root: string): RuntimeRecord[] {
  if (!existsSync(root)) return [];
  return readdirSync(root)
    .filter((name) => existsSync(join(root, name, 'runtime.json')))
    .sort()
    .reverse()
    .map((name) => readRuntime(root, name));
}

function readRuntime(root: string, folder: string): RuntimeRecord {
  const record = readJson(join(root, folder, 'runtime.json')) as RuntimeRecord; // of this package; a test checks each
  const { name, multiStepSupport, nodeJsVersion, stage, runtimeEndOfLife, description } = record;
  const dependencies = listed(root, folder);
  return { name, multiStepSupport, nodeJsVersion, stage, runtimeEndOfLife, description, dependencies };
}

function listed(root: string, folder: string): { [name: string]: string } {
  const file = join(root, folder, 'package.json');
  if (!existsSync(file)) return {};
  const { dependencies } = readJson(file) as { dependencies: { [name: string]: string } }; // as above
  return Object.fromEntries(
    Object.entries(dependencies).map(([name, version]) => {
      if (!version.startsWith('file:')) return [name, version];
      const own = readJson(join(root, folder, version.slice('file:'.length), 'package.json'));
      return [name, (own as { version: string }).version];
    }),
  );
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}
