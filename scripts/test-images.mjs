/**
 * node scripts/test-images.mjs [--no-build] [FILE …]: builds the container images (scripts/images.mjs, with the engine's cache),
 * runs test/images/ against them, and deletes everything that the tests created. The last line of output is
 * `N passed, N failed, N skipped`; failed and skipped tests are listed above it. Needs a container engine.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from './command-line.mjs';
import { closeRun, runVitest } from './run-vitest.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values, positionals: files } = readCommandLine('test-images', {
  allowPositionals: true,
  options: { 'no-build': { type: 'boolean', default: false } },
});
const images = ['migrate', 'full', 'uptime', 'dev'];
const label = 'location-agent.image-tests';
const run = randomBytes(3).toString('hex');

const engine = spawnSync('docker', ['version', '--format', '{{.Server.Version}}'], { encoding: 'utf8' });
if (engine.status !== 0) {
  const why = (engine.stderr || engine.error?.message || '').trim();
  closeRun({ files: [], exitCode: 1 }, [`no container engine is available: ${why}`]);
}
if (!values['no-build'] && (await node(['scripts/images.mjs', '--no-measure', ...images])) !== 0) {
  closeRun({ files: [], exitCode: 1 }, ['the images were not built, or exceed their limits; see above']);
}
const result = await runVitest(['--config=vitest.images.config.ts', ...files], { IMAGE_TESTS_RUN: run });
removeAll();
closeRun(result);

/** Runs a Node program in the project and resolves with its exit code. Passes signals on to it, so that this process can clean up. */
function node(args) {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
  });
  const hand = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, hand);
  return new Promise((resolve) =>
    child.on('close', (code) => {
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, hand);
      resolve(code ?? 1);
    }),
  );
}

/** Deletes the containers, networks and volumes that have this run's label or that compose created for it. */
function removeAll() {
  const docker = (...args) =>
    (spawnSync('docker', args, { encoding: 'utf8' }).stdout ?? '').split('\n').filter(Boolean);
  const labels = [`${label}=${run}`, `com.docker.compose.project=image-tests-${run}`];
  for (const [list, remove] of [
    [
      ['ps', '-a'],
      ['rm', '--force', '--volumes'],
    ],
    [
      ['network', 'ls'],
      ['network', 'rm'],
    ],
    [
      ['volume', 'ls'],
      ['volume', 'rm'],
    ],
  ]) {
    // Two filters in one call would require both labels.
    const ids = labels.flatMap((own) => docker(...list, '--filter', `label=${own}`, '-q'));
    if (ids.length > 0) docker(...remove, ...ids);
  }
}
