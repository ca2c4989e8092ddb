/**
 * `npm run fuzz [-- NAME …] [--seconds N] [--seed N]`: feeds changed inputs to the parsers of test/fuzz/targets, guided
 * by coverage (test/fuzz/engine). `--list` names the targets; `--input FILE` runs one input again.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'build', 'fuzz');
const targetsFolder = join(root, 'test', 'fuzz', 'targets');
mkdirSync(folder, { recursive: true });

/** File by target; targets are in alphabetical order. */
const files = Object.fromEntries(
  readdirSync(targetsFolder)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [
      /export const name = '([^']+)'/.exec(readFileSync(join(targetsFolder, file), 'utf8'))?.[1],
      file,
    ])
    .sort(([a], [b]) => (a < b ? -1 : 1)),
);
const engine = join(root, 'test', 'fuzz', 'engine');
// Each target has all of its code in one file, so that two targets do not count each other's coverage.
await build({
  entryPoints: Object.fromEntries([
    ['run', join(engine, 'run.ts')],
    ['worker', join(engine, 'worker.ts')],
    ...Object.entries(files).map(([name, file]) => [`target-${name}`, join(targetsFolder, file)]),
  ]),
  outdir: folder,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // Files of the package are found from where the compiled program would look for them.
  define: { 'import.meta.url': JSON.stringify(pathToFileURL(join(root, 'dist', 'fuzz.js')).href) },
  logLevel: 'error',
});
const modules = Object.keys(files).map((name) => [
  name,
  pathToFileURL(join(folder, `target-${name}.js`)).href,
]);
writeFileSync(join(folder, 'targets.json'), JSON.stringify(Object.fromEntries(modules)));
const { status } = spawnSync(
  process.execPath,
  [join(folder, 'run.js'), '--folder', folder, ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit' },
);
process.exit(status ?? 1);
