/**
 * undici is entered by one of its files: the front door loads the whole library (9 MB and 70 ms more), of which the
 * executors use one part. Its version is pinned exactly.
 */
declare module 'undici/lib/dispatcher/client.js' {
  import type { Client } from 'undici';
  const ClientClass: typeof Client;
  export default ClientClass;
}
