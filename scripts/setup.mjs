/**
 * Everything that a fresh clone lacks, for `npm start` (start), `npm test` (test) and `npm run build` (build).
 * Runs before any dependency is there, so it uses Node alone. Quick when there is nothing to do; what can't be had is
 * named in one line with the remedy and left out.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { enginesFolder, installEngines } from './engines.mjs';
import { withLock } from './lock.mjs';
import { defaultRuntime, installRuntime } from './runtime.mjs';
import { swapFolder } from './swap-folder.mjs';
import { installSystemPackages } from './system-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const path = (...parts) => join(root, ...parts);
const say = (line) => process.stderr.write(`setup: ${line}\n`);

/** Ends the set-up; its user has been told why. */
class SetupError extends Error {}

/** Says at once what ends the set-up: what goes on beside it may take a while to its own end. */
function fail(line) {
  say(line);
  throw new SetupError(line);
}

/** Of the project's programs the one that runs. */
let current;

/** Runs a program of the project's to its end; what it printed. */
function run(command, args, options = {}) {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], ...options });
  current = child;
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-100_000)));
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ ok: false, output: output + error.message }));
    child.once('close', (code) => resolve({ ok: code === 0, output }));
  });
}

const tail = (text) => text.trim().split('\n').slice(-15).join('\n');

/** Node 20.19, 22, 24 and 26 are tested. */
function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    fail(`Node ${process.versions.node} is too old: install Node 20.19 or newer`);
  }
}

/** npm ci when what is depended on or the Node major (native modules) has changed since the last one. */
async function installDependencies() {
  const stampFile = path('node_modules', '.setup-stamp');
  const { dependencies, devDependencies, optionalDependencies, overrides } = JSON.parse(
    readFileSync(path('package.json'), 'utf8'),
  );
  const stamp = createHash('sha256')
    .update(JSON.stringify([dependencies, devDependencies, optionalDependencies, overrides]))
    .update(readFileSync(path('package-lock.json')))
    .update(`${process.versions.modules} ${process.platform} ${process.arch}`)
    .digest('hex');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  say('installing dependencies');
  const npm = process.env.npm_execpath;
  // Development dependencies hold the compiler, so they come whatever NODE_ENV says.
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  // Native packages are built for this Node: its own headers win over what npm is configured to use.
  const prefix = dirname(dirname(process.execPath));
  const ownHeaders = existsSync(join(prefix, 'include', 'node', 'node_version.h'));
  const env = ownHeaders ? { ...process.env, npm_config_nodedir: prefix } : process.env;
  const done = await (npm ? run(process.execPath, [npm, ...args], { env }) : run('npm', args, { env }));
  if (!done.ok) fail(`npm ci failed:\n${tail(done.output)}`);
  writeFileSync(stampFile, stamp);
}

function* filesBelow(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const full = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(full);
    else yield full;
  }
}

/** src → dist, when a source, the compiler or its settings have changed. */
async function compile() {
  const hash = createHash('sha256');
  for (const file of filesBelow(path('src'))) {
    if (!/\.(ts|css|html)$/.test(file)) continue;
    const { mtimeMs, size } = statSync(file);
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  for (const file of [
    'tsconfig.json',
    'tsconfig.build.json',
    'package-lock.json',
    'scripts/bundle-child.mjs',
    'scripts/build-pages.mjs',
  ])
    hash.update(readFileSync(path(file)));
  const stamp = hash.digest('hex');
  const stampFile = path('dist', '.setup-stamp');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  say('compiling');
  // Beside dist, which programs may run from meanwhile; a file whose source is gone does not linger.
  const fresh = path('build', 'dist');
  rmSync(fresh, { recursive: true, force: true });
  const done = await run(process.execPath, [
    path('node_modules', 'typescript', 'bin', 'tsc'),
    '-p',
    'tsconfig.build.json',
    '--outDir',
    fresh,
    // Its file would name the sources as seen from there.
    '--incremental',
    'false',
    '--tsBuildInfoFile',
    'null',
  ]);
  if (!done.ok) fail(`the sources do not compile:\n${tail(done.output)}`);
  const bundled = await run(process.execPath, [path('scripts', 'bundle-child.mjs'), fresh]);
  if (!bundled.ok) fail(`the program of scripts can't be bundled:\n${tail(bundled.output)}`);
  const pages = join(fresh, 'service', 'pages', 'browser');
  const built = await run(process.execPath, [path('scripts', 'build-pages.mjs'), pages]);
  if (!built.ok) fail(`the pages cannot be built:\n${tail(built.output)}`);
  writeFileSync(join(fresh, '.setup-stamp'), stamp);
  swapFolder(fresh, path('dist'));
}

async function buildAddon() {
  const { buildNative } = await import('./native.mjs');
  const reason = buildNative();
  if (reason) say(reason);
}

/** Packages that come from elsewhere than the project's own; beside them, since each mostly waits for a network or a disk. */
function installForTests() {
  const runtimes = path('runtimes');
  return Promise.all([
    installRuntime(defaultRuntime, runtimes, say).catch(({ message }) =>
      say(`left out: tests of scripts; ${message}; node scripts/runtime.mjs install ${defaultRuntime}`),
    ),
    installEngines(enginesFolder, say).catch(({ message }) =>
      say(`left out: tests of suites; ${message}; node scripts/engines.mjs install`),
    ),
  ]);
}

async function setUp(mode) {
  if (!['start', 'test', 'build'].includes(mode)) fail(`unknown mode ${mode}: start, test or build`);
  checkNode();
  mkdirSync(path('build'), { recursive: true });
  // `npm start` need not wait for a runtime: dev installs it beside the running service.
  const forTests = mode === 'test' ? installForTests() : null;
  try {
    await withLock(path('build', '.setup-lock'), async () => {
      const system =
        mode === 'build'
          ? null
          : installSystemPackages(mode, say).catch(({ message }) =>
              say(`left out: packages of the system; ${message}`),
            );
      try {
        await installDependencies();
        await compile();
      } finally {
        // Not to be cut off in the middle; and it may bring the compiler that the addon is built with.
        await system;
      }
      await buildAddon();
    });
  } finally {
    // Nor this: its npm would go on alone.
    await forTests;
  }
}

// Installs beside it end their npm by themselves when they hear one, and must not keep the set-up from ending.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    current?.kill('SIGTERM');
    setImmediate(() => process.exit(128 + constants.signals[signal]));
  });

try {
  await setUp(process.argv[2] ?? 'build');
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.exit(1);
}
