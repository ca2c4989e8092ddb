/**
 * node scripts/deb.mjs [--out DIR] [--node FILE] [--fast]: builds the Debian package of agent and service for this
 * processor, from the built files of this checkout. It contains its own Node (this one, or --node) with npm, and systemd
 * units. Needs dpkg-deb. --fast: for trials, does not compress. The same files and SOURCE_DATE_EPOCH give the same bytes. docs/debian.md describes the package.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { misused, readCommandLine } from './command-line.mjs';
import { layOut } from './release/deb-tree.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const { values } = readCommandLine('deb', {
  options: {
    out: { type: 'string', default: 'dist-release' },
    node: { type: 'string', default: process.execPath },
    fast: { type: 'boolean', default: false },
  },
});
if (values.out === '' || values.node === '') misused('deb', '--out and --node must not be empty');
const out = resolve(root, values.out);
const temporary = mkdtempSync(join(tmpdir(), 'deb-'));
process.once('exit', () => rmSync(temporary, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

function run(command, args, env = {}) {
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', env: { ...process.env, ...env } });
  if (done.status !== 0) throw new Error(`${command} failed: ${done.stderr || (done.error?.message ?? '')}`);
  return done.stdout.trim();
}

try {
  const epoch = process.env.SOURCE_DATE_EPOCH ?? run('git', ['log', '-1', '--format=%ct']);
  const tree = join(temporary, 'tree');
  const { version, architecture } = layOut({ root, tree, node: resolve(values.node), epoch: Number(epoch) });
  const packages = join(tree, 'usr', 'lib', 'private-location-agent', 'node_modules');
  run(process.execPath, [join(root, 'docker', 'prune-packages.mjs'), packages]);
  mkdirSync(out, { recursive: true });
  const compression = values.fast ? ['-Znone'] : ['-Zxz', '-z6'];
  const file = join(out, `private-location-agent_${version}_${architecture}.deb`);
  run('dpkg-deb', ['--root-owner-group', ...compression, '--build', tree, file], {
    SOURCE_DATE_EPOCH: epoch,
  });
  process.stdout.write(`${file}\n`);
} catch (error) {
  process.stderr.write(`deb: ${error.message}\n`);
  process.exitCode = 1;
}
