/**
 * Installs and builds everything that a fresh clone needs, for `npm start` (start), `npm test` (test) and `npm run build` (build).
 * It runs before any dependency is installed, so it uses only Node's own modules. It returns quickly if there is nothing to do. If
 * something optional cannot be installed, one line says so with the remedy, and the set-up continues.
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

/** Ends the set-up; the reason has already been printed. */
class SetupError extends Error {}

/** Prints the reason immediately, because parallel installs may take a while to finish. */
function fail(line) {
  say(line);
  throw new SetupError(line);
}

/** The child process that is running. */
let current;

/** Runs a program until it exits. Resolves with its success and its output. */
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

/** Node 22, 24 and 26 are tested; Node 20.19 works until a dependency needs a newer one (docs/upgrade.md). */
function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    fail(`Node ${process.versions.node} is too old: install Node 20.19 or newer`);
  }
}

/** Runs npm ci if the dependencies or the Node major (native modules) have changed since the last time. */
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
  // The compiler is a development dependency, so these are installed whatever NODE_ENV is.
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  // Native packages are built for this Node, so its own headers override npm's configuration.
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

/** Compiles src to dist if a source, the compiler or its settings have changed. */
async function compile() {
  const hash = createHash('sha256');
  for (const file of filesBelow(path('src'))) {
    if (!/\.(tsx?|css|html|svg)$/.test(file)) continue;
    const { mtimeMs, size } = statSync(file);
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  for (const file of [
    'tsconfig.json',
    'tsconfig.build.json',
    'tsconfig.types.json',
    'package-lock.json',
    'scripts/bundle-child.mjs',
    'scripts/build-pages.mjs',
  ])
    hash.update(readFileSync(path(file)));
  const stamp = hash.digest('hex');
  const stampFile = path('dist', '.setup-stamp');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  say('compiling');
  // In a separate folder, because programs may run from dist; this also removes files whose source is gone.
  const fresh = path('build', 'dist');
  rmSync(fresh, { recursive: true, force: true });
  const done = await run(process.execPath, [
    path('node_modules', 'typescript', 'bin', 'tsc'),
    '-p',
    'tsconfig.build.json',
    '--outDir',
    fresh,
    // The build info file would have paths relative to that folder.
    '--incremental',
    'false',
    '--tsBuildInfoFile',
    'null',
  ]);
  if (!done.ok) fail(`the sources do not compile:\n${tail(done.output)}`);
  // Only constructs are imported by others, so only they have types.
  const typed = await run(process.execPath, [
    path('node_modules', 'typescript', 'bin', 'tsc'),
    '-p',
    'tsconfig.types.json',
    '--outDir',
    join(fresh, 'constructs'),
  ]);
  if (!typed.ok) fail(`the types of constructs cannot be written:\n${tail(typed.output)}`);
  const bundled = await run(process.execPath, [path('scripts', 'bundle-child.mjs'), fresh]);
  if (!bundled.ok) fail(`the script programs cannot be bundled:\n${tail(bundled.output)}`);
  const pages = join(fresh, 'service', 'pages', 'browser');
  const built = await run(process.execPath, [path('scripts', 'build-pages.mjs'), pages]);
  if (!built.ok) fail(`the pages cannot be built:\n${tail(built.output)}`);
  writeFileSync(join(fresh, '.setup-stamp'), stamp);
  swapFolder(fresh, path('dist'));
}

/** Renders the documents for `/help` of the service if one of them, or the sources of the site, has changed. */
async function renderHelp() {
  const folder = path('dist', 'service', 'pages', 'help');
  const stampFile = path('build', '.help-stamp');
  const hash = createHash('sha256');
  const top = readdirSync(root).filter((name) => name.endsWith('.md'));
  for (const file of [
    ...filesBelow(path('docs')),
    ...filesBelow(path('scripts', 'docs')),
    ...top.map((name) => path(name)),
  ]) {
    const { mtimeMs, size } = statSync(file);
    hash.update(`${file} ${mtimeMs} ${size}\n`);
  }
  for (const file of ['package-lock.json', 'scripts/docs.mjs']) hash.update(readFileSync(path(file)));
  const stamp = hash.digest('hex');
  const isThere = existsSync(join(folder, 'index.html')) && existsSync(stampFile);
  if (isThere && readFileSync(stampFile, 'utf8') === stamp) return;
  const done = await run(process.execPath, [path('scripts', 'docs.mjs'), folder]);
  if (done.ok) writeFileSync(stampFile, stamp);
  else
    say(
      `the help was not rendered, so /help of the service has no pages; run npm run docs:\n${tail(done.output)}`,
    );
}

async function buildAddon() {
  const { buildNative } = await import('./native.mjs');
  const reason = buildNative();
  if (reason) say(reason);
}

/** Installs the runtime and the engines for tests, in parallel, because each install mostly waits for network or disk. */
function installForTests() {
  const runtimes = path('runtimes');
  return Promise.all([
    installRuntime(defaultRuntime, runtimes, say).catch(({ message }) =>
      say(`script tests will be skipped: ${message}; run node scripts/runtime.mjs install ${defaultRuntime}`),
    ),
    installEngines(enginesFolder, say).catch(({ message }) =>
      say(`suite tests will be skipped: ${message}; run node scripts/engines.mjs install`),
    ),
  ]);
}

async function setUp(mode) {
  if (!['start', 'test', 'build'].includes(mode)) fail(`unknown mode ${mode}: use start, test or build`);
  checkNode();
  mkdirSync(path('build'), { recursive: true });
  // `npm start` does not wait for a runtime, because `dev` installs it while the service is running.
  const forTests = mode === 'test' ? installForTests() : null;
  try {
    await withLock(path('build', '.setup-lock'), async () => {
      const system =
        mode === 'build'
          ? null
          : installSystemPackages(mode, say).catch(({ message }) =>
              say(`system packages were not installed: ${message}`),
            );
      try {
        await installDependencies();
        await compile();
        await renderHelp();
      } finally {
        // An interrupted install would leave the system in a bad state; it may also install the compiler for the addon.
        await system;
      }
      await buildAddon();
    });
  } finally {
    // Without this, npm would continue on its own.
    await forTests;
  }
}

// Parallel installs kill their npm themselves on a signal, and must not delay the exit.
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
