import type { Queryable } from '../db/database.ts';
import {
  effectiveEnd,
  findEffectiveWindows,
  recurrenceOf,
  type EffectiveWindow,
} from './effect-statements.ts';
import { occurrenceAt } from './recurrence.ts';

/** The effects of maintenance windows on checks, alerts and incidents at one moment. */
export type MaintenanceEffects = {
  /** Whether a check's scheduled runs are paused. `tags` are the check's and its group's. */
  pauses(tags: readonly string[]): boolean;
  /**
   * Whether a check's notifications are silenced. This includes checks whose scheduled runs are paused, because
   * on-demand runs are still possible.
   */
  silences(tags: readonly string[]): boolean;
  /** Whether alerts open no incidents of this service. */
  suppressesIncidents(serviceId: string): boolean;
};

/** The effects of an account's windows at one moment: one indexed statement for any number of windows. */
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

/** Whether a check's scheduled runs are paused during an occurrence of the window. */
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
