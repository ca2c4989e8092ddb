import type { IncidentStatus } from '../status-pages/incident-words.ts';

/** Derives the time span of an incident from its updates. Pure. */

export type Span<Status extends string = IncidentStatus> = {
  startedAt: Date;
  lastUpdateStatus: Status;
  /** Null = not resolved. */
  resolvedAt: Date | null;
};

/**
 * Computes the span from the first update to the resolving one.
 * That is the first RESOLVED update after the last update with another status, so a reopened incident lasts until it
 * is resolved again. `updates`: at least one, oldest first.
 */
export function spanOf<Status extends string>(
  updates: readonly { status: Status; createdAt: Date }[],
): Span<Status> {
  const [first] = updates;
  const last = updates.at(-1);
  if (first === undefined || last === undefined) throw new Error('an incident without an update');
  const open = updates.findLastIndex(({ status }) => status !== 'RESOLVED');
  return {
    startedAt: first.createdAt,
    lastUpdateStatus: last.status,
    resolvedAt: updates[open + 1]?.createdAt ?? null,
  };
}
