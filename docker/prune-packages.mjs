/**
 * node docker/prune-packages.mjs FOLDER…: removes files of installed packages that no program can use at run time: TypeScript
 * declarations and sources (Node runs none below node_modules), source maps, texts, and binaries for other platforms.
 * Licences are kept.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

const useless = [
  /\.(ts|mts|cts|tsx)$/,
  /\.map$/,
  /\.(md|markdown|mkd)$/i,
  /\.tsbuildinfo$/,
  /^\.(npmignore|eslintrc.*|prettierrc.*|editorconfig|gitattributes|travis\.yml)$/,
];
const kept = /licen[cs]e|copying|notice|copyright/i;
/** Folders of the Node packages. Headers are for compilers, which only the dev image has. */
const nodeExtras = new Set(['include', 'share']);
const { platform, arch } = process;

/** Whether the folder is a binary for another platform, such as `prebuilds/darwin-arm64`. */
function isForeign(folder, name) {
  const [, system, processor] = /^(\w+)-(\w+)/.exec(name) ?? [];
  if (basename(folder) !== 'prebuilds' || system === undefined) return false;
  return system !== platform || !processor.split('+').includes(arch);
}

let files = 0;
let bytes = 0;
function remove(path) {
  for (const entry of statSync(path).isDirectory() ? readdirSync(path) : []) remove(join(path, entry));
  if (statSync(path).isFile()) {
    files += 1;
    bytes += statSync(path).size;
  }
  rmSync(path, { recursive: true });
}

function prune(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      const ofNode = /^node-(\d+-)?linux-/.test(basename(folder)) && nodeExtras.has(entry.name);
      if (ofNode || isForeign(folder, entry.name)) remove(path);
      else prune(path);
    } else if (entry.isFile() && !kept.test(entry.name) && useless.some((form) => form.test(entry.name))) {
      remove(path);
    }
  }
}

for (const folder of process.argv.slice(2)) prune(folder);
process.stderr.write(`pruned ${files} files, ${Math.round(bytes / 1e6)} MB\n`);
