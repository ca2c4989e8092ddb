/**
 * Runs test files with vitest and reports per file what passed, what failed and why, and what was skipped; used by scripts/test.mjs
 * and scripts/test-images.mjs. Under CI, if only a few files fail, they are run again without other files in parallel.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// If more files fail, a busy machine is not the cause.
const mostRunAgain = 3;
const notRun = ['pending', 'skipped', 'todo', 'disabled'];

/**
 * Resolves with `{ files, exitCode }`; a file is `{ name, passed, failed: [{ test, why }], skipped: [test] }`. Prints unsteady tests.
 * Passes SIGINT and SIGTERM on to vitest, which cleans up. `env`: additional variables.
 */
export async function runVitest(args, env = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'location-agent-test-'));
  let current;
  let stopped = false;
  const stop = (signal) => {
    stopped = true;
    current?.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, stop);

  /** Runs vitest once. */
  const run = async (name, own) => {
    const report = join(folder, `${name}.json`);
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    current = spawn(process.execPath, [vitest, 'run', ...reporters, ...own], {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, ...env },
    });
    const exitCode = await new Promise((resolve) => current.on('close', (code) => resolve(code ?? 1)));
    try {
      return { exitCode, files: JSON.parse(readFileSync(report, 'utf8')).testResults.map(fileOf) };
    } catch {
      process.stderr.write('vitest wrote no report\n');
      return { exitCode: exitCode || 1, files: [] };
    }
  };

  let { files, exitCode } = await run('report', args);
  const failedFiles = files.filter((file) => file.failed.length > 0);
  const mayRunAgain = failedFiles.length > 0 && failedFiles.length <= mostRunAgain;
  if (process.env.CI === 'true' && !stopped && mayRunAgain) {
    const names = failedFiles.map((file) => file.name);
    process.stdout.write(`failed next to other files, running again one by one: ${names.join(', ')}\n`);
    const options = args.filter((arg) => arg.startsWith('--'));
    const again = await run('again', [...options, ...names, '--no-file-parallelism']);
    for (const { name, failed } of failedFiles)
      for (const { test, why } of failed) {
        const later = again.files.find((file) => file.name === name);
        const verdict = later === undefined || later.failed.length > 0 ? 'failed again' : 'passed on its own';
        process.stdout.write(`unsteady: ${name}: "${test}" ${verdict}; first failure: ${why}\n`);
      }
    files = files.map((file) => again.files.find((later) => later.name === file.name) ?? file);
    exitCode = again.exitCode;
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, stop);
  rmSync(folder, { recursive: true, force: true });
  return { files, exitCode };
}

/**
 * Lists skipped and failed tests, prints the closing line `N passed, N failed, N skipped`, and exits. `missing`: descriptions of
 * further failures.
 */
export function closeRun({ files, exitCode }, missing = []) {
  for (const { name, skipped } of files)
    if (skipped.length > 0)
      process.stdout.write(`skipped: ${name}: ${skipped.length} tests, the first is "${skipped[0]}"\n`);
  for (const { name, failed } of files)
    for (const { test, why } of failed) process.stdout.write(`failed: ${name}: "${test}": ${why}\n`);
  for (const what of missing) process.stdout.write(`failed: ${what}\n`);
  const sum = (read) => files.reduce((total, file) => total + read(file), 0);
  let failures = sum((file) => file.failed.length) + missing.length;
  if (exitCode !== 0 && failures === 0) failures = 1;
  process.stdout.write(
    `\n${sum((file) => file.passed)} passed, ${failures} failed, ${sum((file) => file.skipped.length)} skipped\n`,
  );
  process.exit(failures > 0 ? 1 : 0);
}

function fileOf({ name, status, message, assertionResults }) {
  const ofStatus = (...statuses) => assertionResults.filter((test) => statuses.includes(test.status));
  const failed = ofStatus('failed').map((test) => ({
    test: test.fullName,
    why: inOneLine(test.failureMessages?.[0]),
  }));
  // A file that could not be loaded, or a hook of it, has no test that failed, but it did.
  if (status === 'failed' && failed.length === 0)
    failed.push({ test: 'the whole file', why: inOneLine(message) });
  return {
    name: relative(root, name),
    passed: ofStatus('passed').length,
    failed,
    skipped: ofStatus(...notRun).map((test) => test.fullName),
  };
}

/** An error's message and its line in the tests, short enough for a list. */
function inOneLine(failure = '') {
  const lines = stripVTControlCharacters(failure).split('\n');
  const isPlace = (line) => /^\s+at /.test(line);
  const place = lines.find((line) => isPlace(line) && line.includes('/test/'));
  const message = lines
    .filter((line) => !isPlace(line))
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim();
  const where = place === undefined ? '' : ` (${place.trim().replace(/^.*?([^/(]+:\d+):\d+\)?$/, '$1')})`;
  return message.slice(0, 500) + where;
}
