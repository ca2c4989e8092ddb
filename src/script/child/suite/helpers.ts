/**
 * Replaces `Module._resolveFilename`, which Node does not document but all loaders build upon; read from Node 20.20.2.
 * test/library-internals/node-modules.test.ts fails when Node stops calling it.
 */
import Module from 'node:module';

const helpersName = '@location-agent/helpers';
type Resolve = (request: string, ...rest: unknown[]) => string;
type Hooks = {
  registerHooks?: (hooks: {
    resolve: (specifier: string, context: unknown, next: (...args: unknown[]) => unknown) => unknown;
  }) => void;
};

/** Lets the project import the helpers where a project has none and its package manager keeps Node from looking further up (Plug'n'Play). */
export function offerHelpers(path: string): void {
  if (process.versions['pnp'] === undefined) return;
  const modules = Module as unknown as { _resolveFilename: Resolve } & Hooks; // internal, but what all loaders build upon
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
