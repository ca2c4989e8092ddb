import { protocolLimits } from '../../protocol/agent-calls.ts';

/** When the agent last heard of the service, and whether it may run the checks that it holds. */
export type Contact = {
  /** The service has answered a call of any kind. */
  heard: () => void;
  /**
   * It has renewed the held checks. Returns whether the agent had stopped: it may have missed what has changed, so it remains
   * stopped until the last part of the changes (`isComplete`).
   */
  renewed: (isComplete?: boolean) => boolean;
  /** Once it is false, it stays so until the next renewal. */
  mayRun: () => boolean;
  /** It has not heard of the service for longer than a lease lasts, or not at all, and may run checks of others. */
  isLost: () => boolean;
  /** By the service's clock. */
  heardAt: () => number;
  /** Of an earlier process. */
  restore: (heardAt: number) => void;
};

const leaseMs = protocolLimits.leaseSeconds * 1000;

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
    isLost: () => heardAt === -Infinity || (now() - heardAt > leaseMs && mayRun()),
    heard: () => {
      if (mayRun()) heardAt = now();
    },
    renewed: (isComplete = true) => {
      const had = !mayRun();
      // Before the first renewal nothing is held that may be another agent's by now.
      if (isComplete || heardAt === -Infinity) hasStopped = false;
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
