import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtProgram } from '../helpers/build.ts';

/** The Debian package, built as scripts/deb.mjs builds it and unpacked without root: its files, its control data, its programs. */

const root = resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }; // our own file
const command = (name: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env) =>
  spawnSync(name, args, { cwd: root, encoding: 'utf8', env, maxBuffer: 64 * 1024 * 1024 });
const hasDpkg = command('dpkg-deb', ['--version']).status === 0;
/** The package carries the Node that builds it; a Node in parts (Debian's own) or without npm cannot be carried. */
const npm = join(process.execPath, '../../lib/node_modules/npm');
const isWhole = existsSync(npm) && !/libnode/.test(command('ldd', [process.execPath]).stdout);
const canBuild = hasDpkg && isWhole;
if (!canBuild)
  process.stderr.write('skipped here: the Debian package, without dpkg-deb or a Node with npm\n');

const folder = mkdtempSync(join(tmpdir(), 'deb-'));
const tree = join(folder, 'tree');
let file = '';
beforeAll(async () => {
  if (!canBuild) return;
  await builtProgram();
  const { status, stdout, stderr } = command(process.execPath, [
    'scripts/deb.mjs',
    '--fast',
    '--out',
    folder,
  ]);
  if (status !== 0) throw new Error(stderr);
  file = stdout.trim();
  expect(command('dpkg-deb', ['-x', file, tree])).toMatchObject({ status: 0, stderr: '' });
}, 180_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.skipIf(!canBuild)('its name and its control data name this version and this processor', () => {
  const architecture = command('dpkg', ['--print-architecture']).stdout.trim();
  expect(basename(file)).toBe(`private-location-agent_${version}_${architecture}.deb`);
  const field = (name: string) => command('dpkg-deb', ['-f', file, name]).stdout.trim();
  expect([field('Package'), field('Version'), field('Architecture')]).toEqual([
    'private-location-agent',
    version,
    architecture,
  ]);
  expect(field('Depends')).toMatch(/^libc6 \(>= 2\.\d+\), libstdc\+\+6, (?:libatomic1, )?ca-certificates$/);
  // Node from release 25 on needs it.
  expect(field('Depends').includes('libatomic1')).toBe(parseInt(process.versions.node, 10) >= 25);
  const control = command('dpkg-deb', ['-I', file]).stdout;
  for (const name of ['conffiles', 'postinst', 'postrm', 'prerm']) expect(control).toContain(` ${name} `);
});

test.skipIf(!canBuild)(
  'its files belong to root; only programs can be executed, and no file can be changed by others',
  () => {
    const lines = command('dpkg-deb', ['-c', file]).stdout.trim().split('\n');
    expect(lines.length).toBeGreaterThan(1000);
    expect(lines.filter((line) => !/^[-dl][rwxs-]{9} root\/root /.test(line))).toEqual([]);
    expect(lines.filter((line) => /^[-d].{4}w|^[-d].{7}w|^-..s/.test(line))).toEqual([]);
    const places = [
      'etc/default/location-agent',
      'usr/bin/location-agent',
      'usr/lib/systemd/system/location-agent.service',
      'usr/lib/systemd/system/location-service.service',
      'usr/lib/private-location-agent/start-service',
      'usr/share/doc/private-location-agent/copyright',
      'usr/share/doc/private-location-agent/changelog.gz',
    ];
    for (const place of places) expect(existsSync(join(tree, place)), place).toBe(true);
    expect(statSync(join(tree, 'etc/location-service/credentials')).mode & 0o777).toBe(0o700);
  },
);

test.skipIf(!canBuild)('the manual page and the completions are where the system looks for them', () => {
  const share = (path: string) => readFileSync(join(tree, 'usr/share', path));
  const page = gunzipSync(share('man/man1/location-agent.1.gz')).toString();
  expect(page).toBe(readFileSync(join(root, 'man/location-agent.1'), 'utf8'));
  expect(share('zsh/vendor-completions/_location-agent').toString()).toMatch(/^#compdef location-agent\n/);
  expect(share('fish/vendor_completions.d/location-agent.fish').toString()).toContain('-c location-agent');
  const bash = join(tree, 'usr/share/bash-completion/completions/location-agent');
  const typed = `. '${bash}'; COMP_WORDS=(location-agent do); COMP_CWORD=1; _location_agent; echo "\${COMPREPLY[@]}"`;
  expect(command('bash', ['-c', typed]).stdout).toBe('doctor\n');
});

type Finding = { name: string; message: string; remedy: string | null };

/** The unpacked command; its paths begin at the root of a system, so here `home` is the unpacked folder. */
function unpacked(args: readonly string[]) {
  const script = readFileSync(join(tree, 'usr/bin/location-agent'), 'utf8').replace(
    /^home=.*$/m,
    `home='${join(tree, 'usr/lib/private-location-agent')}'`,
  );
  // Without the Node of this machine: the package has its own.
  const env = { PATH: '/usr/bin:/bin', HOME: folder, AGENT_DATA_DIR: join(folder, 'data') };
  return command('sh', ['-c', script, 'location-agent', ...args], env);
}

test.skipIf(!canBuild)('the command runs on the Node of the package', () => {
  expect(unpacked(['--version'])).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
  const home = join(tree, 'usr/lib/private-location-agent');
  expect(command(join(home, 'node/bin/node'), ['--version']).stdout.trim()).toBe(process.version);
  expect(readdirSync(join(home, 'build/native')).sort()).toEqual([
    'launcher',
    'location_agent.node',
    'raw-socket',
  ]);
});

test.skipIf(!canBuild)(
  'doctor finds the native parts, and every file that its remedies name',
  () => {
    const { status, stdout, stderr } = unpacked(['doctor', '--json']);
    expect([0, 1], stderr).toContain(status);
    const home = join(tree, 'usr/lib/private-location-agent');
    const { findings } = JSON.parse(stdout) as { findings: Finding[] }; // of our own program
    const named = findings.flatMap(({ remedy }) => [
      ...(remedy ?? '').matchAll(/^(\S+) (\S+\/scripts\/[\w-]+\.mjs) install/g),
    ]);
    // No runtime and no engine is part of the package.
    expect(new Set(named.map(([, , script]) => script))).toEqual(
      new Set(['runtime', 'engines'].map((name) => join(home, `scripts/${name}.mjs`))),
    );
    for (const [, node = '', script = ''] of named) {
      expect(node).toBe(join(home, 'node/bin/node'));
      expect(existsSync(script), script).toBe(true);
    }
    const isolation = findings.find(({ name }) => name === 'script isolation');
    expect(isolation?.message).toContain('seccomp');
  },
  90_000,
);
