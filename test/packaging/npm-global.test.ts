import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandNames } from '../../src/commands/line/table.ts';
import { builtProgram } from '../helpers/build.ts';

/** `npm install --global` of the packed package into an empty folder: its commands, and the remedies that `doctor` prints there. */

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'global-'));
const prefix = join(folder, 'prefix');
const installed = join(prefix, 'lib/node_modules/private-location-agent');
const bin = dirname(process.execPath);

/** The settings of npm stay, which may name the registry; nothing else of this process does. */
const kept = Object.entries(process.env).filter(([name]) =>
  /^npm_config_|^NPM_CONFIG_|^NODE_EXTRA_CA/.test(name),
);
const env = {
  ...Object.fromEntries(kept),
  PATH: `${prefix}/bin:${bin}:/usr/bin:/bin`,
  HOME: process.env['HOME'],
  TMPDIR: folder,
};

function command(program: string, args: readonly string[], cwd = folder) {
  const limits = { timeout: 540_000, maxBuffer: 64 * 1024 * 1024 };
  const done = spawnSync(program, args, { cwd, encoding: 'utf8', env, ...limits });
  return { status: done.status, stdout: done.stdout ?? '', stderr: done.stderr ?? '' };
}
const agent = (...args: string[]) => command('location-agent', args);

let site: Server | undefined;
let url = '';
let isInstalled = false;
beforeAll(async () => {
  await builtProgram();
  const packed = command('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], root);
  expect([packed.status, packed.status === 0 ? '' : packed.stderr]).toEqual([0, '']);
  const [{ filename = '' } = {}] = JSON.parse(packed.stdout) as { filename?: string }[]; // npm's form
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund'];
  const done = command('npm', ['install', '--global', '--prefix', prefix, ...quiet, join(folder, filename)]);
  const isOffline = /ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT/.test(done.stderr);
  if (isOffline)
    process.stderr.write('skipped here: the global package, because the registry does not answer\n');
  else expect([done.status, done.status === 0 ? '' : done.stderr]).toEqual([0, '']);
  isInstalled = !isOffline;
  const server = createServer((_request, response) => response.end('ok'));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  site = server;
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`; // a listening server has one
}, 600_000);
afterAll(() => {
  site?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('the command, its help and its manual page are installed', ({ skip }) => {
  if (!isInstalled) skip();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(agent('--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' });
  const { stdout } = agent('--help');
  for (const name of commandNames) {
    expect(stdout).toContain(`\n  ${name}`);
    const help = agent(name, '--help');
    expect([name, help.status, help.stderr]).toEqual([name, 0, '']);
    expect(help.stdout).toContain(`usage: location-agent ${name}`);
  }
  // npm links it only if package.json has a list.
  expect(readFileSync(join(prefix, 'share/man/man1/location-agent.1'), 'utf8')).toBe(
    readFileSync(join(root, 'man/location-agent.1'), 'utf8'),
  );
}, 300_000);

test('run, validate and the completions work without a checkout', async ({ skip }) => {
  if (!isInstalled) skip();
  writeFileSync(
    join(folder, 'check.json'),
    JSON.stringify({ checkType: 'URL', name: 'Site', request: { url } }),
  );
  const ran = await promisify(execFile)('location-agent', ['run', 'check.json'], { cwd: folder, env });
  expect(ran.stdout).toMatch(/^PASSED {2}URL {2}Site\n/);
  mkdirSync(join(folder, 'monitoring'));
  writeFileSync(
    join(folder, 'monitoring/project.yaml'),
    'logicalId: shop\nchecks: { locations: [eu-west-1] }\n',
  );
  writeFileSync(
    join(folder, 'monitoring/shop.check.ts'),
    `import { Check } from 'private-location-agent';\nnew Check('home', { checkType: 'URL', name: 'Home', request: { url: '${url}' } });\n`,
  );
  expect(agent('validate', 'monitoring')).toEqual({
    status: 0,
    stdout: '1 resources of shop are valid\n',
    stderr: '',
  });
  const completion = agent('completion', 'bash');
  expect([completion.status, completion.stdout]).toEqual([0, expect.stringContaining('_location_agent')]);
}, 120_000);

type Finding = { name: string; message: string; remedy: string | null };
function doctor(): Finding[] {
  const { status, stdout, stderr } = agent('doctor', '--json');
  expect([0, 1], stderr).toContain(status);
  return (JSON.parse(stdout) as { findings: Finding[] }).findings; // of our own program
}
/** Commands in findings: Node, a script of the package, and its arguments. */
const commandsIn = (findings: readonly Finding[]) =>
  findings.flatMap(({ message, remedy }) =>
    [...`${message}\n${remedy ?? ''}`.matchAll(/(\/\S+) (\/\S+\/scripts\/[\w-]+\.mjs)((?: [\w.]+)*)/g)].map(
      ([, node = '', script = '', args = '']) => ({ node, script, args: args.trim() }),
    ),
  );

test('each command that doctor prints exists here, and the one for the native parts builds them', ({
  skip,
}) => {
  if (!isInstalled) skip();
  const before = commandsIn(doctor());
  expect(new Set(before.map(({ script }) => script))).toEqual(
    new Set(['engines', 'native', 'runtime'].map((name) => join(installed, `scripts/${name}.mjs`))),
  );
  for (const { node, script } of before) expect([existsSync(node), existsSync(script)]).toEqual([true, true]);
  const native = before.find(({ script }) => script.endsWith('native.mjs'));
  if (native === undefined || command('cc', ['--version']).status !== 0) skip();
  const built = command(native?.node ?? '', [native?.script ?? '']);
  expect([built.status, built.status === 0 ? '' : built.stderr]).toEqual([0, '']);
  const after = doctor();
  expect(commandsIn(after).filter(({ script }) => script.endsWith('native.mjs'))).toEqual([]);
  expect(after.find(({ name }) => name === 'script isolation')?.message).toContain('seccomp');
}, 300_000);
