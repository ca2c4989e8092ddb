import type { Session } from '../link/session.ts';
import type { KeptFacts } from './kept.ts';

/** The service's clock, by which held checks are due. It runs with this machine's monotonic one between two hellos. */
export type Moments = {
  now: () => number;
  /** This machine's clock minus the service's. */
  skewMs: () => number;
  /** Takes the skew that an earlier process has measured, until the first hello. */
  restore: (kept: Pick<KeptFacts, 'skewMs' | 'heardAt'>) => void;
};

/** `now`: this machine's clock. */
export function createMoments({ session, now }: { session: Session; now: () => number }): Moments {
  let earlierMs = 0;
  const skewMs = () => session.clockSkewMs() ?? earlierMs;
  return {
    now: () => Math.floor(now() - skewMs()),
    skewMs,
    /**
     * The clock may have been set since, but one that was wrong while the agent ran is mostly wrong still: whatever keeps clocks
     * right does not work there. If the skew is used wrongly, runs are early or late by it; without it, a wrong clock has the same
     * effect. Only time that went back shows that the clock was set.
     */
    restore: (kept) => {
      if (kept.skewMs === null) return;
      earlierMs = now() - kept.skewMs >= kept.heardAt ? kept.skewMs : 0;
    },
  };
}
