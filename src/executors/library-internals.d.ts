/**
 * Two libraries are entered by one of their files: the front doors load the whole of them (undici 9 MB and 70 ms more,
 * handlebars 7 MB and 35 ms), of which the executors use one part. Their versions are pinned exactly.
 */
declare module 'undici/lib/dispatcher/client.js' {
  import type { Client } from 'undici';
  const ClientClass: typeof Client;
  export default ClientClass;
}

declare module 'handlebars/dist/cjs/handlebars/compiler/base.js' {
  /** Parses a template into a Program node; throws an Error with line and column. */
  export function parse(template: string): unknown;
}
