import { createRequire, isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { limitPackageSearch } from './module-paths.ts';
import { compiled, json, Refusal, scriptName, shown } from './compile.ts';

/**
 * Built-in modules that setup and teardown scripts may require (facts, 5.4). This is a convenience, not a barrier:
 * packages may use any module, and the confinement decides what the process may do.
 */
const allowedBuiltins = [
  'assert',
  'buffer',
  'crypto',
  'dns',
  'events',
  'path',
  'querystring',
  'readline',
  'stream',
  'string_decoder',
  'timers',
  'tls',
  'url',
  'util',
  'zlib',
];

const browserPackages = ['playwright', 'playwright-core', '@playwright/test', 'mocha'];

type Require = (specifier: string) => unknown;

export type ScriptModules = {
  /** Compiles a setup or teardown script; call the returned function to run it. Throws Refusal if the script is invalid. */
  script: (content: string) => () => Promise<unknown>;
  /** File and line of the first stack frame in the customer's own code. */
  placeOf: (stack: string) => string | null;
};

/** Provides `require` for the scripts of one run: their own files, allowed built-ins, the packages of the runtime. */
export function createModules(options: {
  files: readonly { path: string; content: string }[];
  runtime: string;
  runtimeFolder: string;
}): ScriptModules {
  const files = new Map(options.files.map(({ path, content }) => [path, content]));
  const loaded = new Map<string, { exports: unknown }>();
  limitPackageSearch(options.runtimeFolder);
  const packages = createRequire(posix.join(options.runtimeFolder, scriptName));

  const requireFrom =
    (importer: string): Require =>
    (specifier) => {
      if (typeof specifier !== 'string' || specifier === '')
        throw new Refusal('require needs the name of a module');
      if (/^\.{1,2}(?:\/|$)/.test(specifier)) return ownFile(specifier, importer);
      if (specifier.startsWith('/') || specifier.split('/').includes('..')) {
        throw new Refusal(
          `require('${shown(specifier)}'): you can require only files of the check and packages`,
        );
      }
      if (isBuiltin(specifier)) return builtin(packages, specifier);
      return packaged(packages, options.runtime, specifier);
    };

  const ownFile = (specifier: string, importer: string): unknown => {
    const wanted = posix.join(posix.dirname(importer), specifier);
    const candidates = ['', '.js', '.cjs', '.json', '/index.js'].map(
      (ending) => wanted.replace(/\/$/, '') + ending,
    );
    const path = candidates.find((candidate) => files.has(candidate));
    if (path === undefined) {
      const has = files.size === 0 ? 'has none' : `has ${shown([...files.keys()].join(', '), 300)}`;
      throw new Refusal(`require('${shown(specifier)}'): no such file; the check ${has}`);
    }
    const known = loaded.get(path);
    if (known !== undefined) return known.exports;
    const content = files.get(path) ?? '';
    const module: { exports: unknown } = { exports: {} };
    loaded.set(path, module);
    try {
      if (path.endsWith('.json')) module.exports = json(path, content);
      else call(compiled(path, content, 'function'), path, module);
    } catch (error) {
      loaded.delete(path);
      throw error;
    }
    return module.exports;
  };

  const call = (code: unknown, path: string, module: { exports: unknown }): unknown => {
    const file = `/${path}`;
    const parameters = [requireFrom(path), module, module.exports, file, posix.dirname(file)];
    return Reflect.apply(code as () => unknown, module.exports, parameters); // compiled from a function expression
  };

  return {
    script: (content) => {
      const code = compiled(scriptName, content, 'async function');
      return async () => call(code, scriptName, { exports: {} });
    },
    placeOf: (stack) => {
      for (const match of stack.matchAll(/(?:^|[(\s])([^\s():]+):(\d+)(?::\d+)?/gm)) {
        const [, file = '', line = ''] = match;
        if (file === scriptName) return `line ${line}`;
        if (files.has(file)) return `${file} line ${line}`;
      }
      return null;
    },
  };
}

/** An allowed built-in module. Throws Refusal for others. */
function builtin(packages: Require, specifier: string): unknown {
  const name = specifier.replace(/^node:/, '').split('/')[0] ?? '';
  if (!allowedBuiltins.includes(name)) {
    throw new Refusal(
      `the module ${shown(specifier)} is not available in setup and teardown scripts; available built-in modules: ${allowedBuiltins.join(', ')}`,
    );
  }
  return packages(specifier);
}

/** A package of the runtime, given by the runtime's `require`. Throws Refusal if it is not available. */
function packaged(packages: Require, runtime: string, specifier: string): unknown {
  const [first = '', second = ''] = specifier.split('/');
  const name = specifier.startsWith('@') ? `${first}/${second}` : first;
  if (browserPackages.includes(name)) {
    throw new Refusal(
      `the package ${shown(name)} is not available in setup and teardown scripts; use a browser or multi-step check`,
    );
  }
  try {
    return packages(specifier);
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown }; // whatever the package threw
    if (code === 'MODULE_NOT_FOUND' && String(message).includes(`'${specifier}'`)) {
      throw new Refusal(`the package ${shown(specifier)} is not in the runtime ${runtime}`);
    }
    if (code === 'ERR_REQUIRE_ESM') {
      throw new Refusal(
        `the package ${shown(specifier)} is an ES module: write await import('${shown(specifier)}')`,
      );
    }
    throw error;
  }
}
