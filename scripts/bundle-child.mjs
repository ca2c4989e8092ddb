/**
 * The program of setup and teardown scripts once more, as one CommonJS file beside the compiled modules: a process starts
 * for every run, and loading it as ES modules takes as long again as starting Node. `node scripts/bundle-child.mjs DIST`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = 'api-scripts.js';
const folder = join(process.argv[2] ?? join(root, 'dist'), 'script', 'child');

/** Texts of the entry and all that it imports, as CommonJS, by file name. */
function commonJs() {
  const converted = mkdtempSync(join(folder, '.commonjs-'));
  try {
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const flags = '--ignoreConfig --allowJs --noCheck --removeComments --esModuleInterop --types node';
    const forms = '--module commonjs --moduleResolution bundler --target es2023';
    const args = [...`${flags} ${forms}`.split(' '), '--outDir', converted, join(folder, entry)];
    const done = spawnSync(process.execPath, [compiler, ...args], { cwd: root, encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`${done.stdout}${done.stderr}`);
    const modules = new Map();
    const take = (name) => {
      if (modules.has(name)) return;
      const text = readFileSync(join(converted, name), 'utf8');
      modules.set(name, text);
      for (const [, specifier] of text.matchAll(/\brequire\("(\.[^"]*)"\)/g)) {
        if (!/^\.\/[\w-]+\.js$/.test(specifier)) throw new Error(`${name}: ${specifier} is not beside it`);
        take(specifier.slice(2));
      }
    };
    take(entry);
    return modules;
  } finally {
    rmSync(converted, { recursive: true, force: true });
  }
}

const parts = [...commonJs()].map(
  ([name, text]) => `${JSON.stringify(`./${name}`)}: (exports, require) => {\n${text}\n},`,
);
const text = `'use strict';
// Written by scripts/bundle-child.mjs.
const builtin = require;
const loaded = new Map();
const load = (name) => {
  if (!Object.hasOwn(parts, name)) return builtin(name);
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const exports = {};
  loaded.set(name, exports);
  parts[name](exports, load);
  return exports;
};
const parts = {
${parts.join('\n')}
};
// The customer's code is to find no main module, as beside ES modules.
Reflect.deleteProperty(process, 'mainModule');
load('./${entry}');
`;
const output = join(folder, entry.replace(/\.js$/, '.cjs'));
// Others may be starting it just now.
writeFileSync(`${output}.${process.pid}`, text);
renameSync(`${output}.${process.pid}`, output);
