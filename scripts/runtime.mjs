/** node scripts/runtime.mjs install NAME [FOLDER]: installs the packages and the Node of a runtime (install-packages.mjs). */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages, listFiles, stampOf } from './install-packages.mjs';

/** Inside node_modules, written last; src/script/process/runtimes.ts checks for it. */
const stampName = '.runtime-stamp';

/** The runtime of checks without a runtimeId. */
export const defaultRuntime = '2026.04';

/** Names of the runtimes below `runtimesFolder` that have packages, newest first. */
export function installableRuntimes(runtimesFolder) {
  return readdirSync(runtimesFolder)
    .filter((name) => existsSync(join(runtimesFolder, name, 'runtime.json')))
    .filter((name) => listFiles.every((file) => existsSync(join(runtimesFolder, name, file))))
    .sort()
    .reverse();
}

/** Installs a runtime unless it is installed. Calls `say` with one line at the start and one at the end. Throws with the cause. */
export async function installRuntime(name, runtimesFolder, say) {
  const known = installableRuntimes(runtimesFolder);
  if (!known.includes(name)) throw new Error(`unknown runtime ${name}: use one of ${known.join(', ')}`);
  const folder = join(runtimesFolder, name);
  const stamp = stampOf(folder, (hash) => {
    const helpers = join(runtimesFolder, 'helpers');
    for (const file of readdirSync(helpers).sort())
      hash.update(file).update(readFileSync(join(helpers, file)));
  });
  await installPackages({
    name: `runtime ${name}`,
    folder,
    stamp,
    stampName,
    // The staging folder must be a sibling of the runtime's folder, because package.json refers to ../helpers.
    parent: runtimesFolder,
    key: name,
    say,
  });
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [action, name, folder = join(root, 'runtimes')] = process.argv.slice(2);
  try {
    if (action !== 'install' || name === undefined)
      throw new Error('usage: node scripts/runtime.mjs install NAME [FOLDER]');
    await installRuntime(name, folder, (line) => process.stderr.write(`${line}\n`));
  } catch (error) {
    process.stderr.write(`runtime: ${error.message}\n`);
    process.exitCode = 1;
  }
}
