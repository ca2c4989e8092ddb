import { FatalError } from '../../errors.ts';
import { pause } from '../link/backoff.ts';

/**
 * Makes one call after the other until `stopped`, or until an error after which the agent cannot continue. `call` resolves with the
 * milliseconds to wait before the next one, and so does `failed` with the number of failures in a row. Never rejects.
 */
export async function repeatCalls({
  call,
  failed,
  stopped,
}: {
  call: (isRetry: boolean) => Promise<number>;
  failed: (error: unknown, failures: number) => number;
  stopped: AbortSignal;
}): Promise<void> {
  for (let failures = 0; !stopped.aborted;) {
    let waitMs: number;
    try {
      waitMs = await call(failures > 0);
      failures = 0;
    } catch (error) {
      if (error instanceof FatalError || stopped.aborted) return;
      failures += 1;
      waitMs = failed(error, failures);
    }
    await pause(waitMs, stopped);
  }
}
