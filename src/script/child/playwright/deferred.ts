import Module from 'node:module';

/**
 * Modules that Playwright's releases load at startup and no check run uses: the compiler, in the process that runs what
 * the other process has compiled, and tools for language models. They are used only by their exported names. Paths are
 * relative to the packages; a release may lack any of them.
 */
export const unusedModules = {
  worker: ['playwright/lib/transform/md.js', 'playwright-core/lib/server/agent/pageAgent.js'],
  runner: ['playwright/lib/mcp/test/testBackend.js', 'playwright-core/lib/server/agent/pageAgent.js'],
} as const;

/**
 * Defers the loading of CommonJS modules, given by their resolved paths, until an export is used. Call it before
 * anything loads them; modules that are already loaded are unaffected.
 */
export function deferModules(load: NodeJS.Require, paths: readonly string[]): void {
  for (const path of paths) {
    if (!(path in load.cache)) load.cache[path] = placeholder(load, path);
  }
}

/** Paths of the `unusedModules` that the release has. */
export function unusedPaths(load: NodeJS.Require, process: keyof typeof unusedModules): string[] {
  return unusedModules[process].flatMap((file) => {
    const [name = '', ...rest] = file.split('/');
    try {
      const manifest = load.resolve(`${name}/package.json`);
      // Resolved by path, because packages export few of their files.
      return [load.resolve([manifest.slice(0, -'/package.json'.length), ...rest].join('/'))];
    } catch {
      return [];
    }
  });
}

function placeholder(load: NodeJS.Require, path: string): Module {
  const waiting = new Module(path);
  waiting.filename = path;
  waiting.loaded = true;
  let loaded: object | undefined;
  const real = (): object => {
    if (loaded === undefined) {
      // Later calls of require get the module itself.
      if (load.cache[path] === waiting) delete load.cache[path];
      loaded = load(path) as object; // its exports are an object
    }
    return loaded;
  };
  waiting.exports = new Proxy(
    {},
    {
      get: (_, name) => Reflect.get(real(), name) as unknown,
      has: (_, name) => Reflect.has(real(), name),
      ownKeys: () => Reflect.ownKeys(real()),
      getOwnPropertyDescriptor: (_, name) => {
        const found = Reflect.getOwnPropertyDescriptor(real(), name);
        // A proxy may not report a property as fixed if its own target lacks it.
        return found === undefined ? undefined : { ...found, configurable: true };
      },
    },
  );
  return waiting;
}
