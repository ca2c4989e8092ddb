/**
 * undici is imported by one of its files: the main entry loads the complete library (9 MB and 70 ms more), of which
 * the executors use one part. Its version is pinned exactly.
 */
declare module 'undici/lib/dispatcher/client.js' {
  import type { Client } from 'undici';
  const ClientClass: typeof Client;
  export default ClientClass;
}
