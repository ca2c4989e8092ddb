/** When the agent last heard of the service, and whether it may run the checks that it holds. */
export type Contact = {
  /** The service has answered a call of any kind. */
  heard: () => void;
  /** It has renewed the held checks. Returns whether the agent had stopped: it may have missed what has changed. */
  renewed: () => boolean;
  /** Whether it has heard of the service lately enough. Once it is false, it stays so until the next renewal. */
  isInTouch: () => boolean;
  mayRun: () => boolean;
  /** By the service's clock. */
  heardAt: () => number;
  /** Of an earlier process. */
  restore: (heardAt: number) => void;
  /** Nothing runs until the service has listed what is held, but for a moment only. */
  askFirst: () => void;
  /** A part of such a list has come. */
  listed: (part: { isFirst: boolean; hasMore: boolean }) => void;
};

/** What an earlier process held may have changed since it ended: so long the service is asked before anything runs. */
const askFirstMs = 2_000;

/** `limitMs`: how long the agent runs checks without the service. */
export function createContact({ now, limitMs }: { now: () => number; limitMs: () => number }): Contact {
  let heardAt = -Infinity;
  let hasStopped = false;
  /** By the monotonic clock. */
  let askingUntil = -Infinity;
  /** The service has begun to send a complete list. Until then, an answer says nothing about the checks. */
  let isListing = false;
  const isInTouch = (): boolean => {
    hasStopped ||= now() - heardAt > limitMs();
    return !hasStopped;
  };
  return {
    isInTouch,
    mayRun: () => isInTouch() && performance.now() >= askingUntil,
    heard: () => {
      if (isInTouch()) heardAt = now();
    },
    renewed: () => {
      const had = !isInTouch();
      hasStopped = false;
      heardAt = now();
      return had;
    },
    heardAt: () => heardAt,
    restore: (at) => {
      heardAt = at;
      hasStopped = false;
    },
    askFirst: () => void (askingUntil = performance.now() + askFirstMs),
    listed: ({ isFirst, hasMore }) => {
      isListing ||= isFirst;
      if (isListing && !hasMore) askingUntil = -Infinity;
    },
  };
}
