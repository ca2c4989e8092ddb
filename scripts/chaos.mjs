/**
 * `npm run chaos [-- NAME …]`: faults against a real service and real agents, judged by one oracle (test/chaos/run.ts).
 * `npm run chaos -- --list` names the scenarios.
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const setup = spawnSync(process.execPath, ['scripts/setup.mjs', 'build'], { cwd: root, stdio: 'inherit' });
if (setup.status !== 0) process.exit(2);
// A file of its own, so that several runs can take place at once.
const outfile = join(root, 'build', 'chaos', `run-${process.pid}.js`);
await build({
  entryPoints: [join(root, 'test', 'chaos', 'run.ts')],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  logLevel: 'error',
});
/** The commit that is tried, with `+` if files differ from it; empty outside a git checkout. */
function commit() {
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  const head = git('rev-parse', '--short', 'HEAD');
  if (head.status !== 0) return '';
  const changed = git('status', '--porcelain', '--', 'src', 'test/chaos').stdout.trim() !== '';
  return head.stdout.trim() + (changed ? '+' : '');
}

const main = join(root, 'dist', 'main.js');
const { status } = spawnSync(
  process.execPath,
  [outfile, '--main', main, '--commit', commit(), ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
rmSync(outfile, { force: true });
process.exit(status ?? 1);
