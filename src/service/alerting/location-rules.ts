/**
 * When a location's own network counts as failed, and when it works again. Pure. Times are milliseconds since the
 * epoch.
 */

/** What is known about a location's network. */
export type LocationNetwork = {
  /** Start of the first spoiled run of the present trouble; null = none. */
  since: number | null;
  /** Start of the latest spoiled run. */
  lastSeenAt: number;
  /** Start of the run that ended the latest trouble; null = there was none. */
  endedAt: number | null;
  /** Checks whose latest run here was spoiled, and when it started. */
  pending: Readonly<Record<string, number>>;
};

/** A finished run at the location: `spoiled` by the agent's own network, or `measured` (not errored). */
export type LocationRun = { kind: 'spoiled' | 'measured'; checkId: string; at: number };

export type LocationStep = { state: LocationNetwork; change: 'begun' | 'ended' | null };

/**
 * The trouble ends no sooner than this after the latest spoiled run, so that several agents, of which one is in trouble,
 * do not end and begin it in turns.
 */
const quietMs = 60_000;
/** A check that runs less often than this does not keep the trouble open. */
const pendingMs = 15 * 60_000;
const maxPending = 1000;

/** The state after a run. Runs may arrive late and in any order. */
export function followLocation(state: LocationNetwork, { kind, checkId, at }: LocationRun): LocationStep {
  if (kind === 'spoiled') return spoiled(state, checkId, at);
  if (state.since === null || at <= (state.pending[checkId] ?? 0)) return { state, change: null };
  const pending = Object.fromEntries(
    Object.entries(state.pending).filter(([id, seenAt]) => id !== checkId && seenAt > at - pendingMs),
  );
  const isOver = Object.keys(pending).length === 0 && at > state.lastSeenAt + quietMs;
  return isOver
    ? { state: { since: null, lastSeenAt: state.lastSeenAt, endedAt: at, pending: {} }, change: 'ended' }
    : { state: { ...state, pending }, change: null };
}

function spoiled(state: LocationNetwork, checkId: string, at: number): LocationStep {
  // A late result of trouble that is over.
  if (state.since === null && state.endedAt !== null && at <= state.endedAt) return { state, change: null };
  const isFull = Object.keys(state.pending).length >= maxPending && !(checkId in state.pending);
  const pending = isFull
    ? state.pending
    : { ...state.pending, [checkId]: Math.max(at, state.pending[checkId] ?? 0) };
  return {
    state: {
      since: state.since ?? at,
      lastSeenAt: Math.max(at, state.lastSeenAt),
      endedAt: state.endedAt,
      pending,
    },
    change: state.since === null ? 'begun' : null,
  };
}
