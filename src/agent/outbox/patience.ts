import { pause } from '../link/backoff.ts';

/**
 * When the next batch is sent. Calm results (keeping/calm-runs.ts) share a call every two seconds, because a call costs the service more
 * than the results in it. Any other result is sent at once, and takes along what waits.
 */
export type Patience = {
  /** The next batch is sent at once. */
  hurry: () => void;
  /** Resolves when a batch is to be read, or when `signal` fires. */
  wait: (signal: AbortSignal) => Promise<void>;
};

export const betweenCallsMs = 2_000;

export function createPatience(now: () => number = () => performance.now()): Patience {
  /** Results of earlier processes may be there. */
  let isUrgent = true;
  let sentAt = -Infinity;
  let hastened = new AbortController();
  return {
    hurry: () => {
      isUrgent = true;
      hastened.abort();
    },
    wait: async (signal) => {
      const leftMs = sentAt + betweenCallsMs - now();
      if (!isUrgent && leftMs > 0 && !signal.aborted) {
        const onAbort = () => hastened.abort();
        signal.addEventListener('abort', onAbort);
        await pause(leftMs, hastened.signal);
        signal.removeEventListener('abort', onAbort);
      }
      isUrgent = false;
      sentAt = now();
      hastened = new AbortController();
    },
  };
}
