import { existsSync, type Dirent } from 'node:fs';
import { lstat, readdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { exitCodes, FatalError, toError } from '../../../errors.ts';
import { linkJudge, plainPath, wrongTarget } from './paths.ts';
import {
  foldersUpToRepository,
  ignoreRules,
  includes,
  type IgnoreRules,
  type Includes,
} from './ignore-rules.ts';
import { lockFileNames } from '../install/package-manager.ts';
import { hasSecretName } from './secret-looking.ts';
import { fieldsOf, parsedJson } from '../../../json-values.ts';

/** A customer's folder as it is packed into a bundle: its root, its files, and notes for the customer. */

export type BundleFile =
  | { kind: 'file'; path: string; size: number; executable: boolean }
  | { kind: 'link'; path: string; target: string };

export type BundleFiles = {
  /** Absolute: the workspace's root. Paths of files are relative to it, with `/`. */
  root: string;
  /** The requested folder, relative to the root; empty = the root itself. */
  workingDir: string;
  /** Name of the lock file in the root; null = there is none, and it was not required. */
  lockFile: string | null;
  /** Sorted by path, which is the order of packing. */
  files: BundleFile[];
  /** Notes for the customer, one sentence each. */
  notes: string[];
};

/** Folders that are never part of a project. */
const never = new Set(['node_modules', '.git', '.hg', '.svn', '.DS_Store', 'Thumbs.db']);
/** Output that tools leave in a package's folder; these names are ordinary elsewhere. */
const leftByTools = new Set([
  'test-results',
  'playwright-report',
  'blob-report',
  'coverage',
  '.cache',
  '.turbo',
  '.next/cache',
  '.nyc_output',
  '.pnpm-store',
  '.yarn/unplugged',
  '.yarn/install-state.gz',
  '.yarn/build-state.yml',
]);
const maxNotes = 20;

/** Finds the files of a project. Rejects with FatalError (2) that names what is missing or unreadable. */
export async function bundleFiles(options: {
  folder: string;
  include?: readonly string[];
  /** False: a project without a lock file is accepted. */
  needsLockFile?: boolean;
}): Promise<BundleFiles> {
  const folder = await existingFolder(options.folder);
  const { root, lockFile } = workspaceOf(folder);
  if (lockFile === null && options.needsLockFile !== false) throw await noLockFile(folder);
  const workingDir = slashes(relative(root, folder));
  const walk = createWalk({
    root,
    lockFile,
    rules: await ignoreRules(root),
    includes: includes(options.include ?? [], workingDir),
  });
  await walk.folder(root);
  return { root, workingDir, lockFile, ...walk.found() };
}

async function existingFolder(path: string): Promise<string> {
  try {
    const folder = await realpath(path);
    if ((await stat(folder)).isDirectory()) return folder;
  } catch (error) {
    throw unreadable(path, error);
  }
  throw unusable(`${path} is not a folder`);
}

/** The nearest folder upwards that has a lock file, up to the repository's root and never a user's home. */
function workspaceOf(folder: string): { root: string; lockFile: string | null } {
  const home = homedir();
  for (const root of foldersUpwards(folder)) {
    if (root === home && root !== folder) break;
    const lockFile = lockFileNames.find((name) => existsSync(join(root, name)));
    if (lockFile !== undefined) return { root, lockFile };
  }
  return { root: folder, lockFile: null };
}

function foldersUpwards(folder: string): string[] {
  const inRepository = foldersUpToRepository(folder);
  if (inRepository.length > 1 || existsSync(join(folder, '.git'))) return inRepository;
  const folders = [folder];
  for (let at = folder; at !== dirname(at); at = dirname(at)) folders.push(dirname(at));
  // The root of the file system is never a workspace.
  return folders.slice(0, Math.max(1, folders.length - 1));
}

async function noLockFile(folder: string): Promise<FatalError> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => null);
  if (text === null)
    return unusable(
      `${folder} has no package.json and no lock file: is it the folder of a Playwright project?`,
    );
  const wanted = String(fieldsOf(parsedJson(text))['packageManager'] ?? 'npm').split('@', 1)[0] ?? 'npm';
  const command =
    {
      pnpm: 'pnpm install --lockfile-only',
      yarn: 'yarn install',
      bun: 'bun install --lockfile-only',
    }[wanted] ?? 'npm install --package-lock-only';
  return unusable(
    `${folder} has no lock file, and neither do its parent folders; create one with: ${command}`,
  );
}

