/**
 * Builds the C parts with the system's compiler:
 * - the native addon, src/native/addon → build/native/location_agent.node. It uses only interfaces that are the same in every Node,
 *   so the headers of any Node will do, and one build serves every Node.
 * - the script launcher, src/native/launcher → build/native/launcher
 * - the raw-socket helper, src/native/raw-socket → build/native/raw-socket. Images give it the capability to open raw sockets.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const addon = {
  name: 'the native addon',
  sources: join(root, 'src', 'native', 'addon'),
  output: join(root, 'build', 'native', 'location_agent.node'),
  consequence: 'ICMP checks need the raw-socket package, and do not run if that is missing too',
};
const launcher = {
  name: 'the launcher',
  sources: join(root, 'src', 'native', 'launcher'),
  output: join(root, 'build', 'native', 'launcher'),
  consequence: 'scripts run without confinement',
};

const rawSocket = {
  name: 'the raw-socket helper',
  sources: join(root, 'src', 'native', 'raw-socket'),
  output: join(root, 'build', 'native', 'raw-socket'),
  consequence: 'an agent without privileges sends pings only through ping sockets',
};

function isFresh({ sources, output }) {
  if (!existsSync(output)) return false;
  const built = statSync(output).mtimeMs;
  return readdirSync(sources, { recursive: true }).every(
    (name) => statSync(join(sources, name)).mtimeMs <= built,
  );
}

/** Folders that may hold Node's headers: npm's setting, this Node's installation, node-gyp's cache, and the system's folders. */
function headerFolders() {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'node-gyp');
  const cached = existsSync(cache) ? readdirSync(cache).map((version) => join(cache, version)) : [];
  const configured = process.env.npm_config_nodedir;
  return [
    ...(configured ? [configured] : []),
    join(dirname(process.execPath), '..'),
    join(cache, process.versions.node),
    '/usr',
    '/usr/local',
    ...cached,
  ].map((folder) => join(folder, 'include', 'node'));
}

function compilers() {
  return [process.env.CC, 'cc', 'gcc', 'clang'].filter(
    (name) => name && spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
  );
}

const warnings = ['-std=gnu11', '-pthread', '-O2', '-Wall', '-Wextra', '-D_FORTIFY_SOURCE=2'];

/** Compiles one part. Returns null, or the reason with the compiler's message. */
function compile(compiler, part, flags) {
  mkdirSync(dirname(part.output), { recursive: true });
  const unfinished = `${part.output}.${process.pid}`;
  const files = readdirSync(part.sources, { recursive: true }).filter((name) => name.endsWith('.c'));
  const done = spawnSync(
    compiler,
    [...warnings, ...flags, '-o', unfinished, ...files.map((name) => join(part.sources, name))],
    { encoding: 'utf8' },
  );
  if (done.status !== 0) {
    rmSync(unfinished, { force: true });
    const line =
      `${done.stderr ?? ''}${done.error?.message ?? ''}`.split('\n').find((each) => /error/i.test(each)) ??
      'no message';
    return `${part.name} does not compile (${line.trim()}): install gcc and libc6-dev; until then ${part.consequence}`;
  }
  if (done.stderr) process.stderr.write(done.stderr); // warnings
  renameSync(unfinished, part.output); // atomic, because another process may be loading it
  return null;
}

function buildAddon(compiler) {
  const headers = headerFolders().find((folder) =>
    ['node_api.h', 'uv.h'].every((name) => existsSync(join(folder, name))),
  );
  if (!headers) {
    return `no Node headers for the native addon: install libnode-dev, or set npm_config_nodedir to a folder that contains include/node; until then ${addon.consequence}`;
  }
  return compile(compiler, addon, [
    '-fPIC',
    '-shared',
    '-fvisibility=hidden',
    '-Wl,-z,nodelete',
    '-isystem',
    headers,
  ]);
}

/** Prefers a static build, which starts faster and cannot be preloaded. Not every system has the static C library. */
function buildProgram(compiler, part) {
  const reason = compile(compiler, part, ['-static']);
  return reason === null ? null : compile(compiler, part, []);
}

/**
 * Builds the parts that are missing or older than their sources. Returns null on success, else one line per part with the reason
 * and the remedy. The agent works without these parts.
 */
export function buildNative() {
  if (process.platform !== 'linux') {
    return `the native parts are for Linux only: ${addon.consequence}; ${launcher.consequence}`;
  }
  const stale = [addon, launcher, rawSocket].filter((part) => !isFresh(part));
  if (stale.length === 0) return null;
  const [compiler] = compilers();
  if (!compiler) {
    const names = stale.map(({ name }) => name).join(', ');
    const consequences = stale.map(({ consequence }) => consequence).join('; ');
    return `no C compiler for ${names}: install gcc and libc6-dev; until then ${consequences}`;
  }
  const reasons = stale.map((part) => (part === addon ? buildAddon(compiler) : buildProgram(compiler, part)));
  return reasons.filter((reason) => reason !== null).join('\n') || null;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const reason = buildNative();
  if (reason) {
    process.stderr.write(`${reason}\n`);
    process.exitCode = 1;
  }
}
