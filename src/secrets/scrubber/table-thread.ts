import { Worker } from 'node:worker_threads';
import { scrubberOf, type Scrubber } from './scrubber.ts';
import { buildTables, withheldTables, type NamedSecret, type ScrubberTables } from './tables.ts';

// In the same folder, with the same ending: .js in a build, .ts if the sources run uncompiled.
const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
const workerUrl = new URL(`./table-worker${ending}`, import.meta.url);
/** Threads load .ts only if Node itself strips types. */
const threadLoads = ending === '.js' || 'typescript' in process.features;

/** Up to this many secrets and bytes, the tables take some milliseconds on any thread. */
const mostAtOnce = 100;
const mostBytesAtOnce = 8192;

/** Whether the tables for `secrets` may be built on the thread that measures checks. */
export function isQuick(secrets: readonly NamedSecret[]): boolean {
  if (secrets.length > mostAtOnce) return false;
  return secrets.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0) <= mostBytesAtOnce;
}

/** A scrubber for `secrets`; its tables are built on another thread unless that is quick on this one. Never rejects. */
export async function createScrubberOffThread(secrets: readonly NamedSecret[]): Promise<Scrubber> {
  return scrubberOf(isQuick(secrets) ? buildTables(secrets) : await buildTablesOffThread(secrets));
}

/** The largest sets take a third of this. */
const maxHeapMegabytes = 256;

/**
 * Builds the tables for `secrets` off the main thread. Never rejects: if they cannot be built, the tables withhold
 * everything.
 */
export async function buildTablesOffThread(secrets: readonly NamedSecret[]): Promise<ScrubberTables> {
  if (!threadLoads) return buildTables(secrets);
  return new Promise((resolve) => {
    const failed = (): void => resolve(withheldTables('the tables of its secrets could not be built'));
    let worker: Worker;
    try {
      worker = new Worker(workerUrl, {
        name: 'secret-tables',
        env: {},
        execArgv: [],
        workerData: secrets.map(({ name, value }) => ({ name, value })),
        resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes },
      });
    } catch {
      // The host allows no more threads.
      return failed();
    }
    worker.on('message', (tables: ScrubberTables) => resolve(tables));
    worker.on('error', failed).on('exit', failed);
  });
}
