/**
 * Runs the whole test suite (or the files named as arguments) and closes with one line over all suites:
 * `N passed, N failed, N skipped`. What failed or was skipped is listed above that line. Under CI a test that should run on
 * this machine but was skipped is a failure, and a few files that failed beside others get one more run by themselves.
 */
import { closeRun, runVitest } from './run-vitest.mjs';
import { missingForTests } from './system-packages.mjs';

// None of these has tests that only some machines can run.
const whole = /^test\/e2e\/(?:suites-|service-and-agent\.)/;

const run = await runVitest(process.argv.slice(2));
const missing = [];
if (process.env.CI === 'true') {
  // What the set-up gives must be here, else tests that should run are skipped.
  if (process.getuid?.() === 0)
    missing.push(...missingForTests().map((what) => `missing after the set-up: ${what}`));
  for (const { name, skipped } of run.files)
    if (whole.test(name) && skipped.length > 0)
      missing.push(`${name}: ${skipped.length} tests were skipped; suites need a registry of packages`);
}
closeRun(run, missing);
