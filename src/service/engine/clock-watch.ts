import { clockSkewMs } from './clock-skew.ts';

/** What a jump of the clock needs: times that were planned by the clock before it are wrong. */
export type ClockRepair = {
  /** The clock was set back: work planned for the near future is far away. */
  back(now: Date): Promise<void>;
  /** The clock was set forward: work seems to be late, although no time has passed. */
  forward(now: Date): Promise<void>;
};

/**
 * Detects, each time it is called, that the clock has jumped, and calls the repair. The first call repairs a clock that
 * was set back, because that may have happened while the service was down. A failed repair is retried at each call.
 * Returns the moment that it has repaired for. `adopted` is the sum of the clock's jumps: a clock that is ahead for another reason has really run that long.
 */
export function createClockWatch(options: {
  now: () => number;
  adopted: () => number;
  repair: ClockRepair;
}): () => Promise<number> {
  const { now, adopted, repair } = options;
  let last = Infinity;
  let known = adopted();
  return async () => {
    const at = now();
    const jumps = adopted();
    if (at < last - clockSkewMs) await repair.back(new Date(at));
    else if (jumps > known + clockSkewMs) await repair.forward(new Date(at));
    last = at;
    known = jumps;
    return at;
  };
}
