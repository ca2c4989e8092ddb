/**
 * node scripts/engines.mjs install [FOLDER]: installs what Playwright suites run on and install with (engines/package.json):
 * Node 22, 24 and 26, Bun, npm, pnpm, yarn. What is not made for this platform is left out by npm.
 */
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages, stampOf } from './install-packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const enginesFolder = join(root, 'engines');

/** Installs the engines where they are not. `say` gets one line at the beginning and one at the end. Throws with the cause. */
export async function installEngines(folder, say) {
  await installPackages({
    name: 'what suites run on',
    folder,
    stamp: stampOf(folder),
    // Inside node_modules, written last; src/script/suite/install/engines.ts looks for it.
    stampName: '.engines-stamp',
    beside: folder,
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
