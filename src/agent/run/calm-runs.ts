import type { Result } from '../../protocol/result.ts';

/** Which runs of held checks nobody waits for: they pass, and so did the run before. */
export type CalmRuns = {
  /** Whether this result can wait for others. Call it once for each final result of a check, in their order. */
  canWait: (result: Pick<Result, 'checkId' | 'status'>) => boolean;
};

/** More checks than this in trouble are not remembered: an agent holds fewer. */
const mostTroubled = 100_000;

export function createCalmRuns(): CalmRuns {
  const troubled = new Set<string>();
  return {
    canWait: ({ checkId, status }) => {
      if (status === 'passed') return !troubled.delete(checkId);
      if (troubled.size < mostTroubled) troubled.add(checkId);
      return false;
    },
  };
}
