/**
 * The types of Handlebars' parser, which is loaded from its own file: the main entry also loads the compiler and the
 * runtime (6 MB and 15 ms more), which nothing here uses. The version is pinned exactly.
 */
declare module 'handlebars/dist/cjs/handlebars/compiler/base.js' {
  /** Parses a template into a Program node; throws an Error with line and column. */
  export function parse(template: string): unknown;
}
