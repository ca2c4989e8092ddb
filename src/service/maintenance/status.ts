import type { StatusPageVisibility } from './effect-statements.ts';
import type { Occurrence } from './recurrence.ts';

/** The status of one occurrence of a window (a maintenance): pure rules. */

export const maintenanceStatuses = [
  'SCHEDULED',
  'IN_PROGRESS',
  'VERIFYING',
  'COMPLETED',
  'CANCELLED',
] as const;
export type MaintenanceStatus = (typeof maintenanceStatuses)[number];

/** A maintenance never goes back: one that has begun is never scheduled again, and one that is over stays over. */
const following: { readonly [S in MaintenanceStatus]: readonly MaintenanceStatus[] } = {
  SCHEDULED: ['IN_PROGRESS', 'VERIFYING', 'COMPLETED', 'CANCELLED'],
  IN_PROGRESS: ['VERIFYING', 'COMPLETED', 'CANCELLED'],
  VERIFYING: ['IN_PROGRESS', 'COMPLETED', 'CANCELLED'],
  COMPLETED: [],
  CANCELLED: [],
};

export const isOver = (status: MaintenanceStatus): boolean => following[status].length === 0;
export const hasBegun = (status: MaintenanceStatus): boolean =>
  status === 'IN_PROGRESS' || status === 'VERIFYING';

/** Whether it may change to `to`. A further update with the same status is allowed. */
export function mayBecome(from: MaintenanceStatus, to: MaintenanceStatus): boolean {
  return from === to || following[from].includes(to);
}

/** Whether it starts and completes automatically. A window that no status page shows always does. */
export function automatic(
  visibility: Pick<StatusPageVisibility, 'enabled' | 'autoStart' | 'autoEnd'>,
): Pick<StatusPageVisibility, 'autoStart' | 'autoEnd'> {
  return visibility.enabled ? visibility : { autoStart: true, autoEnd: true };
}

/**
 * The status at one moment. The recorded status comes first. Automatic starts and ends count on time, even before
 * they are recorded. An occurrence that was over before the window was created counts as completed.
 */
export function statusAt(
  occurrence: Occurrence,
  options: {
    recorded: MaintenanceStatus | null;
    visibility: Pick<StatusPageVisibility, 'enabled' | 'autoStart' | 'autoEnd'>;
    windowCreatedAt: number;
    now: number;
  },
): MaintenanceStatus {
  const { recorded, visibility, windowCreatedAt, now } = options;
  if (recorded !== null && isOver(recorded)) return recorded;
  const { autoStart, autoEnd } = automatic(visibility);
  if (now >= occurrence.endsAt && (autoEnd || (recorded === null && occurrence.endsAt <= windowCreatedAt))) {
    return 'COMPLETED';
  }
  const status = recorded ?? 'SCHEDULED';
  return status === 'SCHEDULED' && autoStart && now >= occurrence.startsAt ? 'IN_PROGRESS' : status;
}
