import type { Cause } from './facts.ts';

/** A failure of this host's own network, on one route or of the resolver. */
export type Trouble = {
  cause: Cause;
  summary: string;
  /** First and latest time at which it was seen, milliseconds since the epoch. */
  since: number;
  seenAt: number;
  /** Something has answered on the same route since. */
  isOver: boolean;
};

/** The failures of the own network that are known, by the key of their route (`resolver` for names). */
export type Troubles = {
  seen: (key: string, trouble: { cause: Cause; summary: string; at: number }) => void;
  /** Something answered: the trouble of this route is over. Cheap if there is none. */
  over: (key: string) => void;
  isEmpty: () => boolean;
  /** The trouble of a route that an attempt overlapped with; null if it did not. */
  during: (key: string, attempt: { startedAt: number; endedAt: number }) => Trouble | null;
  /** The trouble that lasts at this time, the latest first; null = none is known. */
  current: (at: number) => Trouble | null;
};

/** Between two sightings, and after the last one, trouble counts as lasting for this time. Milliseconds. */
const lastsMs = 90_000;
/** Packets that were lost before the network returned are repeated by the system after up to this time. */
const repeatMs = 2000;
const keptMs = 10 * 60_000;
const maxTroubles = 64;

/** Creates an empty list. */
export function createTroubles(): Troubles {
  const troubles = new Map<string, Trouble>();
  return {
    seen: (key, { cause, summary, at }) => {
      const known = troubles.get(key);
      const continues = known !== undefined && !known.isOver && at - known.seenAt <= lastsMs;
      troubles.delete(key);
      troubles.set(key, { cause, summary, since: continues ? known.since : at, seenAt: at, isOver: false });
      for (const [old, trouble] of troubles) {
        if (troubles.size > maxTroubles || at - trouble.seenAt > keptMs) troubles.delete(old);
      }
    },
    over: (key) => {
      const known = troubles.get(key);
      if (known !== undefined) known.isOver = true;
    },
    isEmpty: () => troubles.size === 0,
    during: (key, { startedAt, endedAt }) => {
      const known = troubles.get(key);
      if (known === undefined) return null;
      return startedAt <= known.seenAt + repeatMs && endedAt >= known.since ? known : null;
    },
    current: (at) => {
      const lasting = [...troubles.values()].filter(
        ({ isOver, seenAt }) => !isOver && at - seenAt <= lastsMs,
      );
      return lasting.at(-1) ?? null;
    },
  };
}
