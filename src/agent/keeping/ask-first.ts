/** What an earlier process held may have changed since it ended, so the service is asked before anything of it runs. */
export type AskFirst = {
  /** The checks of an earlier process have been restored. */
  begin: () => void;
  /** Another part of an answer has been taken. Only a complete list says something about all checks. */
  heard: (answer: { isFirst: boolean; hasMore: boolean }) => void;
  /** A complete list is being received. */
  isListing: () => boolean;
  /** Nothing may run yet. */
  isAsking: () => boolean;
};

/** Without an answer the checks run: the service may be away. */
const patienceMs = 2_000;

/** `now`: milliseconds of a monotonic clock. */
export function createAskFirst(now: () => number = () => performance.now()): AskFirst {
  let until = -Infinity;
  let isListing = false;
  return {
    begin: () => {
      until = now() + patienceMs;
    },
    heard: ({ isFirst, hasMore }) => {
      isListing ||= isFirst;
      if (!isListing || hasMore) return;
      isListing = false;
      until = -Infinity;
    },
    isListing: () => isListing,
    isAsking: () => now() < until,
  };
}
