import { readdir } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { readOwnFile } from '../playwright/files.ts';
import { fieldsOf, parsedJson } from '../../json-values.ts';

/** Finds a project's Playwright configs, by their names and by the commands that mention them. */

/** `playwright.config.ts`, `playwright.staging.config.mts`, `playwright-ct.config.js`, `playwright.config.ci.ts`. */
const configName = /^playwright(?:[.-][\w-]+)*?\.config(?:\.[\w-]+)*?\.[cm]?[jt]s$/;
/** Endings of files that Playwright accepts as a config. */
export const moduleName = /\.[cm]?[jt]s$/;
const skipped = new Set(['node_modules', '.git', '.yarn', '.pnpm-store']);

export const defaultConfigs: readonly string[] = ['ts', 'js', 'mts', 'mjs', 'cts', 'cjs'].map(
  (ending) => `playwright.config.${ending}`,
);

const searched = { depth: 10, entries: 50_000, manifests: 500, manifestBytes: 1024 * 1024 };

/**
 * Absolute paths of files below `project` that Playwright may get as config: those with a usual name in any folder, and
 * those that the command or a script of a package.json names. Bounded; only package.json files are read.
 */
export async function findConfigs(options: {
  project: string;
  working: string;
  /** The check's test command; null = the check has none. */
  command: string | null;
}): Promise<string[]> {
  const { project, working, command } = options;
  const files = new Set<string>();
  const named = new Set<string>();
  const manifests: string[] = [];
  let entries = searched.entries;
  const walk = async (folder: string, depth: number): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (entries-- <= 0) return;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (depth < searched.depth && !skipped.has(entry.name)) await walk(path, depth + 1);
      } else if (entry.isFile()) {
        if (moduleName.test(entry.name)) files.add(path);
        if (configName.test(entry.name)) named.add(path);
        if (entry.name === 'package.json') manifests.push(path);
      }
    }
  };
  await walk(project, 1);
  const add = (folder: string, text: string) => {
    for (const path of configsIn(text)) {
      const absolute = resolve(folder, path);
      if (files.has(absolute)) named.add(absolute);
    }
  };
  if (command !== null) add(working, command);
  for (const manifest of manifests.slice(0, searched.manifests)) {
    const text = (await readOwnFile(manifest, searched.manifestBytes)) ?? '';
    if (!text.includes('playwright')) continue;
    for (const script of Object.values(fieldsOf(fieldsOf(parsedJson(text))['scripts']))) {
      if (typeof script === 'string') add(dirname(manifest), script);
    }
  }
  return [...named].filter((path) => !relative(project, path).startsWith('..')).sort();
}

/** Values of `-c` and `--config` in the parts of a command that run Playwright, or a script that may run it. */
function configsIn(command: string): string[] {
  return command
    .split(/&&|\|\||[;|\n]/)
    .filter((part) => /\bplaywright\b|\b(?:npm|pnpm|yarn|bun)\b/.test(part))
    .flatMap((part) => [
      ...part.matchAll(/(?:^|\s)(?:-c|--config)(?:=|\s+)(?:"([^"]+)"|'([^']+)'|([^\s"';&|]+))/g),
    ])
    .map((match) => match[1] ?? match[2] ?? match[3] ?? '')
    .filter((path) => path !== '' && moduleName.test(basename(path)));
}
