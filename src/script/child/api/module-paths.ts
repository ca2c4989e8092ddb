/**
 * Replaces `Module._nodeModulePaths`, which Node does not document; read from Node 20.20.2.
 * test/library-internals/node-modules.test.ts fails if Node no longer calls it.
 */
import { existsSync, realpathSync } from 'node:fs';
import Module from 'node:module';
import { join } from 'node:path';

/**
 * Limits the search for a package to the runtime. The process may not read the folders above it. The search there would
 * fail with an error that packages do not expect when they look for an optional package.
 */
export function limitPackageSearch(folder: string): void {
  const pathsOf = Reflect.get(Module, '_nodeModulePaths') as ((from: string) => string[]) | undefined; // missing in the types
  if (pathsOf === undefined) return;
  const packages = join(folder, 'node_modules');
  // The folders may be links to another place.
  const roots = [folder, existsSync(packages) ? realpathSync(packages) : packages];
  Reflect.set(Module, '_nodeModulePaths', (from: string) =>
    pathsOf(from).filter((path) => roots.some((root) => path === root || path.startsWith(`${root}/`))),
  );
}
