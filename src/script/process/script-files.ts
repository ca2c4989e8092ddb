import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { AgentError, toError } from '../../errors.ts';
import { isRefusedByDisk } from './full-disk.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { ScriptFile } from '../../protocol/script.ts';

/** Bytes of all files of one run together. */
const totalBytes = 32 * 1024 * 1024;
const longestName = 255;
const deepest = 32;

/** Top-level names of the workDir that belong to the host: the script's home and its temporary files. */
export const hostFolders = { home: '.home', temporary: '.tmp' } as const;

export type ScriptFilesOptions = {
  /** The script itself and the files that it needs, each by its relative path. */
  files: readonly ScriptFile[];
  /** First segments of a path that the caller keeps for itself besides `hostFolders` and `node_modules`. */
  reserved?: readonly string[];
};

/**
 * Makes `hostFolders` in the folder, which must be this run's own and fresh, and writes the files below it. Null = done; a
 * path that may not be is a SCRIPT_INVALID reason that names it, and then nothing is written. Rejects with AgentError
 * DISK_FULL or INTERNAL.
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
      // `wx`: what is there already was not written by this run's files, which have one path each.
      await writeFile(full, content, { flag: 'wx', mode: 0o600 });
    }
  } catch (error: unknown) {
    const { message } = toError(error);
    const full = isRefusedByDisk(error);
    throw new AgentError(full ? 'DISK_FULL' : 'INTERNAL', `script files: ${message}`, { cause: error });
  }
  return null;
}

/** The normal form of a script file's path, relative, with `/`; or what is wrong with it. */
export function normalScriptPath(
  path: string,
  reserved: readonly string[] = [],
): { path: string } | { error: string } {
  if (path.includes('\0')) return { error: 'it holds a NUL character' };
  // oxlint-disable-next-line no-control-regex -- they are what is refused
  if (/[\u0001-\u001f\u007f\u2028\u2029]/.test(path)) return { error: 'it holds a control character' };
  if (path.includes('\\')) return { error: 'it holds a backslash; separate folders by /' };
  if (posix.isAbsolute(path)) return { error: "it is absolute; give it relative to the script's folder" };
  const normal = posix.normalize(path);
  const segments = normal.split('/');
  if (segments[0] === '..') return { error: "it leaves the script's folder" };
  if (normal === '.' || normal === './' || path.endsWith('/'))
    return { error: 'it names a folder, not a file' };
  if (segments.length > deepest) return { error: `it is more than ${deepest} folders deep` };
  if (segments.some((segment) => Buffer.byteLength(segment) > longestName)) {
    return { error: `a part of it is longer than ${longestName} bytes` };
  }
  const first = segments[0] ?? '';
  if (['node_modules', ...Object.values<string>(hostFolders), ...reserved].includes(first)) {
    return { error: `the name ${first} is reserved` };
  }
  return { path: normal };
}

/** The files by their normal paths, or a SCRIPT_INVALID reason that names the first path that may not be. */
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
    if (folders.has(path)) return refused(path, 'it is the folder of another file');
  }
  return byPath;
}

function refused(path: string, why: string): Reason {
  return reasonOf('SCRIPT_INVALID', `the file path ${JSON.stringify(path.slice(0, 200))} is refused: ${why}`);
}
