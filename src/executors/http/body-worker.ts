import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { evaluateAssertions } from '../assertions/evaluate.ts';
import { bodySources } from './body-sources.ts';
import type { BodyAnswer, BodyTask } from './body-thread.ts';

/** The thread that evaluates assertions on large bodies. Its priority is below the main thread's, which measures. */

// On Linux priorities belong to threads; elsewhere this would slow down the whole program.
if (process.platform === 'linux') {
  try {
    setPriority(0, 5);
  } catch {
    // This is optional, so hosts that forbid it are supported.
  }
}
const threadId = ownThreadId();
parentPort?.on('message', ({ assertions, body }: BodyTask) => {
  // Only body-thread.ts starts this thread and writes to it, one task at a time. Evaluating never throws.
  answer({ threadId });
  answer({ results: evaluateAssertions(assertions, bodySources(body)) });
});

function answer(message: BodyAnswer): void {
  parentPort?.postMessage(message);
}

/** Linux has a link `PID/task/ID` for the thread that reads it. */
function ownThreadId(): string | null {
  try {
    return basename(readlinkSync('/proc/thread-self'));
  } catch {
    return null;
  }
}
