import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, posix, relative, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import picomatch from 'picomatch';

/**
 * Decides which files of a folder belong to the customer's project: the rules of `.gitignore` files, and the globs that
 * override them.
 */

const maxRuleBytes = 1024 * 1024;

/** The rules of one `.gitignore`, for paths below its folder. */
type Rules = { folder: string; rules: Ignore };

export type IgnoreRules = {
  /** Reads the `.gitignore` of a folder, if it has one. Call it for a folder before its content. Absolute path. */
  enter: (folder: string) => Promise<void>;
  /** Whether a file or folder (absolute path) is ignored. */
  ignores: (path: string, isFolder: boolean) => boolean;
};

/** Rules for the tree at `root`; those of parent folders, up to the repository's root, apply too. */
export async function ignoreRules(root: string): Promise<IgnoreRules> {
  const known = new Map<string, Rules>();
  const enter = async (folder: string) => {
    const text = await readFile(join(folder, '.gitignore'), 'utf8').catch(() => null);
    if (text === null || text.length > maxRuleBytes) return;
    known.set(folder, { folder, rules: ignore({ ignoreCase: false }).add(text) });
  };
  for (const folder of foldersUpToRepository(root)) if (folder !== root) await enter(folder);
  return {
    enter,
    ignores: (path, isFolder) => {
      // The nearest matching rule decides.
      for (let folder = dirname(path); ; folder = dirname(folder)) {
        const found = known.get(folder);
        if (found !== undefined) {
          const name = relative(folder, path).split(sep).join('/') + (isFolder ? '/' : '');
          const { ignored, unignored } = found.rules.test(name);
          if (ignored || unignored) return ignored;
        }
        if (folder === dirname(folder)) return false;
      }
    },
  };
}

/** `folder` and its parents up to the one with `.git`; only `folder` if there is no repository. */
export function foldersUpToRepository(folder: string): string[] {
  const folders: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    folders.push(at);
    if (existsSync(join(at, '.git'))) return folders;
    if (at === dirname(at)) return [folder];
  }
}

export type Includes = {
  /** Whether a glob names a file or link (path below the root, with `/`). */
  names: (path: string) => boolean;
  /** Whether a glob may name something in the folder. */
  mayLeadInto: (path: string) => boolean;
};

/**
 * The syntax is listed in docs/suites/bundles.md: only `*`, `**`, `?`, `[…]` and `{a,b}`. A dot at the start of a name is an
 * ordinary character. posix: `[!a]` is any character except a.
 */
// posix: `[!a]` is any character except a.
const syntax = { dot: true, noextglob: true, nonegate: true, posix: true, strictSlashes: true } as const;

/**
 * Globs are relative to `workingDir` (itself relative to the root). A glob that names a folder includes its whole
 * content.
 */
export function includes(globs: readonly string[], workingDir: string): Includes {
  const folder = escaped(workingDir, /[\\*?[\]{}()|!]/g);
  const patterns = globs
    // Folders such as `(shop)` are common; the library would treat the name as a group.
    .map((glob) => posix.join(folder, '.', escaped(glob, /[()|]/g)).replace(/\/+$/, ''))
    // An empty glob at the root must not pack everything that `.gitignore` excludes.
    .filter((pattern) => pattern !== '.');
  const named = patterns.map((pattern) => picomatch([pattern, `${pattern}/**`], syntax));
  const ways = patterns.map(wayInto);
  return {
    names: (path) => named.some((fits) => fits(path)),
    mayLeadInto: (path) => ways.some((leadsInto) => leadsInto(path)),
  };
}

/** Puts a backslash before each of `characters` that has none. */
function escaped(text: string, characters: RegExp): string {
  return text.replaceAll(characters, (character, at: number) =>
    character !== '\\' && text[at - 1] === '\\' ? character : `\\${character}`,
  );
}

/** Whether files that a glob names may be below a folder: compares as many levels as the glob names individually. */
function wayInto(pattern: string): (folder: string) => boolean {
  const parts = picomatch.scan(pattern, { parts: true, ...syntax }).parts ?? [];
  const open = parts.findIndex((part) => part.includes('**') || part.includes('/'));
  const levels = open === -1 ? parts : parts.slice(0, open);
  const fits = levels.map((_, index) => picomatch(levels.slice(0, index + 1).join('/'), syntax));
  return (folder) => {
    const names = folder.split('/').slice(0, levels.length);
    return fits[names.length - 1]?.(names.join('/')) ?? true;
  };
}
