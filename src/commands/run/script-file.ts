import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, sep } from 'node:path';
import { exitCodes, FatalError, toError } from '../../errors.ts';
import { attemptTimeoutMs, scriptTypes, type ScriptType } from '../../protocol/check-types.ts';
import type { EnvironmentVariable, Job } from '../../protocol/job.ts';
import { runtimeIds, scriptBytes, type ScriptFile } from '../../protocol/script.ts';
import { localJob } from './local-job.ts';

/** File endings that `run` treats as scripts. */
const scriptEndings = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.tsx', '.jsx'];
/** Endings to try for an import without one, in order. */
const triedEndings = ['', ...scriptEndings, '.json', '/index.ts', '/index.js'];
const maxFiles = 500;

/** True if `run` treats `path` as a script. */
export function isScriptFile(path: string): boolean {
  return scriptEndings.includes(extname(path).toLowerCase());
}

export type ScriptFileOptions = {
  /** BROWSER unless the command has `--type`. */
  type: string | undefined;
  runtime: string | undefined;
  /** `NAME=VALUE`. */
  variables: readonly string[];
  now: number;
};

/**
 * A script on disk as a job, with the files that it imports from its folder or below. Throws FatalError: 2 = a file
 * cannot be read, 64 = a usage error.
 */
export async function readScriptFile(path: string, options: ScriptFileOptions): Promise<Job> {
  const type = typeOf(options.type);
  const runtimeId = runtimeOf(options.runtime);
  const environmentVariables = options.variables.map(variableOf);
  const { content, files } = await scriptAndFiles(path);
  return {
    ...localJob(type, {
      name: basename(path),
      variables: environmentVariables,
      now: options.now,
      limitMs: attemptTimeoutMs[type],
    }),
    sslCheckDomain: null,
    script: { runtimeId, content, path: basename(path), files, playwrightConfig: null },
  };
}

function typeOf(name: string | undefined): ScriptType {
  if (name === undefined) return 'BROWSER';
  const type = scriptTypes.find((known) => known === name.toUpperCase().replaceAll('-', '_'));
  if (type === undefined) throw wrong(`--type must be one of ${scriptTypes.join(', ')}`);
  return type;
}

function runtimeOf(name: string | undefined): string {
  if (name === undefined) return runtimeIds[0];
  if (!runtimeIds.some((known) => known === name))
    throw wrong(`--runtime must be one of ${runtimeIds.join(', ')}`);
  return name;
}

/** `NAME=VALUE` of --env. Throws FatalError (64). */
export function variableOf(text: string): EnvironmentVariable {
  const at = text.indexOf('=');
  if (at < 1) throw wrong('--env must have the form NAME=VALUE');
  return { key: text.slice(0, at), value: text.slice(at + 1), locked: false, secret: false };
}

async function scriptAndFiles(path: string): Promise<{ content: string; files: ScriptFile[] }> {
  const script = await realpath(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  const folder = dirname(script);
  const content = await read(script);
  const files = new Map<string, string>();
  const queue = [{ file: script, text: content }];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const specifier of relativeImports(next.text)) {
      const file = await existing(join(dirname(next.file), specifier));
      // A missing import fails in the script itself, with Node's error.
      if (file === null || file === script || files.has(file)) continue;
      const inside = relative(folder, file);
      if (inside.startsWith('..')) {
        throw wrong(
          `${basename(path)} imports ${specifier}, which is outside its folder: move it into the folder or a subfolder`,
        );
      }
      if (files.size === maxFiles) throw wrong(`${basename(path)} imports more than ${maxFiles} files`);
      const text = await read(file);
      files.set(file, text);
      if (isScriptFile(file)) queue.push({ file, text });
    }
  }
  const named = [...files].map(([file, text]) => ({
    path: relative(folder, file).split(sep).join('/'),
    content: text,
  }));
  return { content, files: named };
}

/** Relative paths that the text imports or requires. */
function relativeImports(text: string): string[] {
  const pattern = /(?:from|import|require)\s*\(?\s*(['"`])(\.{1,2}\/[^'"`\n]+)\1/g;
  return [...text.matchAll(pattern)].map((match) => match[2] ?? '');
}

async function existing(path: string): Promise<string | null> {
  // TypeScript may name the file's compiled name.
  const bases = path.endsWith('.js') ? [path, path.slice(0, -3)] : [path];
  for (const base of bases) {
    for (const ending of triedEndings) {
      const found = await realpath(base + ending).catch(() => null);
      if (found !== null && (isScriptFile(found) || extname(found) !== '')) return found;
    }
  }
  return null;
}

async function read(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadable(file, error);
  });
  if (text.length > scriptBytes) throw wrong(`${file} is larger than ${scriptBytes} bytes`);
  return text;
}

function unreadable(path: string, error: unknown): FatalError {
  const { code, message } = toError(error) as NodeJS.ErrnoException; // file system errors have a code
  return new FatalError('CONFIGURATION', `cannot read ${path} (${code ?? message})`, {
    exitCode: exitCodes.couldNotRun,
  });
}

function wrong(message: string): FatalError {
  return new FatalError('CONFIGURATION', message, { exitCode: exitCodes.usage });
}
