/**
 * How far back a loop looks for its work. Rows that are done with stay in the database's index until it is cleaned, which a transaction
 * that is open for long prevents: a look from the beginning passes all of them each time. So most looks begin where work is new.
 */
export type Looks = {
  /**
   * Looks. `isFull` = from the beginning: the first one, one every five seconds, and the one after `again` or after a full one that
   * failed.
   */
  look: <T>(run: (isFull: boolean) => Promise<T>) => Promise<T>;
  /** The next look is a full one. */
  again: () => void;
};

const betweenFullMs = 5_000;

/** Creates the state of one loop. `now` is milliseconds since the epoch; a clock that is set back makes the next look a full one. */
export function createLooks(now: () => number): Looks {
  let fullAt = -Infinity;
  return {
    look: async (run) => {
      const at = now();
      const isFull = Math.abs(at - fullAt) >= betweenFullMs;
      if (isFull) fullAt = at;
      try {
        return await run(isFull);
      } catch (error) {
        if (isFull) fullAt = -Infinity;
        throw error;
      }
    },
    again: () => {
      fullAt = -Infinity;
    },
  };
}
