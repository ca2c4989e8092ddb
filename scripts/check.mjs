/** `npm run check`: format, lint, types, generated files, tests. Stops at the first failure. `--no-tests` skips the tests. */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = (name) => join(root, 'node_modules', '.bin', name);
const node = process.execPath;
const steps = [
  ['set-up', node, ['scripts/setup.mjs', process.argv.includes('--no-tests') ? 'build' : 'test']],
  ['format', bin('prettier'), ['--check', '--log-level', 'warn', '.']],
  ['lint', bin('oxlint'), ['--deny-warnings']],
  ['types', bin('tsc'), ['--noEmit']],
  ['types of the pages', bin('tsc'), ['--noEmit', '-p', 'src/service/pages/browser']],
  ['generated files', node, ['scripts/openapi.mjs', '--check']],
  ['rules of the OpenAPI document', node, ['scripts/lint-openapi.mjs']],
  ['schema of files', node, ['scripts/file-schema.mjs', '--check']],
  ['man page, commands', node, ['scripts/man.mjs', '--check']],
  ['reference of checks', node, ['scripts/check-reference.mjs', '--check']],
  ['plain English', node, ['scripts/plain-english.mjs']],
  ['rules, dashboard, metrics', node, ['scripts/observability.mjs', '--check']],
  ['changelog and versions', node, ['scripts/release.mjs', 'check']],
  ...(process.argv.includes('--no-tests')
    ? []
    : [
        ['tests', node, ['scripts/test.mjs']],
        ['long tests', node, ['scripts/test.mjs', '--long']],
      ]),
];
for (const [name, command, args] of steps) {
  const started = performance.now();
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stderr.write(`check: ${name} ${status === 0 ? 'ok' : 'FAILED'} (${seconds} s)\n`);
  if (status !== 0) process.exit(1);
}
