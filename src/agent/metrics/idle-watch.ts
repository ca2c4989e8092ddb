/** An agent that has taken no jobs for this long because of its own condition is not ready. */
export const maxIdleMs = 60_000;

/** Notices that the agent itself keeps jobs from being taken: out of memory, or no room for results anywhere. */
export type IdleWatch = {
  /** Called with every check of the guards. `serviceAway` = the cause may be the service, which is not our condition. */
  note: (state: { stopsClaiming: boolean; serviceAway: boolean }) => void;
  takesNoJobs: () => boolean;
};

/** `now`: milliseconds of a monotonic clock. */
export function createIdleWatch(now: () => number): IdleWatch {
  let since: number | null = null;
  return {
    note: ({ stopsClaiming, serviceAway }) => {
      if (!stopsClaiming || serviceAway) since = null;
      else since ??= now();
    },
    takesNoJobs: () => since !== null && now() - since >= maxIdleMs,
  };
}
