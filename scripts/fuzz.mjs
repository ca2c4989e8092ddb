/**
 * `npm run fuzz [-- NAME …] [--seconds N] [--seed N] [--jobs N] [--corpus FOLDER]`: feeds changed inputs to the parsers
 * of test/fuzz/targets, guided by coverage (test/fuzz/engine). `--jobs` runs several targets at once, each in a process of
 * its own. `--corpus` keeps the inputs that reached new code, so that a long run can be done in parts. `--list` names the
 * targets; `--input FILE` runs one input again.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'build', 'fuzz');
const targetsFolder = join(root, 'test', 'fuzz', 'targets');
mkdirSync(folder, { recursive: true });

/** File by target; targets are in alphabetical order. */
const files = Object.fromEntries(
  readdirSync(targetsFolder, { recursive: true })
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
const { values, tokens } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  strict: false,
  tokens: true,
  // run.ts knows the others; those with a value have to be known here, so that it is not taken for a name.
  options: Object.fromEntries(
    ['jobs', 'seconds', 'seed', 'input', 'corpus', 'folder'].map((name) => [name, { type: 'string' }]),
  ),
});
const jobs = Number(values.jobs ?? 1);
if (!Number.isInteger(jobs) || jobs < 1) {
  process.stderr.write('--jobs takes a whole number above 0.\n');
  process.exit(2);
}
const named = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
const others = tokens.flatMap((token) =>
  token.kind !== 'option' || token.name === 'jobs'
    ? []
    : [`--${token.name}`, ...(token.value === undefined ? [] : [token.value])],
);

/** Runs these targets in one process; the exit code is its own. */
function run(names, isShown) {
  const child = spawn(process.execPath, [join(folder, 'run.js'), '--folder', folder, ...others, ...names], {
    cwd: root,
    stdio: ['ignore', isShown ? 'inherit' : 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout?.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) => {
    child.on('close', (code) => {
      process.stdout.write(output.replace(/^(no findings|\d+ findings)\n/m, ''));
      resolve(code ?? 1);
    });
  });
}

const all = named.length > 0 ? named : Object.keys(files);
const isAlone = jobs === 1 || all.length === 1 || values.list !== undefined;
if (isAlone) process.exit(await run(named, true));
const queue = all.values();
const codes = [];
await Promise.all(
  Array.from({ length: jobs }, async () => {
    for (const name of queue) codes.push(await run([name], false));
  }),
);
const failed = codes.filter((code) => code !== 0).length;
process.stdout.write(failed === 0 ? 'no findings\n' : `findings in ${failed} targets\n`);
process.exit(Math.max(...codes));
