import type { Cause } from './facts.ts';

/** A failure of this host's own network, on one route or of the resolver. */
export type Trouble = {
  cause: Cause;
  summary: string;
  /** First and latest time at which it was seen, milliseconds since the epoch. */
  since: number;
  seenAt: number;
  /** When something answered on the same route again; null = nothing has. */
  overAt: number | null;
};

/** The failures of the own network that are known, by the key of their route (`resolver` for names). */
export type Troubles = {
  seen: (key: string, trouble: { cause: Cause; summary: string; at: number }) => void;
  /** Something answered at a time: the trouble of this route is over. Cheap if there is none. */
  over: (key: string, at: number) => void;
  isEmpty: () => boolean;
  /** The trouble of a route that an attempt overlapped with; null if it did not. */
  during: (key: string, attempt: { startedAt: number; endedAt: number }) => Trouble | null;
  /** The trouble of a route that lasts at this time; null = none is known. */
  lasting: (key: string, at: number) => Trouble | null;
  /** The trouble that lasts at this time, the latest first; null = none is known. */
  current: (at: number) => Trouble | null;
};

/** Between two sightings, and after the last one, trouble counts as lasting for this time, unless something answers. Milliseconds. */
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
      const continues = known !== undefined && known.overAt === null && at - known.seenAt <= lastsMs;
      troubles.delete(key);
      troubles.set(key, { cause, summary, since: continues ? known.since : at, seenAt: at, overAt: null });
      for (const [old, trouble] of troubles) {
        if (troubles.size > maxTroubles || at - trouble.seenAt > keptMs) troubles.delete(old);
      }
    },
    over: (key, at) => {
      const known = troubles.get(key);
      if (known !== undefined) known.overAt ??= at;
    },
    isEmpty: () => troubles.size === 0,
    during: (key, { startedAt, endedAt }) => {
      const known = troubles.get(key);
      if (known === undefined) return null;
      // An attempt that began before anything answered has sent into the trouble, however long ago it was seen.
      const until = Math.max(known.seenAt + repeatMs, known.overAt ?? 0);
      return startedAt <= until && endedAt >= known.since ? known : null;
    },
    lasting: (key, at) => {
      const known = troubles.get(key);
      return known !== undefined && isLasting(known, at) ? known : null;
    },
    current: (at) => [...troubles.values()].findLast((trouble) => isLasting(trouble, at)) ?? null,
  };
}

function isLasting({ overAt, seenAt }: Trouble, at: number): boolean {
  return overAt === null && at - seenAt <= lastsMs;
}
