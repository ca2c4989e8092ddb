/**
 * Handlebars is entered by its parser: the front door loads the compiler and the runtime too (6 MB and 15 ms more), which
 * nothing here uses. Its version is pinned exactly.
 */
declare module 'handlebars/dist/cjs/handlebars/compiler/base.js' {
  /** Parses a template into a Program node; throws an Error with line and column. */
  export function parse(template: string): unknown;
}
