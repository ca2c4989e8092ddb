/** Calls of one name within this replica, at most so many in a minute; memory is bounded whatever is asked. */
export type CallLimit = {
  /** Counts a call; false = there were too many. */
  take(name: string): boolean;
};

const windowMs = 60_000;
const mostNames = 50_000;

export function createCallLimit({ perMinute, now }: { perMinute: number; now: () => number }): CallLimit {
  let windowFrom = now();
  let calls = new Map<string, number>();
  return {
    take: (name) => {
      const time = now();
      if (time - windowFrom >= windowMs || time < windowFrom || calls.size >= mostNames) {
        windowFrom = time;
        calls = new Map();
      }
      const count = (calls.get(name) ?? 0) + 1;
      calls.set(name, count);
      return count <= perMinute;
    },
  };
}
