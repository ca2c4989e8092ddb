import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';

export type Loop = {
  start(): void;
  /** Resolves when no work is under way any more. */
  stop(): Promise<void>;
  /** Does the work once, now; rejects when it fails. */
  tick(): Promise<void>;
};

/** After a failure; doubled with each further one, up to the maximum. */
const firstRetryMs = 250;
const maxRetryMs = 10_000;

/**
 * Does `work` again and again, each time after as many milliseconds as it says. A failure (the database is away) is
 * logged and followed by another try, for ever.
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
