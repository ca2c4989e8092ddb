import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { scrubFileHere, type ScrubAnswer, type ScrubFileTask } from './scrub-file-here.ts';

/** The thread in which `scrubFile` scrubs, one file after the other. It steps back behind the main thread, whose times are measured. */

// On Linux priorities belong to threads; elsewhere this would slow the whole program.
if (process.platform === 'linux') {
  try {
    setPriority(0, 10);
  } catch {
    // Only a courtesy: a host that forbids it is served all the same.
  }
}
parentPort?.on('message', (task: ScrubFileTask) => {
  // scrub-file.ts alone starts this thread and writes to it.
  parentPort?.postMessage(answerTo(task));
});

function answerTo(task: ScrubFileTask): ScrubAnswer {
  try {
    return { scrubbed: scrubFileHere(task) };
  } catch (error) {
    return { error: { ...(error as NodeJS.ErrnoException), message: String((error as Error).message) } }; // the file system's, or one of ours
  }
}
