/**
 * node scripts/images.mjs [--no-build] [--no-measure] [--json] [full|uptime|dev|migrate …]: builds images as location-agent:NAME, prints
 * each layer with its size and what it is for, the sum against the image's limit, and what a container of it takes to start and
 * to stand idle. Without a name all of them. 1 = over a limit, or a layer that nobody has described.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { layersOf } from './images/layers.mjs';
import { measure } from './images/measure.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const megabyte = 1e6;

/** `limit` and `rssLimit` in bytes, `readyLimit` in milliseconds; null = none is set. `measured`: it is an agent of its own kind. */
const images = {
  full: {
    file: 'Dockerfile',
    args: {},
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
  migrate: {
    file: 'Dockerfile',
    args: { RUNTIMES: '2024.09 2025.04 2026.04' },
    limit: null,
    measured: false,
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'no-build': { type: 'boolean', default: false },
    'no-measure': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const unknown = positionals.find((name) => !Object.hasOwn(images, name));
if (unknown !== undefined) {
  process.stderr.write(`images: "${unknown}" is none of ${Object.keys(images).join(', ')}\n`);
  process.exit(64);
}
const names = Object.keys(images).filter((name) => positionals.length === 0 || positionals.includes(name));

const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() || null;

function build(name, { file, args }) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const all = {
    ...args,
    VERSION: version,
    REVISION: git('rev-parse', 'HEAD') ?? 'unknown',
    // Of the commit, not of today: what is built from the same sources is to be the same.
    CREATED: git('log', '-1', '--format=%cI') ?? '1970-01-01T00:00:00Z',
  };
  const flags = Object.entries(all).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
  const started = performance.now();
  const done = spawnSync('docker', ['build', '-f', file, '-t', `location-agent:${name}`, ...flags, '.'], {
    cwd: root,
    // BuildKit is what releases before 23 have to be asked for.
    env: { ...process.env, DOCKER_BUILDKIT: '1' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (done.status !== 0) {
    process.stderr.write(`images: ${name} could not be built: ${done.error?.message ?? 'see above'}\n`);
    process.exit(2);
  }
  return Math.round((performance.now() - started) / 1000);
}

const size = (bytes) => `${(bytes / megabyte).toFixed(1)} MB`.padStart(10);
const within = (value, limit, unit) =>
  limit === null || limit === undefined
    ? ''
    : `, limit ${limit} ${unit}: ${value <= limit ? 'ok' : 'EXCEEDED'}`;

let failed = false;
const report = [];
for (const name of names) {
  const image = images[name];
  const tag = `location-agent:${name}`;
  const buildSeconds = values['no-build'] ? null : build(name, image);
  const { layers, bytes } = layersOf(tag);
  const over = image.limit !== null && bytes > image.limit;
  const strange = layers.filter(({ purpose, bytes: own }) => purpose === null && own > megabyte);
  failed ||= over || strange.length > 0;
  const measured = image.measured && !values['no-measure'] ? await measure(tag) : null;
  report.push({ name, bytes, limit: image.limit, layers, buildSeconds, ...measured });
  const lines = layers
    .filter(({ bytes: own }) => own > 0)
    .map(({ bytes: own, purpose, command }) => `${size(own)}  ${purpose ?? `NOT DESCRIBED: ${command}`}`);
  if (measured !== null) {
    const { readyMs, rssBytes } = measured;
    lines.push(
      `start to readiness ${readyMs} ms${within(readyMs, image.readyLimit, 'ms')}`,
      `idle: ${size(rssBytes).trim()} resident${within(Math.round(rssBytes / megabyte), image.rssLimit && image.rssLimit / megabyte, 'MB')}`,
    );
  }
  const sum = `${size(bytes)}  altogether${within(Math.round(bytes / megabyte), image.limit && image.limit / megabyte, 'MB')}`;
  const built = buildSeconds === null ? '' : `, built in ${buildSeconds} s`;
  process.stderr.write(`\n${tag}${built}\n${[sum, ...lines].map((line) => `  ${line}`).join('\n')}\n`);
}
if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(failed ? 1 : 0);
