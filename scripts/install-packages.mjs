/**
 * Installs the packages that a lock file lists, install scripts off, with Node and npm alone: for runtimes and suite engines.
 * They are made in a folder of their own and moved into place with their stamp in them, so that a half install is never
 * taken for a whole one, and runs go on meanwhile. Quick when there is nothing to do.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';

/** All settings of the install are given on the command line, so .npmrc (for making the lock file) is none of them. */
export const listFiles = ['package.json', 'package-lock.json'];

/** A text that changes with whatever an install of `folder` depends on; `add` takes what else it does. */
export function stampOf(folder, add = () => undefined) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  for (const file of listFiles) hash.update(readFileSync(join(folder, file)));
  add(hash);
  return hash.digest('hex');
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

/**
 * Installs the list of `folder` below it, where `stamp` is not what stands there already. `name` is what lines call it;
 * `stampName` is the file in node_modules, written last, that tells that the install is whole; `beside` is the folder, on the same
 * disk, in which it is made. `say` gets one line at the beginning and one at the end. Throws with the cause.
 */
export async function installPackages({ name, folder, stamp, stampName, beside, key, say }) {
  const stampFile = join(folder, 'node_modules', stampName);
  const isInstalled = () => existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp;
  if (isInstalled()) return;
  await withLock(join(beside, `.lock-${key}`), async () => {
    // Another process may have done it while we waited.
    if (isInstalled()) return;
    const started = performance.now();
    say(`installing ${name} (about a minute)`);
    const prefix = `.staging-${key}-`;
    for (const left of readdirSync(beside).filter((entry) => entry.startsWith(prefix)))
      rmSync(join(beside, left), { recursive: true, force: true });
    const staging = join(beside, `${prefix}${process.pid}`);
    try {
      mkdirSync(staging);
      for (const file of listFiles) copyFileSync(join(folder, file), join(staging, file));
      await npmCi(staging);
      // Where nothing of the list is for this platform, npm makes none.
      mkdirSync(join(staging, 'node_modules'), { recursive: true });
      writeFileSync(join(staging, 'node_modules', stampName), stamp);
      if (existsSync(join(folder, 'node_modules')))
        renameSync(join(folder, 'node_modules'), join(staging, 'replaced'));
      renameSync(join(staging, 'node_modules'), join(folder, 'node_modules'));
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
    say(`${name} is installed (${((performance.now() - started) / 1000).toFixed(0)} s)`);
  });
}
