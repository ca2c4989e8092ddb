import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { scrubFileHere } from './scrub-file-here.ts';
import type { ScrubAnswer, ScrubTask } from './scrub-task.ts';

/**
 * The thread in which files and artifacts are scrubbed, one after the other. It lowers its priority below the main
 * thread's, whose times are measured.
 */

// On Linux priorities belong to threads; elsewhere this would slow down the whole program.
if (process.platform === 'linux') {
  try {
    setPriority(0, 10);
  } catch {
    // This is optional, so hosts that forbid it are supported.
  }
}
parentPort?.on('message', (task: ScrubTask) => {
  // Only scrub-thread.ts starts this thread and writes to it, one task at a time.
  void answerTo(task).then((answer) => parentPort?.postMessage(answer));
});

async function answerTo(task: ScrubTask): Promise<ScrubAnswer> {
  try {
    if (task.kind === 'file') return { scrubbed: scrubFileHere(task) };
    // Loaded with the first artifact: agents that run no scripts have none.
    const { scrubArtifactHere } = await import('./scrub-artifact-here.ts');
    return { scrubbed: await scrubArtifactHere(task) };
  } catch (error) {
    return { error: { ...(error as NodeJS.ErrnoException), message: String((error as Error).message) } }; // a file system error, or one of ours
  }
}
