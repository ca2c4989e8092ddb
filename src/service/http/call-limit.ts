/** Limits the calls of one name per minute within this replica. Memory is limited for any input. */
export type CallLimit = {
  /** Counts a call; false = the limit is exceeded. */
  take(name: string): boolean;
};

const windowMs = 60_000;
const maxNames = 50_000;

/** Creates the limit. Counting restarts every minute, and earlier if there are too many names. */
export function createCallLimit({ perMinute, now }: { perMinute: number; now: () => number }): CallLimit {
  let windowFrom = now();
  let calls = new Map<string, number>();
  return {
    take: (name) => {
      const time = now();
      if (time - windowFrom >= windowMs || time < windowFrom || calls.size >= maxNames) {
        windowFrom = time;
        calls = new Map();
      }
      const count = (calls.get(name) ?? 0) + 1;
      calls.set(name, count);
      return count <= perMinute;
    },
  };
}
