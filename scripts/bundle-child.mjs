/**
 * Builds some programs of src/script/child a second time, each as one CommonJS file next to the compiled modules. Setup and teardown
 * scripts need this because a process starts for every run, and loading ES modules takes as long as starting Node itself. Playwright
 * suites need it because the agent copies the files into a customer's project. `node scripts/bundle-child.mjs DIST`.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = resolve(process.argv[2] ?? join(root, 'dist'), 'script', 'child');

/** Each entry, and the statements that run before its modules. */
const entries = {
  // Customer code must not find a main module; with ES modules there is none either.
  'api/main.js': `Reflect.deleteProperty(process, 'mainModule');`,
  'suite/overlay.js': '',
  'suite/reporter.js': '',
};

/** The text of one entry with all its imports. Throws if it imports a package or a file outside of src/script/child. */
async function bundled(entry, first) {
  const { outputFiles, metafile, warnings } = await build({
    absWorkingDir: folder,
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'cjs',
    // As in tsconfig.json, because the Node of an older runtime also runs this file.
    target: 'es2023',
    // 'use strict' must be the first statement of a file.
    banner: { js: `'use strict';\n// Written by scripts/bundle-child.mjs.\n${first}` },
    logLevel: 'silent',
  });
  const faults = [
    ...warnings.map(({ text, location }) => `${location?.file ?? entry}: ${text}`),
    ...Object.keys(metafile.inputs)
      .filter((input) => input.startsWith('..'))
      .map((input) => `${entry}: ${input} is not below src/script/child`),
    ...Object.values(metafile.outputs)
      .flatMap(({ imports }) => imports)
      .filter(({ path }) => !isBuiltin(path))
      .map(({ path }) => `${entry}: ${path} is not a Node module`),
  ];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return outputFiles[0].text;
}

for (const [entry, first] of Object.entries(entries)) {
  const text = await bundled(entry, first);
  const output = join(folder, entry.replace(/\.js$/, '.cjs'));
  // A process may be starting from this file right now.
  writeFileSync(`${output}.${process.pid}`, text);
  renameSync(`${output}.${process.pid}`, output);
}
