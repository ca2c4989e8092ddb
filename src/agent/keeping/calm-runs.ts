/**
 * Which results of held checks may wait for others, because nobody waits for them: a run has passed, and so did the one
 * before. A run that passes after one that did not may end an alert, so its result is sent at once.
 */
export type CalmRuns = {
  /** Notes a result of a check. `hasPassed`: it is final, and the run has passed. Returns whether it may wait. */
  note: (checkId: string, hasPassed: boolean) => boolean;
};

/** More checks than an agent holds; some of those that are noted have been deleted. */
const most = 100_000;

export function createCalmRuns(): CalmRuns {
  /**
   * Checks whose last result was not a pass. After a restart none are known, nor are they of a check that another agent held:
   * to send the first result of each at once would be thousands of calls when an agent starts.
   */
  const troubled = new Set<string>();
  return {
    note: (checkId, hasPassed) => {
      if (hasPassed) return !troubled.delete(checkId);
      if (troubled.size >= most) troubled.clear();
      troubled.add(checkId);
      return false;
    },
  };
}
