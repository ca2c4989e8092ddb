/** When the agent last heard of the service, and whether it may run the checks that it holds. */
export type Contact = {
  /** The service has answered a call of any kind. */
  heard: () => void;
  /** It has renewed the held checks. Returns whether the agent had stopped: it may have missed what has changed. */
  renewed: () => boolean;
  /** Once it is false, it stays so until the next renewal. */
  mayRun: () => boolean;
  /** By the service's clock. */
  heardAt: () => number;
  /** Of an earlier process. */
  restore: (heardAt: number) => void;
};

/** `limitMs`: how long the agent runs checks without the service. */
export function createContact({ now, limitMs }: { now: () => number; limitMs: () => number }): Contact {
  let heardAt = -Infinity;
  let hasStopped = false;
  const mayRun = (): boolean => {
    hasStopped ||= now() - heardAt > limitMs();
    return !hasStopped;
  };
  return {
    mayRun,
    heard: () => {
      if (mayRun()) heardAt = now();
    },
    renewed: () => {
      const had = !mayRun();
      hasStopped = false;
      heardAt = now();
      return had;
    },
    heardAt: () => heardAt,
    restore: (at) => {
      heardAt = at;
      hasStopped = false;
    },
  };
}
