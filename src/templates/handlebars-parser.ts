/**
 * Loads the parser of handlebars alone, from its own file: the package's front door loads compiler and runtime as well, which
 * costs an agent 7 MB of memory and 35 ms. The path was read from release 4.7.10; test/library-internals/handlebars.test.ts
 * fails with any other release.
 */
export async function loadTemplateParser(): Promise<(template: string) => unknown> {
  return (await import('handlebars/dist/cjs/handlebars/compiler/base.js')).parse;
}
