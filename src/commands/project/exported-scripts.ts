import { posix } from 'node:path';
import { isFields, itemsOf, type Fields } from '../../json-values.ts';
import { pathProblem } from '../../service/checks/rules/dependencies.ts';
import { codeFile } from './code/messages.ts';

/** The files of an export for the scripts of a resource, and for the files that these scripts load. */

export type ExportedFile = { path: string; text: string };

/** Texts that get files of their own, with the endings of these. */
const scripts = {
  script: '.spec.ts',
  localSetupScript: '.setup.ts',
  localTearDownScript: '.teardown.ts',
} as const;
type ScriptField = keyof typeof scripts;
const isScript = (field: string): field is ScriptField => Object.hasOwn(scripts, field);

/** Whether a text is code, in which the service masks nothing. `owner` is the object with the field. */
export const isCode = (field: string, owner: Fields): boolean =>
  isScript(field) || (field === 'content' && typeof owner['path'] === 'string');

type Place = {
  type: string;
  /** Path of the resource's files without an ending. */
  base: string;
  /** Folder of the file that names them. */
  from: string;
  files: ExportedFile[];
};

/**
 * The fields with `<name>File` in place of a script, and `contentFile` in place of a dependency's content. Scripts that load
 * files are in one folder with them, so that their imports lead to these files there too.
 */
export function withTextFiles(fields: Fields, { type, base, from, files }: Place): Fields {
  const name = posix.basename(base);
  const take = takenPaths();
  const inFolder = new Map<string, string>();
  for (const [field, value] of Object.entries(fields)) {
    if (!isScript(field) || typeof value !== 'string') continue;
    const own = field === 'script' ? safePath(fields['scriptPath']) : null;
    const path = own ?? `${name}${scripts[field]}`;
    if (take(path)) inFolder.set(field, path);
  }
  const dependencies = itemsOf(fields['dependencies']);
  const paths = dependencies.map((item) => {
    const path = isFields(item) && typeof item['content'] === 'string' ? safePath(item['path']) : null;
    return path !== null && take(path) ? path : null;
  });
  const hasFolder = paths.some((path) => path !== null);
  const put = (path: string, text: string): string => {
    files.push({ path, text });
    return `./${posix.relative(from, path)}`;
  };
  const result = Object.fromEntries(
    Object.entries(fields).map(([field, value]): [string, unknown] => {
      if (!isScript(field) || typeof value !== 'string') return [field, value];
      const path = hasFolder ? inFolder.get(field) : undefined;
      const ending = type === 'snippet' ? '.ts' : scripts[field];
      return [`${field}File`, put(path === undefined ? `${base}${ending}` : `${base}/${path}`, value)];
    }),
  );
  if (!hasFolder) return result;
  result['dependencies'] = dependencies.map((item, index) => {
    const path = paths[index] ?? null;
    if (path === null || !isFields(item)) return item;
    const { content, ...rest } = item;
    return { ...rest, contentFile: put(`${base}/${path}`, String(content)) };
  });
  return result;
}

/**
 * The path of a file that an account names, if it may be written below a folder of the export; null = it may not. Git and
 * package managers would use files in folders of their own, and `plan` runs files with code.
 */
function safePath(path: unknown): string | null {
  if (typeof path !== 'string' || pathProblem(path) !== null) return null;
  const normal = posix.normalize(path);
  const isSafe = normal
    .split('/')
    .every(
      (part) => /^[^.\p{Cc}<>:"|?*][^\p{Cc}<>:"|?*]{0,199}(?<![. ])$/u.test(part) && part !== 'node_modules',
    );
  return isSafe && !codeFile.test(normal) ? normal : null;
}

/** Takes paths in a folder. Returns false for one that a file has, or that needs a folder in place of a file. */
function takenPaths(): (path: string) => boolean {
  const taken = new Set<string>();
  const folders = new Set<string>();
  return (path) => {
    // Some file systems ignore case.
    const key = path.toLowerCase();
    const above = [...key.matchAll(/\//g)].map(({ index }) => key.slice(0, index));
    if (taken.has(key) || folders.has(key) || above.some((folder) => taken.has(folder))) return false;
    taken.add(key);
    for (const folder of above) folders.add(folder);
    return true;
  };
}
