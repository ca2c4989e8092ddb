import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { scrubFileHere, type ScrubFileTask } from './scrub-file-here.ts';

/** The thread in which `scrubFile` scrubs. It steps back behind the main thread, whose times are measured. */

// On Linux priorities belong to threads; elsewhere this would slow the whole program.
if (process.platform === 'linux') {
  try {
    setPriority(0, 10);
  } catch {
    // Only a courtesy: a host that forbids it is served all the same.
  }
}
parentPort?.postMessage(scrubFileHere(workerData as ScrubFileTask)); // scrub-file.ts alone starts this thread
