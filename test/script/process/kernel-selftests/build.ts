import { spawnSync, type SpawnSyncOptions } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Builds Linux' own tests of Landlock and seccomp in temporary folders. */

const packageName = 'linux-source-6.12';
/** The parts of the source that the tests and the headers need. */
const parts = [
  'Makefile',
  'Kbuild',
  'Kconfig',
  'include',
  'arch',
  'scripts',
  'usr',
  'tools/include',
  'tools/testing/selftests',
];

/** A program of tests, and the names of its tests. */
export type TestProgram = { name: string; path: string; tests: string[] };

function run(command: string, args: readonly string[], options: SpawnSyncOptions = {}): void {
  const done = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26, ...options });
  if (done.error === undefined && done.status === 0) return;
  const why = done.error?.message ?? String(done.stderr).trim().split('\n').slice(-3).join('; ');
  throw new Error(`${command} ${args.join(' ')}: ${why}`);
}

/**
 * The folder of the kernel's source: `from`, or with `fetch` Debian's package of it, 150 MB, which apt-get downloads into
 * `cache`.
 */
function sourceTree(from: string, cache: string): string {
  if (from !== 'fetch') return resolve(from);
  const folder = join(cache, packageName);
  if (existsSync(join(folder, 'tools', 'include'))) return folder;
  mkdirSync(cache, { recursive: true });
  const downloaded = () => readdirSync(cache).find((name) => name.startsWith(`${packageName}_`));
  if (downloaded() === undefined) run('apt-get', ['download', packageName], { cwd: cache });
  run('dpkg-deb', ['-x', downloaded() ?? '', 'package'], { cwd: cache });
  const archive = join('package', 'usr', 'src', `${packageName}.tar.xz`);
  run('tar', ['-xJf', archive, ...parts.map((part) => `${packageName}/${part}`)], { cwd: cache });
  return folder;
}

/** Builds the programs into `folder`. `cache` keeps the source and the objects. Throws if something that this needs is missing. */
export function buildTests({ from, cache, folder }: { from: string; cache: string; folder: string }) {
  const tree = sourceTree(from, cache);
  const headers = join(cache, 'headers');
  run('make', ['-s', 'headers_install', `INSTALL_HDR_PATH=${headers}`], { cwd: tree });
  const programs: TestProgram[] = [];
  for (const target of ['landlock', 'seccomp']) {
    const tests = join(tree, 'tools', 'testing', 'selftests', target);
    run('make', ['-s', '-C', tests, `KHDR_INCLUDES=-isystem ${headers}/include`, `top_srcdir=${tree}`]);
    for (const name of readdirSync(tests).filter((each) => /^(\w+_test|seccomp_bpf|true)$/.test(each))) {
      const path = join(folder, name);
      cpSync(join(tests, name), path);
      // The program that tests of Landlock execute.
      if (name !== 'true') programs.push({ name, path, tests: testsOf(path) });
    }
  }
  return programs;
}

/** The names of a program's tests. It lists fixtures, their variants and their tests, in columns and without saying which belong together. */
function testsOf(path: string): string[] {
  const fixtures: { name: string; variants: string[]; tests: string[] }[] = [];
  for (const line of spawnSync(path, ['-l'], { encoding: 'utf8' }).stderr.split('\n').slice(1)) {
    if (line === '' || line.startsWith('---')) continue;
    const [name = ''] = /^\S*/.exec(line) ?? [];
    if (name !== '') fixtures.push({ name, variants: [], tests: [] });
    // Names that are longer than their column move the next one.
    const rest = line.slice(Math.max(20, name.length) + 1);
    const [variant = ''] = /^\S*/.exec(rest) ?? [];
    const test = rest.slice(Math.max(25, variant.length) + 1).trim();
    if (variant !== '') fixtures.at(-1)?.variants.push(variant);
    if (test !== '') fixtures.at(-1)?.tests.push(test);
  }
  return fixtures.flatMap(({ name, variants, tests }) =>
    (variants.length === 0 ? [name] : variants.map((variant) => `${name}.${variant}`)).flatMap((prefix) =>
      tests.map((test) => `${prefix}.${test}`),
    ),
  );
}
