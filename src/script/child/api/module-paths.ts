/**
 * Replaces `Module._nodeModulePaths`, which Node does not document; read from Node 20.20.2.
 * test/library-internals/node-modules.test.ts fails when Node stops calling it.
 */
import { existsSync, realpathSync } from 'node:fs';
import Module from 'node:module';
import { join } from 'node:path';

/**
 * Keeps the search for a package within the runtime. Above it the process may not look, and would be told so with an error
 * that packages don't expect when they ask for one that is optional.
 */
export function lookOnlyBelow(folder: string): void {
  const pathsOf = Reflect.get(Module, '_nodeModulePaths') as ((from: string) => string[]) | undefined; // not in the types
  if (pathsOf === undefined) return;
  const packages = join(folder, 'node_modules');
  // They may be a link to another place.
  const roots = [folder, existsSync(packages) ? realpathSync(packages) : packages];
  Reflect.set(Module, '_nodeModulePaths', (from: string) =>
    pathsOf(from).filter((path) => roots.some((root) => path === root || path.startsWith(`${root}/`))),
  );
}
