/** Limits concurrent calls. Further calls wait for a place. */
export type Places = {
  /** Rejects with `signal.reason` if it fires before there is a place. */
  within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
};

/** Allows `max` calls at the same time. */
export function createPlaces(max: number): Places {
  let taken = 0;
  const waiting = new Set<() => void>();

  async function enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (taken < max) {
      taken++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        waiting.delete(go);
        reject(signal.reason as Error); // as throwIfAborted does
      };
      // The place passes to the next call, so `taken` does not change.
      const go = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      waiting.add(go);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  function leave(): void {
    const [next] = waiting; // a Set keeps the order of insertion
    if (next === undefined) {
      taken--;
      return;
    }
    waiting.delete(next);
    next();
  }

  return {
    within: async (signal, work) => {
      await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
