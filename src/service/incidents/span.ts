import type { IncidentStatus } from '../status-pages/incident-words.ts';

/** What the updates of an incident say together. Pure. */

export type Span<Status extends string = IncidentStatus> = {
  startedAt: Date;
  lastUpdateStatus: Status;
  /** Null = it is not resolved. */
  resolvedAt: Date | null;
};

/**
 * From the first update to the one that resolved it: of those that say RESOLVED, the first after the last one that says
 * something else, so that an incident which was opened again lasts until it is resolved again. `updates`: at least one,
 * oldest first.
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
