/**
 * `npm run chaos [-- NAME …]`: faults against a real service and real agents, judged by one oracle (test/chaos/run.ts).
 * `npm run chaos -- --list` names the scenarios.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const setup = spawnSync(process.execPath, ['scripts/setup.mjs', 'build'], { cwd: root, stdio: 'inherit' });
if (setup.status !== 0) process.exit(2);
const outfile = join(root, 'build', 'chaos', 'run.js');
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
const main = join(root, 'dist', 'main.js');
const { status } = spawnSync(process.execPath, [outfile, '--main', main, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(status ?? 1);
