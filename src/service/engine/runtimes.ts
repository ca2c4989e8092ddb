import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A runtime as the API tells it (facts, 5.4). */
export type RuntimeRecord = {
  /** For example 2026.04. */
  name: string;
  multiStepSupport: boolean;
  nodeJsVersion: string;
  stage: 'ALPHA' | 'BETA' | 'STABLE' | 'CURRENT' | 'DEPRECATED' | 'REMOVED';
  /** When it is removed, for example 04/30/2028 (month, day, year). */
  runtimeEndOfLife: string;
  description: string;
  /** Version of each package; empty for runtimes that are removed. */
  dependencies: { [name: string]: string };
};

let own: RuntimeRecord[] | null = null;

/** The runtimes that checks may name, newest first: read once, since they come with the package. */
export function listRuntimes(): RuntimeRecord[] {
  // From src/service as from dist/service, package.json is two folders up.
  own ??= readRuntimes(join(fileURLToPath(new URL('../../..', import.meta.url)), 'runtimes'));
  return own;
}

/** Reads the records below `root`, installed here or not. Empty when there is no such folder; throws when one is no JSON. */
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
