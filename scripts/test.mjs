/**
 * Runs the whole test suite (or the files named as arguments) and closes with one line over all suites:
 * `N passed, N failed, N skipped`. Under CI a test that should run on this machine but was skipped is a failure.
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
const report = join(folder, 'report.json');
const vitest = spawn(
  process.execPath,
  [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...wanted,
  ],
  { cwd: root, stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => vitest.kill(signal));
const exitCode = await new Promise((resolve) =>
  vitest.on('close', (code, signal) => resolve(signal ? 1 : code)),
);

// What the set-up gives must be here, else tests that should run are skipped.
const missing = process.env.CI === 'true' && process.getuid?.() === 0 ? missingForTests() : [];

// None of these has tests that only some machines can run.
const whole = /^test\/e2e\/suites-/;

let counts = { passed: 0, failed: 1, skipped: 0 };
try {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const statuses = testResults.flatMap((file) => file.assertionResults.map((test) => test.status));
  const count = (...wanted) => statuses.filter((status) => wanted.includes(status)).length;
  // A file that could not be loaded has no tests to count, but it failed.
  const broken = testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  ).length;
  counts = {
    passed: count('passed'),
    failed: count('failed') + broken,
    skipped: count('pending', 'skipped', 'todo', 'disabled'),
  };
  if (exitCode !== 0 && counts.failed === 0) counts.failed = 1;
  for (const { name, assertionResults } of testResults) {
    const skipped = assertionResults.filter((test) =>
      ['pending', 'skipped', 'todo', 'disabled'].includes(test.status),
    );
    if (skipped.length === 0) continue;
    if (process.env.CI === 'true' && whole.test(relative(root, name)))
      missing.push(
        `${relative(root, name)}: ${skipped.length} tests were skipped; suites need a registry of packages`,
      );
    process.stdout.write(
      `skipped: ${relative(root, name)}: ${skipped.length}, the first is "${skipped[0].fullName}"\n`,
    );
  }
} catch {
  process.stderr.write('the test runner left no report\n');
}
for (const what of missing) process.stderr.write(`missing after the set-up: ${what}\n`);
counts.failed += missing.length;
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
process.exit(exitCode !== 0 || counts.failed > 0 ? 1 : 0);
