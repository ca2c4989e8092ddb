/**
 * node scripts/images.mjs [--no-build] [--no-measure] [--starts N] [--no-cache] [--json] [full|uptime|dev|migrate …]: builds images as
 * location-agent:NAME; without a name, all of them. Prints each layer with its size and purpose, the sum against the image's limit,
 * the start time of a container (the best of 5 starts, or N) and its idle memory. Exit code 1: a size, time or memory limit is
 * exceeded, or a layer has no description; 2: not built or not measured; 64: usage.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { misused, readCommandLine } from './command-line.mjs';
import { layersOf } from './images/layers.mjs';
import { measure } from './images/measure.mjs';
import { publicRemote, webPage } from './release/provenance.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const megabyte = 1e6;

/** `limit` and `rssLimit` in bytes, `readyLimit` in milliseconds; null = no limit. `measured`: start time and memory are measured. */
const images = {
  // First, because it has all layers of `full`: without a cache, the engine builds most of them in parallel.
  migrate: {
    file: 'Dockerfile',
    args: { RUNTIMES: '2024.09 2025.04 2026.04', AGENT_IMAGE: 'location-agent:migrate' },
    limit: null,
    measured: false,
  },
  full: {
    file: 'Dockerfile',
    args: { AGENT_IMAGE: 'location-agent:full' },
    limit: 2000 * megabyte,
    readyLimit: 2000,
    rssLimit: null,
    measured: true,
  },
  uptime: {
    file: 'Dockerfile.uptime',
    args: {},
    limit: 200 * megabyte,
    readyLimit: 1000,
    rssLimit: 110 * megabyte,
    measured: true,
  },
  dev: { file: 'Dockerfile.dev', args: { BASE: 'location-agent:full' }, limit: null, measured: false },
};

const { values, positionals } = readCommandLine('images', {
  allowPositionals: true,
  options: {
    'no-build': { type: 'boolean', default: false },
    'no-measure': { type: 'boolean', default: false },
    'no-cache': { type: 'boolean', default: false },
    starts: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
});
const unknown = positionals.find((name) => !Object.hasOwn(images, name));
if (unknown !== undefined)
  misused('images', `unknown image "${unknown}": use ${Object.keys(images).join(', ')}`);
if (!/^([1-9]|[1-4]\d|50)$/.test(values.starts)) misused('images', '--starts must be a number from 1 to 50');
const names = Object.keys(images).filter((name) => positionals.length === 0 || positionals.includes(name));

const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() || null;

/** Exits with code 2: neither a usage mistake nor an exceeded limit. */
function giveUp(why) {
  process.stderr.write(`images: ${why}\n`);
  process.exit(2);
}

function build(name, { file, args }) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const all = {
    ...args,
    VERSION: version,
    REVISION: git('rev-parse', 'HEAD') ?? '',
    // The commit's date, so that the same sources produce the same image.
    CREATED: git('log', '-1', '--format=%cI') ?? '',
    SOURCE: webPage(publicRemote(git('remote', 'get-url', 'origin') ?? '') ?? ''),
  };
  const flags = Object.entries(all).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
  if (values['no-cache']) flags.push('--no-cache');
  const started = performance.now();
  // A service that runs from the sources names the image by its version.
  const tags = name === 'full' ? [name, version] : [name];
  const named = tags.flatMap((tag) => ['-t', `location-agent:${tag}`]);
  const done = spawnSync('docker', ['build', '-f', file, ...named, ...flags, '.'], {
    cwd: root,
    // Docker releases before 23 use BuildKit only with this variable.
    env: { ...process.env, DOCKER_BUILDKIT: '1' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (done.status !== 0) giveUp(`${name} could not be built: ${done.error?.message ?? 'see above'}`);
  return Math.round((performance.now() - started) / 1000);
}

const size = (bytes) => `${(bytes / megabyte).toFixed(1)} MB`.padStart(10);
let failed = false;
const report = [];
for (const name of names) {
  try {
    report.push(await look(name, images[name]));
  } catch (error) {
    giveUp(`${name}: ${error.message}`);
  }
}
if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(failed ? 1 : 0);

/** Builds, measures and prints one image. Returns its entry of the report. */
async function look(name, image) {
  const tag = `location-agent:${name}`;
  const buildSeconds = values['no-build'] ? null : build(name, image);
  const { layers, bytes } = layersOf(tag);
  failed ||= layers.some(({ purpose, bytes: own }) => purpose === null && own > megabyte);
  const measured = image.measured && !values['no-measure'] ? await measure(tag, Number(values.starts)) : null;
  /** Describes a figure against its limit. An exceeded limit makes the program fail. */
  const within = (value, limit, scale, unit) => {
    if (limit === null || limit === undefined) return '';
    failed ||= value > limit;
    return `, limit ${limit / scale} ${unit}: ${value <= limit ? 'ok' : 'EXCEEDED'}`;
  };
  const lines = layers
    .filter(({ bytes: own }) => own > 0)
    .map(({ bytes: own, purpose, command }) => `${size(own)}  ${purpose ?? `NOT DESCRIBED: ${command}`}`);
  if (measured !== null) {
    const { readyMs, startsMs, rssBytes } = measured;
    lines.push(
      `start to readiness ${readyMs} ms${within(readyMs, image.readyLimit, 1, 'ms')} (of ${startsMs.join(', ')})`,
      `idle: ${size(rssBytes).trim()} resident${within(rssBytes, image.rssLimit, megabyte, 'MB')}`,
    );
  }
  const sum = `${size(bytes)}  in total${within(bytes, image.limit, megabyte, 'MB')}`;
  const built = buildSeconds === null ? '' : `, built in ${buildSeconds} s`;
  process.stderr.write(`\n${tag}${built}\n${[sum, ...lines].map((line) => `  ${line}`).join('\n')}\n`);
  return { name, bytes, limit: image.limit, layers, buildSeconds, ...measured };
}
