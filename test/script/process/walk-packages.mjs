/**
 * Evaluated on a runtime's own Node inside its folder: requires each package of its list, or imports it where it has no
 * CommonJS form. Writes one line of JSON: what loaded how, and what failed why.
 */
import { createRequire } from 'node:module';

const own = createRequire(`${process.cwd()}/package.json`);
const { dependencies } = own('./package.json');
const { entryPoints } = own('./runtime.json');

async function load(entry) {
  try {
    own(entry);
    return 'require';
  } catch (error) {
    if (error.code !== 'ERR_REQUIRE_ESM' && error.code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') throw error;
    await import(entry);
    return 'import';
  }
}

const answer = { node: process.versions.node, loaded: {}, failed: {} };
for (const name of Object.keys(dependencies)) {
  try {
    answer.loaded[name] = await load(entryPoints[name]?.entry ?? name);
  } catch (error) {
    answer.failed[name] = String(error?.message ?? error).split('\n', 1)[0];
  }
}
// Some packages write as they load, and some keep the process alive.
process.stdout.write(`\nANSWER ${JSON.stringify(answer)}\n`, () => process.exit());
