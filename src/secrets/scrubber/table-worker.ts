import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { buffersOf } from '../matcher/tables.ts';
import { buildTables, type NamedSecret } from './tables.ts';

/** The thread that builds the tables for one large set of secrets. It gets them as its data and exits afterwards. */

if (process.platform === 'linux') {
  try {
    setPriority(0, 10);
  } catch {
    // Hosts that forbid it are supported: the priority is a courtesy to the thread that measures times.
  }
}
const tables = buildTables(workerData as readonly NamedSecret[]); // only table-thread.ts starts this thread
const buffers = buffersOf(tables.matcher).filter((buffer) => buffer instanceof ArrayBuffer);
parentPort?.postMessage(tables, [...new Set(buffers)]);
