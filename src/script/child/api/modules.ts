import { createRequire, isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { limitPackageSearch } from './module-paths.ts';
import * as vm from 'node:vm';

/** An error that the check's author must fix: reported as SCRIPT_INVALID, not as an exception of its code. */
export class Refusal extends Error {
  override readonly name = 'Error';
}

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

/** The name of the script itself, in stacks and as an importer. */
const scriptName = 'script.js';

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
      if (isBuiltin(specifier)) return builtin(specifier);
      return packaged(specifier);
    };

  const builtin = (specifier: string): unknown => {
    const name = specifier.replace(/^node:/, '').split('/')[0] ?? '';
    if (!allowedBuiltins.includes(name)) {
      throw new Refusal(
        `the module ${shown(specifier)} is not available in setup and teardown scripts; available built-in modules: ${allowedBuiltins.join(', ')}`,
      );
    }
    return packages(specifier);
  };

  const packaged = (specifier: string): unknown => {
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
        throw new Refusal(`the package ${shown(specifier)} is not in the runtime ${options.runtime}`);
      }
      if (code === 'ERR_REQUIRE_ESM') {
        throw new Refusal(
          `the package ${shown(specifier)} is an ES module: write await import('${shown(specifier)}')`,
        );
      }
      throw error;
    }
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

/** Lets scripts import packages that are ES modules only, as from a file in the working folder. Not in Node 18. */
const dynamicImport: unknown = Reflect.get(vm, 'constants')?.USE_MAIN_CONTEXT_DEFAULT_LOADER;

function compiled(path: string, content: string, kind: 'function' | 'async function'): unknown {
  if (/\.(?:ts|mts|cts|mjs|tsx|jsx)$/.test(path)) {
    throw new Refusal(
      `the file ${path} cannot be loaded: setup and teardown scripts can use only CommonJS files (.js, .cjs, .json)`,
    );
  }
  const wrapped = `(${kind} (require, module, exports, __filename, __dirname) {\n${content.replace(/^#!.*/, '')}\n})`;
  let script: vm.Script;
  try {
    script = new vm.Script(wrapped, {
      filename: path,
      lineOffset: -1,
      ...(dynamicImport === undefined ? {} : { importModuleDynamically: dynamicImport as never }), // missing in older type definitions
    });
  } catch (error) {
    const { message, stack } = error as { message?: unknown; stack?: unknown }; // a SyntaxError of the engine
    const line = /:(\d+)/.exec(String(stack).split('\n', 1)[0] ?? '')?.[1] ?? '?';
    const text = String(message);
    const remedy = /import statement|Unexpected token 'export'|import\.meta/.test(text)
      ? "; scripts are CommonJS: use require('…') and module.exports instead of import and export"
      : '';
    throw new Refusal(`${path === scriptName ? '' : `${path} `}line ${line}: SyntaxError: ${text}${remedy}`);
  }
  return script.runInThisContext();
}

function json(path: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new Refusal(`the file ${path} is not valid JSON`);
  }
}

function shown(text: string, length = 100): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
