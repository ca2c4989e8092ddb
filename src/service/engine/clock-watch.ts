import { clockSkewMs } from './clock-skew.ts';

/**
 * Notices, each time it is called, that the clock was set back: what waits for a moment that was meant to be near now waits for long,
 * and `repair` has it come in time again; with the first call, too, as it may have been set back while nobody was there. While that
 * fails it is tried at each call.
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
