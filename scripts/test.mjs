/**
 * Runs the tests (or the files named as arguments) without the long ones, or with `--long` only those. test/long-tests.json lists
 * them: files that take a quarter of a minute or more, because real programs fail and start again, a browser visits pages, or
 * networks are built. `npm test` thus ends within ten minutes on two cores. The last line of output is
 * `N passed, N failed, N skipped`; failed and skipped tests are listed above it. Under CI, a test that was skipped although it should
 * run on this machine is a failure, and if only a few files fail, they are run again without other files in parallel.
 */
import { readFileSync } from 'node:fs';
import { closeRun, runVitest } from './run-vitest.mjs';
import { missingForTests } from './system-packages.mjs';

// Every machine can run all tests of these files.
const whole = /^test\/e2e\/(?:suites-|service-and-agent\.)/;

const args = process.argv.slice(2);
const isLong = args.includes('--long');
const given = args.filter((arg) => arg !== '--long');
const isWhole = given.every((arg) => arg.startsWith('--'));
const longTests = JSON.parse(readFileSync(new URL('../test/long-tests.json', import.meta.url), 'utf8'));
const run = await runVitest(
  // They wait even more than the others.
  isLong ? [...given, '--maxWorkers=4', ...longTests] : given,
  isWhole && !isLong ? { TESTS_SUITE: 'quick' } : {},
);
const missing = [];
if (process.env.CI === 'true') {
  // If something is missing after the set-up, tests that should run are skipped.
  if (process.getuid?.() === 0)
    missing.push(...missingForTests().map((what) => `missing after the set-up: ${what}`));
  for (const { name, skipped } of run.files)
    if (whole.test(name) && skipped.length > 0)
      missing.push(`${name}: ${skipped.length} tests were skipped; suites need a package registry`);
}
closeRun(run, missing);
