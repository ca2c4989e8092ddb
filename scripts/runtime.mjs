/**
 * node scripts/runtime.mjs install NAME [FOLDER]: installs the packages and the Node of a runtime, install scripts off.
 * Uses Node and npm alone; quick when there is nothing to do. The packages are made in a folder of their own and moved into
 * place with their stamp in them, so that a half install is never taken for a whole one, and runs go on meanwhile.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';

/** All settings of the install are given on the command line, so .npmrc (for making the lock file) is none of them. */
const listFiles = ['package.json', 'package-lock.json'];
/** Inside node_modules, written last; src/script/runtimes.ts looks for it. */
const stampName = '.runtime-stamp';

/** The runtime of checks that name none. */
export const defaultRuntime = '2026.04';

/** A text that changes with whatever an install depends on. */
function stampOf(folder, runtimesFolder) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  for (const file of listFiles) hash.update(readFileSync(join(folder, file)));
  const helpers = join(runtimesFolder, 'helpers');
  for (const file of readdirSync(helpers).sort()) hash.update(file).update(readFileSync(join(helpers, file)));
  return hash.digest('hex');
}

function isInstalled(folder, stamp) {
  const file = join(folder, 'node_modules', stampName);
  return existsSync(file) && readFileSync(file, 'utf8') === stamp;
}

/** Resolves with what npm wrote; rejects when it fails. It ends with us. */
function npmCi(folder) {
  const npm = process.env.npm_execpath;
  // On the command line, since npm hands the settings of the project that it was started in to its children.
  const args = [
    'ci',
    '--omit=dev',
    '--include=optional',
    '--ignore-scripts',
    '--install-links',
    '--no-audit',
    '--no-fund',
  ];
  args.push('--engine-strict=false', '--prefix', folder);
  const [command, ...first] = npm ? [process.execPath, npm] : ['npm'];
  const child = spawn(command, [...first, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const end = () => child.kill('SIGTERM');
  for (const signal of signals) process.on(signal, end);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-20_000)));
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`npm could not be started: ${error.message}`)));
    child.once('close', (code) => {
      for (const signal of signals) process.off(signal, end);
      if (code === 0) return resolve(output);
      const errors = output
        .split('\n')
        .filter((line) => /^npm (error|ERR!) (?! *at |A complete log)/.test(line));
      const cause = errors.slice(0, 4).map((line) => line.replace(/^npm (error|ERR!) /, '').trim());
      reject(new Error(`npm ci failed: ${cause.join('; ') || `it ended with ${code}`}`));
    });
  });
}

/** Names of the runtimes below `runtimesFolder` that have a list of packages. */
export function installableRuntimes(runtimesFolder) {
  return readdirSync(runtimesFolder)
    .filter((name) => existsSync(join(runtimesFolder, name, 'runtime.json')))
    .filter((name) => listFiles.every((file) => existsSync(join(runtimesFolder, name, file))))
    .sort()
    .reverse();
}

/** Installs a runtime where it is not. `say` gets one line at the beginning and one at the end. Throws with the cause. */
export async function installRuntime(name, runtimesFolder, say) {
  const known = installableRuntimes(runtimesFolder);
  if (!known.includes(name)) throw new Error(`unknown runtime ${name}: one of ${known.join(', ')}`);
  const folder = join(runtimesFolder, name);
  const stamp = stampOf(folder, runtimesFolder);
  if (isInstalled(folder, stamp)) return;
  await withLock(join(runtimesFolder, `.lock-${name}`), async () => {
    // Another process may have done it while we waited.
    if (isInstalled(folder, stamp)) return;
    const started = performance.now();
    say(`installing runtime ${name} (about a minute)`);
    const prefix = `.staging-${name}-`;
    for (const left of readdirSync(runtimesFolder).filter((entry) => entry.startsWith(prefix)))
      rmSync(join(runtimesFolder, left), { recursive: true, force: true });
    // A sibling of the runtime's folder: its list names ../helpers, and a rename stays on one disk.
    const staging = join(runtimesFolder, `${prefix}${process.pid}`);
    try {
      mkdirSync(staging);
      for (const file of listFiles) copyFileSync(join(folder, file), join(staging, file));
      await npmCi(staging);
      writeFileSync(join(staging, 'node_modules', stampName), stamp);
      if (existsSync(join(folder, 'node_modules')))
        renameSync(join(folder, 'node_modules'), join(staging, 'replaced'));
      renameSync(join(staging, 'node_modules'), join(folder, 'node_modules'));
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
    say(`runtime ${name} is installed (${((performance.now() - started) / 1000).toFixed(0)} s)`);
  });
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [action, name, folder = join(root, 'runtimes')] = process.argv.slice(2);
  try {
    if (action !== 'install' || name === undefined)
      throw new Error('usage: node scripts/runtime.mjs install NAME [FOLDER]');
    await installRuntime(name, folder, (line) => process.stderr.write(`${line}\n`));
  } catch (error) {
    process.stderr.write(`runtime: ${error.message}\n`);
    process.exitCode = 1;
  }
}
