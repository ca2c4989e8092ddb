import Module from 'node:module';

/**
 * What Playwright's releases load at their start and no run of a check uses: the compiler, in the process that runs what the other one
 * has compiled; tools for language models. Each is used by the names that it exports alone. Paths in the packages; a release that
 * lacks one is none the worse.
 */
export const unusedModules = {
  worker: ['playwright/lib/transform/md.js', 'playwright-core/lib/server/agent/pageAgent.js'],
  runner: ['playwright/lib/mcp/test/testBackend.js', 'playwright-core/lib/server/agent/pageAgent.js'],
} as const;

/**
 * Lets CommonJS modules, by their resolved paths, wait until something of what they export is used. To be called before anything
 * that loads them; what is loaded already stays as it is.
 */
export function deferModules(load: NodeJS.Require, paths: readonly string[]): void {
  for (const path of paths) {
    if (!(path in load.cache)) load.cache[path] = placeholder(load, path);
  }
}

/** Paths of those of `unusedModules` that the release has. */
export function unusedPaths(load: NodeJS.Require, process: keyof typeof unusedModules): string[] {
  return unusedModules[process].flatMap((file) => {
    const [name = '', ...rest] = file.split('/');
    try {
      const manifest = load.resolve(`${name}/package.json`);
      // By its path: packages name few of their files for others to load.
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
      // Whoever asks from now on gets the module itself.
      if (load.cache[path] === waiting) delete load.cache[path];
      loaded = load(path) as object; // it exports names
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
        // A proxy may not call a property fixed that its own target lacks.
        return found === undefined ? undefined : { ...found, configurable: true };
      },
    },
  );
  return waiting;
}
