import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { childFile } from '../../../../src/script/process/child-file.ts';
import { deferModules, unusedModules } from '../../../../src/script/child/playwright/deferred.ts';
import { builtProgram } from '../../../helpers/build.ts';
import { runtimesHere } from '../../../helpers/scripts/runtimes.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'deferred-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('a module is loaded when one of its exports is used', () => {
  const load = createRequire(join(folder, 'any.js'));
  const path = join(folder, 'late.js');
  // As compilers write it: getters that cannot be changed.
  writeFileSync(
    path,
    `globalThis.lateLoads = (globalThis.lateLoads ?? 0) + 1;
for (const name of ['one', '__esModule']) Object.defineProperty(exports, name, { get: () => 1, enumerable: name === 'one' });`,
  );
  const known = join(folder, 'known.js');
  writeFileSync(known, 'exports.known = 1;');
  const before = load(known) as object;
  const loads = () => Reflect.get(globalThis, 'lateLoads') as number | undefined;
  try {
    deferModules(load, [path, known]);
    const late = load(path) as { one: number };
    expect([loads(), load(known) === before]).toEqual([undefined, true]);
    expect({ ...late }).toEqual({ one: 1 });
    expect(Object.getOwnPropertyNames(late)).toEqual(['one', '__esModule']);
    expect(['one' in late, 'two' in late, late.one]).toEqual([true, false, 1]);
    const itself = load(path) as object;
    expect([loads(), itself === late, itself]).toEqual([1, false, { one: 1 }]);
  } finally {
    Reflect.deleteProperty(globalThis, 'lateLoads');
  }
});

// Each process as it starts, up to where a run would come. One that loads the modules after all pays for nothing.
const started = `
const { createRequire } = require('node:module');
const { join } = require('node:path');
const { isProxy } = require('node:util').types;
const [deferred, folder, kind, ...files] = process.argv.slice(1);
import(deferred).then(({ deferModules, unusedPaths }) => {
  const playwright = join(folder, 'node_modules', 'playwright');
  const load = createRequire(join(playwright, 'package.json'));
  const paths = unusedPaths(load, kind);
  deferModules(load, paths);
  for (const file of files) load(join(playwright, file));
  const waiting = paths.filter((path) => isProxy(load.cache[path]?.exports));
  const names = waiting.map((path) => Object.keys(load.cache[path].exports));
  process.stdout.write(JSON.stringify({ paths, waiting, names }), () => process.exit(0));
});`;

describe.runIf(runtimesHere.length > 0)('Playwright of each runtime', { timeout: 60_000 }, () => {
  beforeAll(async () => void (await builtProgram()), 120_000);

  test.each(
    runtimesHere.flatMap((runtime) => [
      [runtime.name, 'worker', runtime, ['lib/worker/workerMain.js', 'lib/index.js']] as const,
      [runtime.name, 'runner', runtime, ['lib/program.js']] as const,
    ]),
  )(
    '%s: its %s starts without what no run uses, and has it when asked',
    (name, kind, { node, folder: at }, files) => {
      const args = [childFile('playwright/deferred'), at, kind, ...files];
      const told = JSON.parse(
        execFileSync(node, ['-e', started, '--', ...args], { encoding: 'utf8', timeout: 50_000 }),
      ) as {
        paths: string[];
        waiting: string[];
        names: string[][];
      };
      expect(told.waiting).toEqual(told.paths);
      expect(told.names.filter((names) => names.length === 0)).toEqual([]);
      // The newest has all of them; with a new runtime, this fails if a list is out of date.
      if (name === '2026.04') expect(told.paths).toHaveLength(unusedModules[kind].length);
    },
  );
});
