/**
 * Builds the native addon, src/native/addon → build/native/location_agent.node, with the system's C compiler and the headers
 * of any Node: it uses only interfaces that are the same in all of them, so one build serves every Node.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, 'src', 'native', 'addon');
const output = join(root, 'build', 'native', 'location_agent.node');
const consequence = 'the agent pings through the raw-socket package, if that could be built, or not at all';

function isFresh() {
  if (!existsSync(output)) return false;
  const built = statSync(output).mtimeMs;
  return readdirSync(sources).every((name) => statSync(join(sources, name)).mtimeMs <= built);
}

/** Where Node's headers may be: beside the binary that runs this, the system's, node-gyp's, or where npm was told. */
function headerFolders() {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'node-gyp');
  const cached = existsSync(cache) ? readdirSync(cache).map((version) => join(cache, version)) : [];
  const told = process.env.npm_config_nodedir;
  return [
    ...(told ? [told] : []),
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

/**
 * Builds what is missing or older than its sources. Null when all is well, else one line: the reason and the remedy. The
 * product goes on without the addon.
 */
export function buildNative() {
  if (process.platform !== 'linux') return `the native addon is for Linux only: ${consequence}`;
  if (isFresh()) return null;
  const [compiler] = compilers();
  if (!compiler)
    return `no C compiler for the native addon: install gcc and libc6-dev; until then ${consequence}`;
  const headers = headerFolders().find((folder) =>
    ['node_api.h', 'uv.h'].every((name) => existsSync(join(folder, name))),
  );
  if (!headers) {
    return `no headers of Node for the native addon: install libnode-dev, or set npm_config_nodedir to a folder that holds include/node; until then ${consequence}`;
  }
  mkdirSync(dirname(output), { recursive: true });
  const unfinished = `${output}.${process.pid}`;
  const files = readdirSync(sources).filter((name) => name.endsWith('.c'));
  const flags = [
    '-std=gnu11',
    '-O2',
    '-fPIC',
    '-shared',
    '-fvisibility=hidden',
    '-Wall',
    '-Wextra',
    '-D_FORTIFY_SOURCE=2',
  ];
  const done = spawnSync(
    compiler,
    [...flags, '-isystem', headers, '-o', unfinished, ...files.map((name) => join(sources, name))],
    { encoding: 'utf8' },
  );
  if (done.status !== 0) {
    rmSync(unfinished, { force: true });
    const line =
      `${done.stderr ?? ''}${done.error?.message ?? ''}`.split('\n').find((one) => /error/i.test(one)) ??
      'no message';
    return `the native addon does not compile (${line.trim()}): install gcc and libc6-dev; until then ${consequence}`;
  }
  if (done.stderr) process.stderr.write(done.stderr); // warnings
  renameSync(unfinished, output); // at once: another process may be loading it
  return null;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const reason = buildNative();
  if (reason) {
    process.stderr.write(`${reason}\n`);
    process.exitCode = 1;
  }
}
