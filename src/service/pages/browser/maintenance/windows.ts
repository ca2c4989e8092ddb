import { getAll } from '../base/service.ts';

/** Maintenance windows as the public API has them. */

export type Visibility = {
  enabled: boolean;
  affectAllServices: boolean;
  suppressAutoIncidents: boolean;
  notifyOnStart: boolean;
  notifyOnEnd: boolean;
  autoStart: boolean;
  autoEnd: boolean;
  reminderMinutesBefore: number[];
  statusPageIds: string[];
  serviceIds: string[];
};

export type MaintenanceWindow = {
  id: number;
  name: string;
  description: string | null;
  startsAt: string;
  endsAt: string;
  timezone: string;
  repeatInterval: number | null;
  repeatUnit: 'DAY' | 'WEEK' | 'MONTH' | null;
  repeatEndsAt: string | null;
  pauseAllChecks: boolean;
  tags: string[];
  silenceAllAlerts: boolean;
  silenceAlertsTags: string[];
  statusPageVisibility: Visibility;
};

export const occurrenceWords = {
  SCHEDULED: 'scheduled',
  IN_PROGRESS: 'in progress',
  VERIFYING: 'verifying',
  COMPLETED: 'completed',
  CANCELLED: 'cancelled',
} as const;
export type OccurrenceStatus = keyof typeof occurrenceWords;

export type Update = {
  readonly id: string;
  readonly status: OccurrenceStatus;
  readonly description: string;
  readonly created_at: string;
};

export type Occurrence = {
  id: string;
  maintenanceWindowId: number;
  startsAt: string;
  endsAt: string;
  status: OccurrenceStatus;
  updates: readonly Update[];
};

/** Whether nothing can happen to an occurrence any more. */
export const isOver = (status: OccurrenceStatus): boolean => status === 'COMPLETED' || status === 'CANCELLED';

/** All windows of the account, which has at most 500. */
export const allWindows = (signal: AbortSignal): Promise<MaintenanceWindow[]> =>
  getAll<MaintenanceWindow>('/v1/maintenance-windows', signal, 5);

/** `2026-03-04T05:06` on the clocks of a time zone, as a field for times needs it. */
export function localText(at: string, timezone: string): string {
  try {
    const format = new Intl.DateTimeFormat('sv-SE', {
      timeZone: timezone,
      dateStyle: 'short',
      timeStyle: 'short',
    });
    return format.format(new Date(at)).replace(' ', 'T');
  } catch {
    return at.slice(0, 16);
  }
}

const units = { DAY: 'day', WEEK: 'week', MONTH: 'month' } as const;

/** "every 2 weeks", or "once". */
export function repeatText({ repeatInterval, repeatUnit }: MaintenanceWindow): string {
  if (repeatInterval === null || repeatUnit === null) return 'once';
  return repeatInterval === 1
    ? `every ${units[repeatUnit]}`
    : `every ${repeatInterval} ${units[repeatUnit]}s`;
}

/** What it does, in words. */
export function effectsText(window: MaintenanceWindow): string {
  const parts = [
    window.pauseAllChecks
      ? 'pauses all checks'
      : window.tags.length > 0
        ? `pauses checks tagged ${window.tags.join(', ')}`
        : '',
    window.silenceAllAlerts
      ? 'silences all alerts'
      : window.silenceAlertsTags.length > 0
        ? `silences alerts tagged ${window.silenceAlertsTags.join(', ')}`
        : '',
    window.statusPageVisibility.enabled ? 'is shown on status pages' : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'has no effect' : parts.join(', ');
}
