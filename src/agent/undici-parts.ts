import buildConnector from 'undici/lib/core/connect.js';
import Client from 'undici/lib/dispatcher/client.js';
import Pool from 'undici/lib/dispatcher/pool.js';

/**
 * undici by the files that the agent needs, as read in undici 7.30.2. The front door loads 16 MiB in about 115 ms, which every idle
 * agent would pay; these files cost 8 MiB and 25 ms. test/agent/library-internals.test.ts fails when the library changes.
 */
export { buildConnector, Client, Pool };
