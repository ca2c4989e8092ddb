import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { engineProbes } from '../../../../src/commands/doctor/engines.ts';
import { InvalidJobError } from '../../../../src/errors.ts';
import { chooseEngine, findEngines, packageEngines } from '../../../../src/script/suite/install/engines.ts';
import type { Engine } from '../../../../src/script/suite/place/place.ts';
import { dataFolder, enginesHere } from '../../../helpers/suites/suite-install.ts';
import { processorMs } from '../../../helpers/processor-time.ts';

/** Engines of suites: the list, those installed here, and which one a suite gets. */

const folder = mkdtempSync(join(tmpdir(), 'engines-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(dataFolder, { recursive: true, force: true });
});

const platform = `${process.platform}-${process.arch}`;

test('the list is pinned, for two platforms, and names no registry', () => {
  const read = (file: string) => JSON.parse(readFileSync(join(packageEngines(), file), 'utf8')) as object;
  const list = read('package.json') as { [field: string]: { [name: string]: string } };
  const versions = { ...list['dependencies'], ...list['optionalDependencies'] };
  for (const version of Object.values(versions)) expect(version).toMatch(/^(npm:.+@)?\d+\.\d+\.\d+$/);
  for (const major of ['22', '24', '26'])
    expect(versions[`node-${major}-linux-x64`]?.replace('-x64', '')).toBe(
      versions[`node-${major}-linux-arm64`]?.replace('-arm64', ''),
    );
  expect(readFileSync(join(packageEngines(), 'package-lock.json'), 'utf8')).not.toContain('resolved');
});

describe.skipIf(enginesHere.length === 0)('the engines that npm test brings', () => {
  test('are all there, the default first', () => {
    expect(enginesHere.map(({ name, version }) => `${name} ${version.split('.', 1)[0]}`)).toEqual([
      'node 22',
      'node 24',
      'node 26',
      'bun 1',
    ]);
  });

  test.each(enginesHere)('$name $version: every program of its bin runs, on it', ({ name, bin, version }) => {
    const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: folder };
    const say = (program: string, ...args: string[]) =>
      execFileSync(program, args, { env, cwd: folder, encoding: 'utf8' }).trim();
    expect(readdirSync(bin).sort()).toEqual(
      ['bun', 'bunx', 'node', 'npm', 'npx', 'pnpm', 'pnpx', 'yarn', 'yarnpkg']
        .concat('yarn-lock-10', 'yarn-lock-6', 'yarn-lock-8', 'yarn-lock-9')
        .sort(),
    );
    const node = name === 'node' ? version : enginesHere[0]?.version;
    expect(say('node', '--version')).toBe(`v${node}`);
    expect(JSON.parse(say('npm', 'version', '--json'))).toMatchObject({ node });
    expect([say('pnpm', '--version'), say('yarn', '--version'), say('bun', '--version')]).toEqual([
      expect.stringMatching(/^10\./),
      expect.stringMatching(/^1\.22\./),
      expect.stringMatching(/^1\.3\./),
    ]);
  });

  test('a second lookup is quick, and creates nothing', () => {
    const before = readdirSync(join(dataFolder, 'engines')).sort();
    const ms = processorMs(() => {
      for (let times = 0; times < 100; times++) expect(findEngines(dataFolder)).toBe(enginesHere);
    });
    expect(ms / 100).toBeLessThan(5);
    expect(readdirSync(join(dataFolder, 'engines')).sort()).toEqual(before);
  });

  test('a version of the run takes precedence over the engine', () => {
    const bin = join(folder, 'home', '.package-manager', 'bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'pnpm'), '#!/bin/sh\necho own "$@"\n', { mode: 0o755 });
    const env = { PATH: `${enginesHere[0]?.bin}:/usr/bin:/bin`, HOME: join(folder, 'home') };
    expect(execFileSync('pnpm', ['x y'], { env, encoding: 'utf8' })).toBe('own x y\n');
  });
});

