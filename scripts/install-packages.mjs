/**
 * Installs the packages of a lock file without install scripts, for runtimes and suite engines. Needs only Node and npm.
 * Packages are installed into a staging folder and moved into place together with a stamp, so an incomplete install is never used
 * and runs continue during the install. Returns quickly if there is nothing to do.
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
import { dirname, join } from 'node:path';
import { withLock } from './lock.mjs';

/** The files that an install needs. npm gets its settings on the command line, so .npmrc (for creating the lock file) is not one. */
export const listFiles = ['package.json', 'package-lock.json'];

/** A hash over everything that an install of `folder` depends on; `add` may update the hash with further inputs. */
export function stampOf(folder, add = () => undefined) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  for (const file of listFiles) hash.update(readFileSync(join(folder, file)));
  add(hash);
  return hash.digest('hex');
}

/** Resolves with npm's output; rejects if npm fails. npm is killed when this process is. */
function npmCi(folder) {
  // The npm of this Node, if there is one, because a bundled Node is not on the PATH.
  const beside = join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js');
  const npm = process.env.npm_execpath ?? (existsSync(beside) ? beside : undefined);
  // On the command line, because npm passes the settings of the project in which it was started to its children.
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
    child.once('error', (error) => reject(new Error(`npm did not start: ${error.message}`)));
    child.once('close', (code) => {
      for (const signal of signals) process.off(signal, end);
      if (code === 0) return resolve(output);
      const errors = output
        .split('\n')
        .filter((line) => /^npm (error|ERR!) (?! *at |A complete log)/.test(line));
      const cause = errors.slice(0, 4).map((line) => line.replace(/^npm (error|ERR!) /, '').trim());
      reject(new Error(`npm ci failed: ${cause.join('; ') || `exit code ${code}`}`));
    });
  });
}

/**
 * Installs the packages listed in `folder`, unless `stamp` is already there. `name` appears in progress lines. `stampName` is the
 * file in node_modules, written last, that marks the install as complete. `parent` is the folder, on the same disk, for the staging
 * folder. Calls `say` with one line at the start and one at the end. Throws with the cause.
 */
export async function installPackages({ name, folder, stamp, stampName, parent, key, say }) {
  const stampFile = join(folder, 'node_modules', stampName);
  const isInstalled = () => existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp;
  if (isInstalled()) return;
  await withLock(join(parent, `.lock-${key}`), async () => {
    // Another process may have installed them while this one waited.
    if (isInstalled()) return;
    const started = performance.now();
    say(`installing ${name} (about a minute)`);
    const prefix = `.staging-${key}-`;
    for (const left of readdirSync(parent).filter((entry) => entry.startsWith(prefix)))
      rmSync(join(parent, left), { recursive: true, force: true });
    const staging = join(parent, `${prefix}${process.pid}`);
    try {
      mkdirSync(staging);
      for (const file of listFiles) copyFileSync(join(folder, file), join(staging, file));
      await npmCi(staging);
      // npm creates no node_modules if no listed package is for this platform.
      mkdirSync(join(staging, 'node_modules'), { recursive: true });
      writeFileSync(join(staging, 'node_modules', stampName), stamp);
      if (existsSync(join(folder, 'node_modules')))
        renameSync(join(folder, 'node_modules'), join(staging, 'replaced'));
      renameSync(join(staging, 'node_modules'), join(folder, 'node_modules'));
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
    say(`installed ${name} (${((performance.now() - started) / 1000).toFixed(0)} s)`);
  });
}
