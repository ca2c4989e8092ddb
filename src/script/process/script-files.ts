import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { AgentError, toError } from '../../errors.ts';
import { isRefusedByDisk } from './full-disk.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { ScriptFile } from '../../protocol/script.ts';
import { shortened } from '../../shortened.ts';

/** Bytes of all files of one run together. */
const totalBytes = 32 * 1024 * 1024;
const maxNameBytes = 255;
const maxDepth = 32;

/** Top-level names of the workDir that the host uses: the script's home and its temporary files. */
export const hostFolders = { home: '.home', temporary: '.tmp' } as const;

export type ScriptFilesOptions = {
  /** The script itself and the files that it needs, each with its relative path. */
  files: readonly ScriptFile[];
  /** First path segments that the caller reserves in addition to `hostFolders` and `node_modules`. */
  reserved?: readonly string[];
};

/**
 * Creates `hostFolders` in the folder, which must be new and used only by this run, and writes the files below it. Null
 * = done. For an invalid path it returns a SCRIPT_INVALID reason that names it, and writes nothing. Rejects with
 * AgentError DISK_FULL or INTERNAL.
 */
export async function writeScriptFiles(folder: string, options: ScriptFilesOptions): Promise<Reason | null> {
  const checked = checkedScriptFiles(options);
  if (!(checked instanceof Map)) return checked;
  try {
    for (const name of Object.values(hostFolders))
      await mkdir(join(folder, name), { recursive: true, mode: 0o700 });
    for (const [path, content] of checked) {
      const full = join(folder, path);
      await mkdir(dirname(full), { recursive: true, mode: 0o700 });
      // `wx`: an existing file was not written by this run, whose files all have different paths.
      await writeFile(full, content, { flag: 'wx', mode: 0o600 });
    }
  } catch (error: unknown) {
    const { message } = toError(error);
    const full = isRefusedByDisk(error);
    throw new AgentError(full ? 'DISK_FULL' : 'INTERNAL', `script files: ${message}`, { cause: error });
  }
  return null;
}

/** The normal form of a script file's path, relative, with `/`; or the error in it. */
export function normalScriptPath(
  path: string,
  reserved: readonly string[] = [],
): { path: string } | { error: string } {
  if (path.includes('\0')) return { error: 'it contains a NUL character' };
  // oxlint-disable-next-line no-control-regex -- the expression finds invalid characters
  if (/[\u0001-\u001f\u007f\u2028\u2029]/.test(path)) return { error: 'it contains a control character' };
  if (path.includes('\\')) return { error: 'it contains a backslash; separate folders with /' };
  if (posix.isAbsolute(path)) return { error: "it is absolute; use a path relative to the script's folder" };
  const normal = posix.normalize(path);
  const segments = normal.split('/');
  if (segments[0] === '..') return { error: "it leaves the script's folder" };
  if (normal === '.' || normal === './' || path.endsWith('/')) return { error: 'it is a folder, not a file' };
  if (segments.length > maxDepth) return { error: `it is more than ${maxDepth} folders deep` };
  if (segments.some((segment) => Buffer.byteLength(segment) > maxNameBytes)) {
    return { error: `one of its names is longer than ${maxNameBytes} bytes` };
  }
  const first = segments[0] ?? '';
  if (['node_modules', ...Object.values<string>(hostFolders), ...reserved].includes(first)) {
    return { error: `the name ${first} is reserved` };
  }
  return { path: normal };
}

/** The files by their normalized paths, or a SCRIPT_INVALID reason that names the first invalid path. */
export function checkedScriptFiles({ files, reserved }: ScriptFilesOptions): Map<string, string> | Reason {
  const byPath = new Map<string, string>();
  const folders = new Set<string>();
  let bytes = 0;
  for (const { path, content } of files) {
    const normal = normalScriptPath(path, reserved);
    if ('error' in normal) return refused(path, normal.error);
    if (byPath.has(normal.path)) return refused(path, 'it is given twice');
    byPath.set(normal.path, content);
    for (let up = posix.dirname(normal.path); up !== '.'; up = posix.dirname(up)) folders.add(up);
    bytes += Buffer.byteLength(content);
    if (bytes > totalBytes) {
      return reasonOf(
        'SCRIPT_INVALID',
        `the files of the script have more than ${totalBytes} bytes together`,
      );
    }
  }
  for (const path of byPath.keys()) {
    if (folders.has(path)) return refused(path, 'another file uses it as a folder');
  }
  return byPath;
}

function refused(path: string, why: string): Reason {
  return reasonOf(
    'SCRIPT_INVALID',
    `the file path ${JSON.stringify(shortened(path, 200))} is invalid: ${why}`,
  );
}
