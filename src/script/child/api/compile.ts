import * as vm from 'node:vm';
import { shortened } from '../shortened.ts';

/** An error that the check's author must fix: reported as SCRIPT_INVALID, not as an exception of its code. */
export class Refusal extends Error {
  override readonly name = 'Error';
}

/** The name of the script itself, in stacks and as an importer. */
export const scriptName = 'script.js';

/** Lets scripts import packages that are ES modules only, as from a file in the working folder. Not in Node 18. */
const dynamicImport: unknown = Reflect.get(vm, 'constants')?.USE_MAIN_CONTEXT_DEFAULT_LOADER;

/** Compiles a CommonJS file of the check to the function that Node wraps around modules. Throws Refusal. */
export function compiled(path: string, content: string, kind: 'function' | 'async function'): unknown {
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

/** Parses a JSON file of the check. Throws Refusal. */
export function json(path: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new Refusal(`the file ${path} is not valid JSON`);
  }
}

/** `text` cut for a message. */
export function shown(text: string, length = 100): string {
  return shortened(text, length);
}
