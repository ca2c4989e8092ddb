import type { OwnDelay } from '../load/own-delay.ts';
import { ownDelayMs } from './disbelief.ts';

/** The agent has recovered when it is delayed for less than this part of one look. */
const calmPart = 0.1;
const lookMs = 250;
/** An agent that is starved for longer reports what it has. */
const looks = 20;

/**
 * Waits until this process gets its processor time again. Resolves with false if it does not within five seconds.
 * `pause` waits for milliseconds; a rejection of it is passed on.
 */
export async function hasRecovered(
  ownDelay: OwnDelay,
  pause: (milliseconds: number) => Promise<void>,
): Promise<boolean> {
  for (let look = 0; look < looks; look++) {
    const stopwatch = ownDelay.begin(false);
    try {
      await pause(lookMs);
      const delay = stopwatch.read();
      if (ownDelayMs(delay, false) < delay.elapsedMs * calmPart) return true;
    } finally {
      stopwatch.end();
    }
  }
  return false;
}