describe('a folder of engines', () => {
  /** As an install leaves it, with programs that are shell scripts. */
  function pretend(name: string, majors: readonly string[]): string {
    const own = join(folder, name);
    for (const major of majors) {
      const node = join(own, 'node_modules', `node-${major}-${platform}`);
      mkdirSync(join(node, 'bin'), { recursive: true });
      writeFileSync(join(node, 'bin', 'node'), '#!/bin/sh\n', { mode: 0o755 });
      writeFileSync(join(node, 'package.json'), `{"version":"${major}.1.0"}`);
    }
    mkdirSync(join(own, 'node_modules'), { recursive: true });
    writeFileSync(join(own, 'node_modules', '.engines-stamp'), 'x');
    return own;
  }
  const versions = (engines: readonly Engine[]) => engines.map(({ name, version }) => `${name} ${version}`);

  test('the rest works if a part is missing; without its stamp an engine is ignored', () => {
    const own = pretend('partial', ['24']);
    expect(versions(findEngines(folder, own))).toEqual(['node 24.1.0']);
    expect(existsSync(join(findEngines(folder, own)[0]?.bin ?? '', 'bun'))).toBe(false);
    rmSync(join(own, 'node_modules', '.engines-stamp'));
    expect(findEngines(folder, own)).toEqual([]);
    expect(findEngines(folder, join(folder, 'none'))).toEqual([]);
  });

  test('an install while the agent runs is found; a removed bin is created again', () => {
    const own = pretend('growing', ['22']);
    expect(versions(findEngines(folder, own))).toEqual(['node 22.1.0']);
    pretend('growing', ['22', '26']);
    writeFileSync(join(own, 'node_modules', '.engines-stamp'), 'y');
    const found = findEngines(folder, own);
    expect(versions(found)).toEqual(['node 22.1.0', 'node 26.1.0']);
    for (const { bin } of found) rmSync(bin, { recursive: true });
    expect(findEngines(folder, own).every(({ bin }) => existsSync(join(bin, 'npm')))).toBe(true);
  });

  test('links in it are followed, blanks and quotes in paths are no trouble', () => {
    const own = pretend("it's here", ['22']);
    const link = join(folder, 'link');
    symlinkSync(own, link);
    const [engine] = findEngines(join(folder, 'data of agents'), link);
    expect(engine?.readable).toEqual([engine?.bin, resolve(own, 'node_modules')]);
    const node = join(own, 'node_modules', `node-22-${platform}`, 'bin', 'node');
    writeFileSync(node, '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    const npm = execFileSync(join(engine?.bin ?? '', 'npm'), ['ci'], { encoding: 'utf8' });
    expect(npm).toBe(`${join(own, 'node_modules', 'npm', 'bin', 'npm-cli.js')} ci\n`);
  });

  test('one that can not be written to is our fault', () => {
    const file = join(folder, 'no-folder');
    cpSync(join(packageEngines(), 'package.json'), file);
    expect(() => findEngines(file, pretend('other', ['22']))).toThrow(
      expect.objectContaining({
        code: 'INTERNAL',
        message: expect.stringMatching(/^suite engines cannot be set up/),
      }),
    );
  });
});

test('node scripts/engines.mjs install: once, with a stamp of completeness', () => {
  const own = join(folder, 'to-install');
  const list = { name: 'none', version: '1.0.0' };
  mkdirSync(own);
  writeFileSync(join(own, 'package.json'), JSON.stringify(list));
  writeFileSync(
    join(own, 'package-lock.json'),
    JSON.stringify({ ...list, lockfileVersion: 3, packages: { '': list } }),
  );
  const installer = join(packageEngines(), '..', 'scripts', 'engines.mjs');
  const install = (...args: string[]) =>
    spawnSync(process.execPath, [installer, ...args], { encoding: 'utf8', timeout: 50_000 });
  expect(install('install', own).stderr).toMatch(
    /^installing suite engines .*\ninstalled suite engines \(\d+ s\)\n$/,
  );
  expect(readdirSync(own).sort()).toEqual(['node_modules', 'package-lock.json', 'package.json']);
  expect(existsSync(join(own, 'node_modules', '.engines-stamp'))).toBe(true);
  expect(install('install', own)).toMatchObject({ status: 0, stderr: '' });
  writeFileSync(join(own, 'package-lock.json'), '{');
  expect(install('install', own)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/engines: npm ci failed: /),
  });
  expect(install('remove')).toMatchObject({
    status: 1,
    stderr: 'engines: usage: node scripts/engines.mjs install [FOLDER]\n',
  });
}, 60_000);

