import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toError } from '../../../errors.ts';

/** Places of errors in the files of a project. */

/** A path below the folder; null = outside of it, or in a package. */
export function below(folder: string, path: string): string | null {
  const file = path.startsWith('file:') ? fileURLToPath(path) : path;
  const name = relative(folder, file).split(sep).join('/');
  return name === '' || name.startsWith('..') || /(^|\/)node_modules\//.test(name) ? null : name;
}

/** `file:line` of `path:line:column`; null = it is not in the folder. */
export function placeBelow(folder: string, text: string): string | null {
  const parts = /^(.*?):(\d+)(?::\d+)?$/.exec(text);
  const name = parts?.[1] === undefined ? null : below(folder, parts[1]);
  return name === null ? null : `${name}:${parts?.[2] ?? '1'}`;
}

/** What an error says, and where in the folder it was thrown. Errors of the compiler have the place in their text. */
export function failureOf(folder: string, error: unknown): { message: string; place: string | null } {
  const { message, stack = '' } = toError(error);
  const places = [...`${message}\n${stack}`.matchAll(/((?:file:\/\/)?\/[^\s()]*:\d+(?::\d+)?)/g)];
  const place = places.map(([text]) => placeBelow(folder, text)).find((one) => one !== null) ?? null;
  return { message: message.split('\n')[0] ?? '', place };
}
