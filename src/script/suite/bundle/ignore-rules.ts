import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, posix, relative, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';

/** Which files of a folder are the customer's project: the rules of `.gitignore` files, and the globs that overrule them. */

const maxRuleBytes = 1024 * 1024;

/** The rules of one `.gitignore`, for paths below its folder. */
type Rules = { folder: string; rules: Ignore };

export type IgnoreRules = {
  /** Reads the `.gitignore` of a folder, if it has one: call it for a folder before what is in it. Absolute path. */
  enter: (folder: string) => Promise<void>;
  /** Whether an entry (absolute path) is ignored; folders as well. */
  ignores: (path: string, isFolder: boolean) => boolean;
};

/** Rules for the tree at `root`; those of folders above it, up to the repository's, count too. */
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
      // The nearest rule that says something decides.
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

/** `folder` and those above it up to the one with `.git`; `folder` alone where there is no repository. */
export function foldersUpToRepository(folder: string): string[] {
  const folders: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    folders.push(at);
    if (existsSync(join(at, '.git'))) return folders;
    if (at === dirname(at)) return [folder];
  }
}

export type Includes = {
  /** A file or link (path below the root, with `/`) that a glob names. */
  names: (path: string) => boolean;
  /** A folder in which a glob may name something. */
  mayLeadInto: (path: string) => boolean;
};

/** Globs are relative to `workingDir` (itself relative to the root): `*`, `**`, `?`, `[…]`, `{a,b}`; a folder means all in it. */
export function includes(globs: readonly string[], workingDir: string): Includes {
  const patterns = globs
    .flatMap(alternatives)
    .map((glob) => posix.join(workingDir, glob).replace(/\/+$/, ''));
  const rules = ignore({ ignoreCase: false }).add(
    patterns.map((pattern) => `/${pattern.replace(/^[!#]/, '\\$&')}`),
  );
  const bases = patterns.map((pattern) => {
    const parts = pattern.split('/');
    const wild = parts.findIndex((part) => /[*?[]/.test(part));
    return (wild === -1 ? parts : parts.slice(0, wild)).join('/');
  });
  const isWithin = (inner: string, outer: string) =>
    outer === '' || inner === outer || inner.startsWith(`${outer}/`);
  return {
    names: (path) => patterns.length > 0 && rules.ignores(path),
    mayLeadInto: (path) => bases.some((base) => isWithin(path, base) || isWithin(base, path)),
  };
}

/** A glob without its braces, once for each way to read them. */
function alternatives(glob: string): string[] {
  const braces = /\{([^{}]*,[^{}]*)\}/.exec(glob);
  if (braces === null) return [glob];
  const [all, inner = ''] = braces;
  return inner
    .split(',')
    .slice(0, 50)
    .flatMap((part) =>
      alternatives(glob.slice(0, braces.index) + part + glob.slice(braces.index + all.length)),
    )
    .slice(0, 500);
}
