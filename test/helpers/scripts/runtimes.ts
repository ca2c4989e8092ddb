import { join } from 'node:path';
import { installedRuntimes, type Runtime } from '../../../src/script/process/runtimes.ts';

export const runtimesFolder = join(import.meta.dirname, '..', '..', '..', 'runtimes');

/**
 * The runtimes that are installed here, newest first. The set-up of `npm test` installs the newest; under CI its absence
 * is a failure.
 */
export const runtimesHere: readonly Runtime[] = installedRuntimes(runtimesFolder, (line) =>
  process.stderr.write(`${line}\n`),
);

if (runtimesHere.length === 0)
  process.stderr.write('skipped here: tests that need a runtime: node scripts/runtime.mjs install 2026.04\n');
