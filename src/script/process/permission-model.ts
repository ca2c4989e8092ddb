import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { AgentError } from '../../errors.ts';
import type { ChildOptions } from './program.ts';
import { ownFiles } from './reach.ts';

const versions = new Map<string, Promise<string>>();

/** Version of a Node binary, queried once per file. Rejects with AgentError SANDBOX_UNAVAILABLE. */
export function nodeVersionOf(node: string): Promise<string> {
  const known = versions.get(node);
  if (known !== undefined) return known;
  const asked = new Promise<string>((resolve, reject) => {
    execFile(node, ['--version'], { env: {}, timeout: 10_000 }, (error, stdout) => {
      if (error === null) return resolve(stdout.trim().replace(/^v/, ''));
      versions.delete(node);
      reject(
        new AgentError('SANDBOX_UNAVAILABLE', `the Node of the runtime cannot run: ${node}`, {
          cause: error,
        }),
      );
    });
  });
  versions.set(node, asked);
  return asked;
}

/**
 * Flags that apply Node's own permission model to a child: only the given files, no programs, no threads, no addons.
 * Empty if that Node (before 20) has no permission model. The network stays open, because scripts need it for requests.
 */
export function permissionFlags(version: string, options: ChildOptions): string[] {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 20) return [];
  const stable = major >= 24 || (major === 23 && minor >= 5) || (major === 22 && minor >= 13);
  const read = [...ownFiles(options.file), ...options.readable, ...options.writable];
  return [
    stable ? '--permission' : '--experimental-permission',
    // Otherwise each run's output would begin with a warning of Node.
    '--disable-warning=ExperimentalWarning',
    '--disable-warning=SecurityWarning',
    ...(major >= 25 ? ['--allow-net'] : []),
    ...outermost(read).map((path) => `--allow-fs-read=${below(path)}`),
    ...outermost(options.writable).map((path) => `--allow-fs-write=${below(path)}`),
  ];
}

/** Removes paths that are inside another: Node 20 aborts if a path is given twice. */
function outermost(paths: readonly string[]): string[] {
  const unique = [...new Set(paths.map((path) => path.replace(/(?<=.)\/+$/, '')))];
  return unique.filter((path) => !unique.some((other) => path !== other && path.startsWith(`${other}/`)));
}

/** Node 20 treats a folder without a star as the folder itself, without its content. */
function below(path: string): string {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isFolder ? `${path}/*` : path;
}