type WalkOptions = {
  root: string;
  lockFile: string | null;
  rules: IgnoreRules;
  includes: Includes;
};

function createWalk({ root, lockFile, rules, includes: globs }: WalkOptions) {
  const files = new Map<string, BundleFile>();
  const notes: string[] = [];
  let more = 0;
  const note = (text: string) => void (notes.length < maxNotes ? notes.push(text) : (more += 1));

  /** `within`: only files of this folder that globs name are packed. */
  const folder = async (absolute: string, within = false): Promise<void> => {
    const entries = await readdir(absolute, { withFileTypes: true }).catch((error: unknown) => {
      throw unreadable(absolute, error);
    });
    await rules.enter(absolute);
    const isPackage = entries.some(
      ({ name }) => name === 'package.json' || name.startsWith('playwright.config.'),
    );
    for (const entry of entries) {
      const full = join(absolute, entry.name);
      const path = slashes(relative(root, full));
      if (never.has(entry.name)) continue;
      const isToolsOwn = isLeftByTools(path, isPackage);
      const isIgnored = within || isToolsOwn || rules.ignores(full, entry.isDirectory());
      if (entry.isDirectory()) {
        if (!isIgnored || globs.mayLeadInto(path)) await folder(full, isIgnored);
        else if (isToolsOwn && !within && !rules.ignores(full, true))
          note(`${path} is skipped because it is tool output; add it with --include '${path}'`);
        continue;
      }
      if (isIgnored && !isManifest(path) && !globs.names(path)) {
        if (!isToolsOwn && (entry.name === '.npmrc' || hasSecretName(path)))
          note(`${path} is skipped because of .gitignore; add it with --include`);
        continue;
      }
      await add(full, path, entry);
    }
  };

  const isManifest = (path: string): boolean => path === lockFile || path === 'package.json';

  const isLeftByTools = (path: string, isPackage: boolean): boolean => {
    const [parent, name] = path.split('/').slice(-2);
    return name === undefined
      ? isPackage && leftByTools.has(path)
      : (isPackage && leftByTools.has(name)) || leftByTools.has(`${parent}/${name}`);
  };

  const add = async (full: string, path: string, entry: Dirent) => {
    const plain = plainPath(path);
    if ('wrong' in plain) throw unusable(`${path} ${plain.wrong}: a bundle cannot contain it`);
    try {
      if (entry.isSymbolicLink()) {
        files.set(path, { kind: 'link', path, target: relativeTarget(full, await readlink(full)) });
      } else if (entry.isFile()) {
        const { size, mode } = await lstat(full);
        files.set(path, { kind: 'file', path, size, executable: (mode & 0o111) !== 0 });
      } else note(`${path} is skipped: it is neither a file nor a folder nor a link`);
    } catch (error) {
      throw unreadable(full, error);
    }
  };

  /** A link with an absolute target means the same file only on this machine. */
  const relativeTarget = (full: string, target: string): string => {
    if (!isAbsolute(target)) return target;
    const inside = relative(root, target);
    if (inside.startsWith('..') || isAbsolute(inside)) return target;
    return slashes(relative(dirname(full), target)) || '.';
  };

  const found = () => {
    const links = new Map<string, string>();
    for (const file of files.values()) if (file.kind === 'link') links.set(file.path, file.target);
    const judge = linkJudge(links);
    for (const [path, target] of links) {
      const wrong = wrongTarget(target) ?? judge(path);
      if (wrong === null) continue;
      files.delete(path);
      note(`${path} is skipped: it ${wrong}`);
    }
    const sorted = [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
    if (more > 0) notes.push(`and ${more} more`);
    return { files: sorted, notes };
  };

  return { folder, found };
}

const slashes = (path: string): string => path.split(sep).join('/');

function unreadable(path: string, error: unknown): FatalError {
  const { code, message } = toError(error) as NodeJS.ErrnoException; // file system errors have a code
  return unusable(`cannot read ${path} (${code ?? message})`);
}

/** The error in the folder that the user named. */
export function unusable(message: string): FatalError {
  return new FatalError('CONFIGURATION', message, { exitCode: exitCodes.couldNotRun });
}
