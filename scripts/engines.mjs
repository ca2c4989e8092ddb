/**
 * node scripts/engines.mjs install [FOLDER]: installs the engines and package managers of Playwright suites (engines/package.json):
 * Node 22, 24 and 26, Bun, npm, pnpm, yarn. npm skips those that are not available for this platform.
 */
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages, stampOf } from './install-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const enginesFolder = join(root, 'engines');

/** Installs the engines unless they are installed. Calls `say` with one line at the start and one at the end. Throws with the cause. */
export async function installEngines(folder, say) {
  await installPackages({
    name: 'suite engines',
    folder,
    stamp: stampOf(folder),
    // Inside node_modules, written last; src/script/suite/install/engines.ts checks for it.
    stampName: '.engines-stamp',
    parent: folder,
    key: 'engines',
    say,
  });
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [action, folder = enginesFolder] = process.argv.slice(2);
  try {
    if (action !== 'install') throw new Error('usage: node scripts/engines.mjs install [FOLDER]');
    await installEngines(folder, (line) => process.stderr.write(`${line}\n`));
  } catch (error) {
    process.stderr.write(`engines: ${error.message}\n`);
    process.exitCode = 1;
  }
}
