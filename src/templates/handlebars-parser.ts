/**
 * Loads only the parser of handlebars, from its own file: the package's main entry also loads compiler and runtime,
 * which cost an agent 7 MB of memory and 35 ms. The path was read from release 4.7.10;
 * test/templates/handlebars-parser.test.ts fails with any other release.
 */
export async function loadTemplateParser(): Promise<(template: string) => unknown> {
  return (await import('handlebars/dist/cjs/handlebars/compiler/base.js')).parse;
}
