/**
 * node docker/uptime-tree.mjs ROOT OUT: copies the files of the uptime image's agent to OUT. From ROOT/dist it takes the modules
 * that the commands `start` and `doctor` reach, without customers' code and the service. From ROOT/node_modules it takes the
 * packages that these modules use. Fails if a copied module needs one that is left out.
 */
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative } from 'node:path';

const [root, out] = process.argv.slice(2);
if (root === undefined || out === undefined) throw new Error('usage: node docker/uptime-tree.mjs ROOT OUT');
const dist = join(root, 'dist');

/** Files that the image does not contain; only lazy imports may lead there. It keeps two files of script/ that only handle folders. */
const leftOut = [
  /^(script\/(?!process\/(outside-folder|remove-tree)\.js$)|service\/|targets\/)/,
  /^commands\/(?!(start|command|service-manager|last-words|line\/[\w-]+|doctor\/[\w-]+)\.js$)/,
  /^commands\/doctor\/scripts\.js$/,
  /^executors\/(api|browser|multi-step|playwright|check-script|api-scripts)\.js$/,
];
const isLeftOut = (name) => leftOut.some((form) => form.test(name));

const statically = /^\s*(?:(?:import|export)\b[^'"();=]*\bfrom|import)\s*['"]([^'"]+)['"]/gm;
const lazily = /\b(?:import|require)\(\s*['"]([^'"]+)['"]/g;
/** The file of a thread, which its parent starts without an import; it has the parent's ending. */
const thread = /new URL\(`(\.[\w./-]+)\$\{ending\}`, import\.meta\.url\)/g;

const modules = new Set();
const packages = new Set();
const faults = [];

function take(name) {
  if (modules.has(name)) return;
  modules.add(name);
  const text = readFileSync(join(dist, name), 'utf8');
  for (const [, started] of text.matchAll(thread)) follow(name, `${started}.js`, true);
  for (const [form, isStatic] of [
    [statically, true],
    [lazily, false],
  ]) {
    for (const [, specifier] of text.matchAll(form)) follow(name, specifier, isStatic);
  }
}

function follow(from, specifier, isStatic) {
  if (isBuiltin(specifier)) return;
  if (!specifier.startsWith('.')) {
    // `@scope/name/file` or `name/file`
    packages.add(specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'));
    return;
  }
  if (!specifier.endsWith('.js')) return;
  const name = relative(dist, join(dist, dirname(from), specifier));
  if (!isLeftOut(name)) take(name);
  else if (isStatic)
    faults.push(`${from} needs ${name}, which the uptime image does not contain; import it lazily`);
}

/** The folder of a package, resolved from `folder` as Node does, within ROOT; null if it is not installed. */
function folderOf(name, folder) {
  for (let at = folder; ; at = dirname(at)) {
    const candidate = join(at, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
    if (at === root || at === dirname(at)) return null;
  }
}

const folders = new Set();
function takePackage(name, from, isOptional) {
  const folder = folderOf(name, from);
  if (folder === null) {
    if (!isOptional) faults.push(`the package ${name} is not installed; run npm ci`);
    return;
  }
  if (folders.has(folder)) return;
  folders.add(folder);
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  for (const dependency of Object.keys(dependencies)) takePackage(dependency, folder, false);
}

take('main.js');
// raw-socket may be missing: it is for hosts without the addon, and the image has the addon.
for (const name of packages) takePackage(name, root, name === 'raw-socket');
if (faults.length > 0) throw new Error(faults.join('\n'));

for (const name of modules) {
  mkdirSync(dirname(join(out, 'dist', name)), { recursive: true });
  cpSync(join(dist, name), join(out, 'dist', name));
}
for (const folder of folders) {
  const nested = join(folder, 'node_modules');
  cpSync(folder, join(out, relative(root, folder)), {
    recursive: true,
    filter: (source) => source !== nested,
  });
}
process.stderr.write(
  `${modules.size} modules, packages: ${[...packages].sort((a, b) => a.localeCompare(b)).join(' ')} (${folders.size} with theirs)\n`,
);
