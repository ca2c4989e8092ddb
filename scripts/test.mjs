/**
 * Runs the whole test suite (or the files named as arguments) and closes with one line over all suites:
 * `N passed, N failed, N skipped`. What failed or was skipped is listed above that line. Under CI a test that should run on
 * this machine but was skipped is a failure, and a few files that failed beside others get one more run by themselves.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { missingForTests } from './system-packages.mjs';

const wanted = process.argv.slice(2);
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'location-agent-test-'));
const underCi = process.env.CI === 'true';
// More than this is no matter of a busy machine.
const mostRunAgain = 3;
// None of these has tests that only some machines can run.
const whole = /^test\/e2e\/suites-/;
const notRun = ['pending', 'skipped', 'todo', 'disabled'];

let current;
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    stopped = true;
    current?.kill(signal);
  });

const first = await run('report', wanted);
let { files, exitCode } = first;
const failedFiles = files.filter((file) => file.failed.length > 0);
if (underCi && !stopped && failedFiles.length > 0 && failedFiles.length <= mostRunAgain) {
  const names = failedFiles.map((file) => file.name);
  process.stdout.write(`failed beside other files, now run by themselves: ${names.join(', ')}\n`);
  const again = await run('again', [...names, '--no-file-parallelism']);
  for (const { name, failed } of failedFiles)
    for (const test of failed) {
      const later = again.files.find((file) => file.name === name);
      const verdict = later === undefined || later.failed.length > 0 ? 'failed again' : 'passed alone';
      process.stdout.write(`unsteady: ${name}: "${test}" ${verdict}\n`);
    }
  files = files.map((file) => again.files.find((later) => later.name === file.name) ?? file);
  exitCode = again.exitCode;
}

// What the set-up gives must be here, else tests that should run are skipped.
const missing = underCi && process.getuid?.() === 0 ? missingForTests() : [];
for (const { name, skipped } of files) {
  if (skipped.length === 0) continue;
  if (underCi && whole.test(name))
    missing.push(`${name}: ${skipped.length} tests were skipped; suites need a registry of packages`);
  process.stdout.write(`skipped: ${name}: ${skipped.length}, the first is "${skipped[0]}"\n`);
}
for (const { name, failed } of files)
  for (const test of failed) process.stdout.write(`failed: ${name}: "${test}"\n`);
for (const what of missing) process.stdout.write(`failed: missing after the set-up: ${what}\n`);

const sum = (read) => files.reduce((total, file) => total + read(file), 0);
let failures = sum((file) => file.failed.length) + missing.length;
if (exitCode !== 0 && failures === 0) failures = 1;
rmSync(folder, { recursive: true, force: true });
process.stdout.write(
  `\n${sum((file) => file.passed)} passed, ${failures} failed, ${sum((file) => file.skipped.length)} skipped\n`,
);
process.exit(failures > 0 ? 1 : 0);

/** One run of the test runner: per file what passed, the full names of what failed and of what was skipped. */
async function run(name, args) {
  const report = join(folder, `${name}.json`);
  current = spawn(
    process.execPath,
    [
      join(root, 'node_modules', 'vitest', 'vitest.mjs'),
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...args,
    ],
    { cwd: root, stdio: 'inherit' },
  );
  const ended = await new Promise((resolve) =>
    current.on('close', (code, signal) => resolve(signal ? 1 : code)),
  );
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
    return { exitCode: ended, files: testResults.map(fileOf) };
  } catch {
    process.stderr.write('the test runner left no report\n');
    return { exitCode: ended || 1, files: [] };
  }
}

function fileOf({ name, status, assertionResults }) {
  const named = (...statuses) =>
    assertionResults.filter((test) => statuses.includes(test.status)).map((test) => test.fullName);
  const failed = named('failed');
  // A file that could not be loaded, or a hook of it, has no test that failed, but it did.
  if (status === 'failed' && failed.length === 0) failed.push('the file as a whole');
  return {
    name: relative(root, name),
    passed: named('passed').length,
    failed,
    skipped: named(...notRun),
  };
}
