import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { AgentError } from '../../errors.ts';
import type { ChildOptions } from './program.ts';
import { ownFiles } from './reach.ts';

const versions = new Map<string, Promise<string>>();

/** Version of a Node binary, asked once per file. Rejects with AgentError SANDBOX_UNAVAILABLE. */
export function nodeVersionOf(node: string): Promise<string> {
  const known = versions.get(node);
  if (known !== undefined) return known;
  const asked = new Promise<string>((resolve, reject) => {
    execFile(node, ['--version'], { env: {}, timeout: 10_000 }, (error, stdout) => {
      if (error === null) return resolve(stdout.trim().replace(/^v/, ''));
      versions.delete(node);
      reject(
        new AgentError('SANDBOX_UNAVAILABLE', `the Node of the runtime can't run: ${node}`, { cause: error }),
      );
    });
  });
  versions.set(node, asked);
  return asked;
}

/**
 * Flags that put Node's own permission model over a child: files as told, no programs, no threads, no addons. Empty where
 * that Node (before 20) has none. The network stays open: requests are what scripts are for.
 */
export function permissionFlags(version: string, options: ChildOptions): string[] {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 20) return [];
  const stable = major >= 24 || (major === 23 && minor >= 5) || (major === 22 && minor >= 13);
  const read = [...ownFiles(options.file), ...options.readable, ...options.writable];
  return [
    stable ? '--permission' : '--experimental-permission',
    // Else each run's output would begin with Node's own remark.
    '--disable-warning=ExperimentalWarning',
    '--disable-warning=SecurityWarning',
    ...(major >= 25 ? ['--allow-net'] : []),
    ...outermost(read).map((path) => `--allow-fs-read=${below(path)}`),
    ...outermost(options.writable).map((path) => `--allow-fs-write=${below(path)}`),
  ];
}

/** Without those that lie in another: Node 20 aborts when one path comes twice. */
function outermost(paths: readonly string[]): string[] {
  const whole = [...new Set(paths.map((path) => path.replace(/(?<=.)\/+$/, '')))];
  return whole.filter((path) => !whole.some((other) => path !== other && path.startsWith(`${other}/`)));
}

/** Node 20 takes a folder without a star for the folder alone. */
function below(path: string): string {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isFolder ? `${path}/*` : path;
}
