/**
 * Some programs of src/script/child once more, each as one CommonJS file beside the compiled modules. That of setup and
 * teardown scripts, since a process starts for every run, and loading it as ES modules takes as long again as starting Node;
 * those of Playwright suites, since they are copied into a customer's project. `node scripts/bundle-child.mjs DIST`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** What each of them does after its modules: `load` gives the exports of one. */
const entries = {
  // The customer's code is to find no main module, as beside ES modules.
  'api/main.js': `Reflect.deleteProperty(process, 'mainModule');\nload('./api/main.js');`,
  'suite/overlay.js': `module.exports = load('./suite/overlay.js');`,
  'suite/reporter.js': `module.exports = load('./suite/reporter.js');`,
};
const folder = join(process.argv[2] ?? join(root, 'dist'), 'script', 'child');

/** Texts of each entry and all that it imports, as CommonJS, by file name; by entry. */
function commonJs() {
  const converted = mkdtempSync(join(folder, '.commonjs-'));
  try {
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const flags = '--ignoreConfig --allowJs --noCheck --removeComments --esModuleInterop --types node';
    const forms = '--module commonjs --moduleResolution bundler --target es2023';
    const args = [...`${flags} ${forms}`.split(' '), '--outDir', converted];
    args.push(...Object.keys(entries).map((entry) => join(folder, entry)));
    const done = spawnSync(process.execPath, [compiler, ...args], { cwd: root, encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`${done.stdout}${done.stderr}`);
    const take = (modules, name) => {
      if (modules.has(name)) return modules;
      let text = readFileSync(join(converted, name), 'utf8');
      modules.set(name, '');
      for (const [, specifier] of text.matchAll(/\brequire\("(\.[^"]*)"\)/g)) {
        const imported = posix.normalize(posix.join(posix.dirname(name), specifier));
        if (!/^[\w/-]+\.js$/.test(imported))
          throw new Error(`${name}: ${specifier} is not below src/script/child`);
        text = text.replaceAll(`require("${specifier}")`, `require("./${imported}")`);
        take(modules, imported);
      }
      modules.set(name, text);
      return modules;
    };
    return Object.keys(entries).map((entry) => [entry, take(new Map(), entry)]);
  } finally {
    rmSync(converted, { recursive: true, force: true });
  }
}

for (const [entry, modules] of commonJs()) {
  const parts = [...modules].map(
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
${entries[entry]}
`;
  const output = join(folder, entry.replace(/\.js$/, '.cjs'));
  // Others may be starting it just now.
  writeFileSync(`${output}.${process.pid}`, text);
  renameSync(`${output}.${process.pid}`, output);
}
