import type { Queryable } from '../db/database.ts';
import {
  effectiveEnd,
  findEffectiveWindows,
  recurrenceOf,
  type EffectiveWindow,
} from './effect-statements.ts';
import { occurrenceAt } from './recurrence.ts';

/** What maintenance windows do to checks, alerts and incidents at a moment. */
export type MaintenanceEffects = {
  /** No scheduled runs of a check; `tags` are the check's and its group's. */
  pauses(tags: readonly string[]): boolean;
  /** No notifications of a check: also where its scheduled runs are paused, since others may still be made. */
  silences(tags: readonly string[]): boolean;
  /** No incident of this service is opened by an alert. */
  suppressesIncidents(serviceId: string): boolean;
};

/** The windows of an account at a moment: one statement, of an index, whatever the account has. */
export async function maintenanceAt(
  tx: Queryable,
  { accountId, at }: { accountId: string; at: Date },
): Promise<MaintenanceEffects> {
  return maintenanceOf(
    await findEffectiveWindows(tx, { accountIds: [accountId], from: at, to: at }),
    at.getTime(),
  );
}

const share = (some: readonly string[], others: readonly string[]) =>
  some.some((tag) => others.includes(tag));

/** Whether its scheduled runs are paused while an occurrence of the window goes on. */
export function pausesCheck(
  { pauseAllChecks, tags }: Pick<EffectiveWindow, 'pauseAllChecks' | 'tags'>,
  tagsOfCheck: readonly string[],
): boolean {
  return pauseAllChecks || share(tags, tagsOfCheck);
}

function maintenanceOf(windows: readonly EffectiveWindow[], at: number): MaintenanceEffects {
  const open = windows.filter((window) => {
    const current = occurrenceAt(recurrenceOf(window), at);
    return current !== null && at < effectiveEnd(window, current);
  });
  const pauses = (tags: readonly string[]) => open.some((window) => pausesCheck(window, tags));
  return {
    pauses,
    silences: (tags) =>
      open.some((window) => window.silenceAllAlerts || share(window.silenceAlertsTags, tags)) || pauses(tags),
    suppressesIncidents: (serviceId) =>
      open.some(
        ({ statusPageVisibility: { enabled, suppressAutoIncidents, affectAllServices, serviceIds } }) => {
          return enabled && suppressAutoIncidents && (affectAllServices || serviceIds.includes(serviceId));
        },
      ),
  };
}
