/**
 * `npm run bench` runs every benchmark, `npm run bench -- NAME …` only the named ones. Words after a second `--` are arguments of
 * the benchmarks (`npm run bench -- scheduling -- 10`). Each file bench/NAME.ts is compiled with the sources into build/bench and
 * run separately. The last line of its output is JSON with the figures.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const path = (...parts) => join(root, ...parts);
const all = readdirSync(path('bench'), { withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => entry.name.slice(0, -3))
  .sort();
const given = process.argv.slice(2);
const end = given.indexOf('--');
const names = end < 0 ? given : given.slice(0, end);
const options = end < 0 ? [] : given.slice(end + 1);
const unknown = names.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`unknown benchmark ${unknown.join(', ')}; available: ${all.join(', ')}\n`);
  process.exit(64);
}
const run = (args) => spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0;
if (!run(['scripts/setup.mjs', 'build'])) process.exit(2);
rmSync(path('build', 'bench'), { recursive: true, force: true });
if (!run([path('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.bench.json'])) process.exit(2);
if (!run(['scripts/bundle-child.mjs', path('build', 'bench', 'src')])) process.exit(2);
const pages = path('build', 'bench', 'src', 'service', 'pages', 'browser');
if (!run(['scripts/build-pages.mjs', pages])) process.exit(2);
// The sources read the version from a package.json next to them.
copyFileSync(path('package.json'), path('build', 'bench', 'package.json'));
let failed = 0;
for (const name of names.length > 0 ? names : all) {
  process.stdout.write(`\n== ${name}\n`);
  if (!run([path('build', 'bench', 'bench', `${name}.js`), ...options])) failed++;
}
process.exit(failed > 0 ? 1 : 0);
