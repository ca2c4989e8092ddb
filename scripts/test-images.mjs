/**
 * node scripts/test-images.mjs [--no-build] [FILE …]: builds the container images (scripts/images.mjs; what has not changed comes
 * from the engine's cache), runs test/images/ against them, removes what the tests made, and closes with one line
 * `N passed, N failed, N skipped`. What failed or was skipped is listed above that line. Needs a container engine.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from './command-line.mjs';

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
  end([0, 1, 0], [`failed: no container engine answers: ${why}`]);
}
if (!values['no-build'] && (await node(['scripts/images.mjs', '--no-measure', ...images])) !== 0) {
  end([0, 1, 0], ['failed: the images could not be built as they should be; see above']);
}

const folder = mkdtempSync(join(tmpdir(), 'location-agent-test-images-'));
const report = join(folder, 'report.json');
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
const exitCode = await node(
  ['node_modules/vitest/vitest.mjs', 'run', '--config', 'vitest.images.config.ts', ...reporters, ...files],
  { IMAGE_TESTS_RUN: run },
);
removeAll();

const lines = [];
const totals = [0, 0, 0];
try {
  for (const { name, status, assertionResults } of JSON.parse(readFileSync(report, 'utf8')).testResults) {
    const named = (...wanted) =>
      assertionResults.filter((test) => wanted.includes(test.status)).map((test) => test.fullName);
    const [passed, failed, skipped] = [
      named('passed'),
      named('failed'),
      named('pending', 'skipped', 'todo', 'disabled'),
    ];
    if (status === 'failed' && failed.length === 0) failed.push('the file as a whole');
    totals[0] += passed.length;
    totals[1] += failed.length;
    totals[2] += skipped.length;
    const file = relative(root, name);
    if (skipped.length > 0) lines.push(`skipped: ${file}: ${skipped.length}, the first is "${skipped[0]}"`);
    lines.push(...failed.map((test) => `failed: ${file}: "${test}"`));
  }
} catch {
  lines.push('failed: the test runner left no report');
}
rmSync(folder, { recursive: true, force: true });
if (exitCode !== 0 && totals[1] === 0) totals[1] = 1;
end(totals, lines);

function end([passed, failed, skipped], lines) {
  for (const line of lines) process.stdout.write(`${line}\n`);
  process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  process.exit(failed > 0 ? 1 : 0);
}

/** Runs a program of Node's in the project; its exit code. Signals to us reach it, and we go on to clean up. */
function node(args, env = {}) {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
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

/** Containers, networks and volumes that bear the label of this run, or that compose made for it. */
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
    // Two filters in one call would ask for both labels.
    const ids = labels.flatMap((own) => docker(...list, '--filter', `label=${own}`, '-q'));
    if (ids.length > 0) docker(...remove, ...ids);
  }
}
