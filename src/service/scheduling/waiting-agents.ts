import type { Db } from '../db/database.ts';
import { jobsChannel } from './jobs.ts';

/**
 * Long polls that wait for jobs. A notification names a location and wakes one waiter of each kind there. A kind is a
 * set of agents that support the same types and runtimes, so a second one would find the same jobs. A waiter that
 * leaves jobs behind wakes the next one.
 */
export type Waiting = {
  /** Resolves when there may be jobs, after `timeoutMs`, or when `signal` fires. Never rejects. */
  wait(options: { locationId: string; kind: string; timeoutMs: number; signal: AbortSignal }): Promise<void>;
  /** Wakes the next waiter of that kind, or of every kind. */
  wake(locationId: string, kind?: string): void;
  start(): Promise<void>;
  stop(): Promise<void>;
};

/** `channel`: the source of the notifications. Waiters for other things than jobs pass those as `locationId`. */
export function createWaiting(db: Db, channel = jobsChannel): Waiting {
  const locations = new Map<string, Map<string, Set<() => void>>>();
  let stopListening: () => Promise<void> = () => Promise.resolve();

  function wake(locationId: string, kind?: string): void {
    for (const [name, waiters] of locations.get(locationId) ?? []) {
      if (kind !== undefined && name !== kind) continue;
      const [longest] = waiters; // a Set keeps the order of insertion
      longest?.();
    }
  }

  return {
    wake,
    wait: ({ locationId, kind, timeoutMs, signal }) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const kinds = locations.get(locationId) ?? new Map<string, Set<() => void>>();
        const waiters = kinds.get(kind) ?? new Set<() => void>();
        locations.set(locationId, kinds.set(kind, waiters));
        const done = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          waiters.delete(done);
          if (waiters.size === 0 && kinds.get(kind) === waiters) kinds.delete(kind);
          if (kinds.size === 0 && locations.get(locationId) === kinds) locations.delete(locationId);
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        signal.addEventListener('abort', done);
        waiters.add(done);
      }),
    start: async () => {
      stopListening = await db.listen(channel, (locationId) => wake(locationId));
    },
    stop: () => stopListening(),
  };
}
