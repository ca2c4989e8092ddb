import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { celExpression, type CelExpression } from './expression.ts';
import { celFailure } from './judge.ts';
import type { CelAnswer, CelTask } from './thread.ts';

/** The thread that evaluates expressions. Its priority is below the main thread's, which measures. */

// On Linux priorities belong to threads; elsewhere this would slow down the whole program.
if (process.platform === 'linux') {
  try {
    setPriority(0, 5);
  } catch {
    // This is optional, so hosts that forbid it are supported.
  }
}

/** The texts are those of the file, so that there are few. */
const known = new Map<string, CelExpression>();

async function expressionOf(text: string | null): Promise<CelExpression | null> {
  if (text === null) return null;
  let expression = known.get(text);
  if (expression === undefined) known.set(text, (expression = await celExpression(text)));
  return expression;
}

// Only thread.ts starts this thread and writes to it, one task at a time.
parentPort?.on('message', (task: CelTask) => {
  void answer(task);
});

async function answer({ matches, notMatches, body }: CelTask): Promise<void> {
  const rules = { matches: await expressionOf(matches), notMatches: await expressionOf(notMatches) };
  const failure = celFailure(Buffer.from(body.buffer, body.byteOffset, body.byteLength), rules);
  parentPort?.postMessage({ failure } satisfies CelAnswer);
}
