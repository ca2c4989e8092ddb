/**
 * Replaces `Module._resolveFilename`, which Node does not document but all loaders rely on; read from Node 20.20.2.
 * test/library-internals/node-modules.test.ts fails if Node no longer calls it.
 */
import Module from 'node:module';

const helpersName = '@location-agent/helpers';
type Resolve = (request: string, ...rest: unknown[]) => string;
type Hooks = {
  registerHooks?: (hooks: {
    resolve: (specifier: string, context: unknown, next: (...args: unknown[]) => unknown) => unknown;
  }) => void;
};

/**
 * Lets the project import the helpers if it does not have them and its package manager prevents Node from searching
 * parent folders (Plug'n'Play).
 */
export function offerHelpers(path: string): void {
  if (process.versions['pnp'] === undefined) return;
  const modules = Module as unknown as { _resolveFilename: Resolve } & Hooks; // internal, but all loaders rely on it
  const original = modules._resolveFilename;
  modules._resolveFilename = function resolve(this: unknown, request, ...rest) {
    return request === helpersName ? path : original.call(this, request, ...rest);
  };
  modules.registerHooks?.({
    resolve: (specifier, context, next) =>
      specifier === helpersName
        ? { url: `file://${encodeURI(path)}`, format: 'commonjs', shortCircuit: true }
        : next(specifier, context),
  });
}
