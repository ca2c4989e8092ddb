/** Limits the calls (or bytes) of one name per minute within this replica. Memory is limited for any input. */
export type CallLimit = {
  /** Counts `amount` (default 1); false = the limit is exceeded. */
  take(name: string, amount?: number): boolean;
  /** Whether nothing is left for the name. */
  isReached(name: string): boolean;
  /** Whole seconds until counting restarts, at least 1. */
  secondsLeft(): number;
};

const windowMs = 60_000;
const maxNames = 50_000;

/** Creates the limit. Counting restarts every minute, and earlier if there are too many names. */
export function createCallLimit({ perMinute, now }: { perMinute: number; now: () => number }): CallLimit {
  let windowFrom = now();
  let used = new Map<string, number>();
  const usedNow = () => {
    const time = now();
    if (time - windowFrom >= windowMs || time < windowFrom || used.size >= maxNames) {
      windowFrom = time;
      used = new Map();
    }
    return used;
  };
  return {
    take: (name, amount = 1) => {
      const counts = usedNow();
      const count = (counts.get(name) ?? 0) + amount;
      counts.set(name, count);
      return count <= perMinute;
    },
    isReached: (name) => (usedNow().get(name) ?? 0) >= perMinute,
    secondsLeft: () => Math.max(1, Math.ceil((windowFrom + windowMs - now()) / 1000)),
  };
}
