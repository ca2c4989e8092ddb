import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';

export type Loop = {
  start(): void;
  /** Resolves when no work is in progress. */
  stop(): Promise<void>;
  /** Does the work once, now; rejects if it fails. */
  tick(): Promise<void>;
};

/** Wait after the first failure. It doubles with each further failure, up to the maximum. */
const firstRetryMs = 250;
const maxRetryMs = 10_000;

/**
 * Repeats `work`, waiting each time for the milliseconds that it returns. A failure, for example an unavailable
 * database, is logged and retried without end.
 */
export function createLoop(options: { name: string; log: Log; work: () => Promise<number> }): Loop {
  const { name, log, work } = options;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let started = false;
  let failures = 0;

  async function once(): Promise<void> {
    let waitMs: number;
    try {
      waitMs = await work();
      failures = 0;
    } catch (error) {
      waitMs = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failures++, 10));
      if (started) log.warn({ loop: name, error: toError(error).message, retryInMs: waitMs }, 'work failed');
    }
    if (started) schedule(waitMs);
  }

  function schedule(waitMs: number): void {
    timer = setTimeout(() => (running = once()), waitMs);
  }

  return {
    start: () => {
      if (started) return;
      started = true;
      schedule(0);
    },
    stop: async () => {
      started = false;
      clearTimeout(timer);
      await running;
      clearTimeout(timer);
    },
    tick: async () => {
      await work();
    },
  };
}
