import { posix } from 'node:path';
import type { Problems } from '../../http/problems.ts';
import { dependenciesLength } from '../fields/scripts.ts';

/** Why a path cannot name a file next to the script; null = it can. The agent refuses the same paths. */
export function pathProblem(path: string): string | null {
  if (path.includes('\\') || posix.isAbsolute(path) || /^[A-Za-z]:/.test(path)) {
    return 'must be a relative path with forward slashes';
  }
  const normal = posix.normalize(path);
  if (normal === '..' || normal.startsWith('../')) return 'must not leave the folder of the script';
  return normal === '.' || normal.endsWith('/') ? 'must name a file' : null;
}

/** Paths and sizes of files. */
export function checkDependencies(
  dependencies: readonly { path: string; content: string }[] | null,
  problems: Problems,
): void {
  const seen = new Set<string>();
  let length = 0;
  for (const [index, { path, content }] of (dependencies ?? []).entries()) {
    length += content.length;
    const problem = pathProblem(path);
    if (problem !== null) problems.add(`dependencies.${index}.path`, problem);
    const normal = posix.normalize(path);
    if (seen.has(normal)) problems.add(`dependencies.${index}.path`, `is given twice (${path})`);
    seen.add(normal);
  }
  if (length > dependenciesLength) {
    problems.add('dependencies', `must not have more than ${dependenciesLength} characters together`);
  }
}
