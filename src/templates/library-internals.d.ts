/**
 * The types of Handlebars' parser, which handlebars-parser.ts loads from its own file. The version is pinned exactly.
 */
declare module 'handlebars/dist/cjs/handlebars/compiler/base.js' {
  /** Parses a template into a Program node; throws an Error with line and column. */
  export function parse(template: string): unknown;
}