describe('doctor', () => {
  const run = (enginesFolder?: string) => engineProbes(enginesFolder)[0]?.run(AbortSignal.timeout(20_000));

  test.skipIf(enginesHere.length === 0)('names the installed engines', async () => {
    expect(await run()).toEqual({
      status: 'ok',
      message: enginesHere
        .map(({ name, version }) => `${name === 'bun' ? 'Bun' : 'Node'} ${version}`)
        .join(', '),
      remedy: null,
    });
  });

  test('reports how to install missing engines, and which do not run', async () => {
    expect(await run(join(folder, 'none'))).toEqual({
      status: 'note',
      message: 'not installed: Playwright suites do not run',
      remedy: 'node scripts/engines.mjs install',
    });
    const node = join(folder, 'broken', 'node_modules', `node-22-${platform}`);
    mkdirSync(join(node, 'bin'), { recursive: true });
    writeFileSync(join(node, 'bin', 'node'), '#!/bin/sh\nexit 3\n', { mode: 0o755 });
    writeFileSync(join(node, 'package.json'), '{"version":"22.1.0"}');
    writeFileSync(join(folder, 'broken', 'node_modules', '.engines-stamp'), 'x');
    expect(await run(join(folder, 'broken'))).toMatchObject({
      status: 'problem',
      message: expect.stringMatching(/^node 22\.1\.0 does not run here: /),
    });
  });
});

describe('the engine of a suite', () => {
  const engine = (name: Engine['name'], version: string): Engine => ({
    name,
    version,
    bin: '/',
    readable: [],
  });
  const engines = [engine('node', '22.23.3'), engine('node', '24.21.0'), engine('bun', '1.3.14')];
  const chosen = (wanted: { name: Engine['name']; version: string } | null) => {
    const log: string[] = [];
    const { version } = chooseEngine(engines, wanted, (_, line) => log.push(line));
    return [version, ...log];
  };

  test('the default, a major, a full version of which only the major counts', () => {
    expect(chosen(null)).toEqual(['22.23.3', 'Engine: Node 22.23.3']);
    expect(chosen({ name: 'node', version: '24' })).toEqual(['24.21.0', 'Engine: Node 24.21.0']);
    expect(chosen({ name: 'node', version: 'v24.13.1' })).toEqual([
      '24.21.0',
      'Engine: Node 24.21.0 (24.13.1 was requested; the agent has this version of 24)',
    ]);
    expect(chosen({ name: 'bun', version: '1.3' })).toEqual(['1.3.14', 'Engine: Bun 1.3.14']);
    expect(chosen({ name: 'bun', version: '1.3.2' })[0]).toBe('1.3.14');
  });

  test('without the default engine, a suite that names none runs on an installed one', () => {
    const log: string[] = [];
    const others = engines.filter(({ version }) => !version.startsWith('22.'));
    expect(chooseEngine(others, null, (_, line) => log.push(line)).version).toBe('24.21.0');
    expect(log).toEqual(['Engine: Node 24.21.0 (this agent does not have the default, Node 22)']);
    expect(() => chooseEngine(others, { name: 'node', version: '22' })).toThrow('this agent has no Node 22;');
  });

  test('a missing engine: the job names the installed ones', () => {
    expect(() => chosen({ name: 'node', version: '2' })).toThrow(InvalidJobError);
    expect(() => chosen({ name: 'node', version: '26.2.0' })).toThrow(
      'this agent has no Node 26.2.0; it has Node 22.23.3, Node 24.21.0, Bun 1.3.14',
    );
    expect(() => chosen({ name: 'bun', version: '1.2' })).toThrow('no Bun 1.2;');
    expect(() => chooseEngine([], null)).toThrow('node scripts/engines.mjs install');
  });
});
