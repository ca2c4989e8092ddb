import { clockSkewMs } from './clock-skew.ts';

/**
 * Detects, each time it is called, that the clock was set back. Work planned for the near future is then far away,
 * and `repair` brings it forward. The first call repairs too, because the clock may have been set back while the
 * service was down. A failed repair is retried at each call.
 */
export function createClockWatch(
  now: () => number,
  repair: (now: Date) => Promise<void>,
): () => Promise<void> {
  let last = Infinity;
  return async () => {
    const at = now();
    if (at < last - clockSkewMs) await repair(new Date(at));
    last = at;
  };
}
