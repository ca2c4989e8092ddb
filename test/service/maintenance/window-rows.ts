import type { Db } from '../../../src/service/db/database.ts';
import type { StatusPageVisibility } from '../../../src/service/maintenance/effect-statements.ts';
import { recurrenceOf } from '../../../src/service/maintenance/effect-statements.ts';
import {
  insertMaintenanceWindow,
  type MaintenanceWindowWrite,
} from '../../../src/service/maintenance/statements.ts';
import { overAt } from '../../../src/service/maintenance/recurrence.ts';

/** Windows in the database, as the API would store them. */

export const hidden: StatusPageVisibility = {
  enabled: false,
  affectAllServices: false,
  suppressAutoIncidents: false,
  notifyOnStart: false,
  notifyOnEnd: false,
  autoStart: true,
  autoEnd: true,
  reminderMinutesBefore: [],
  statusPageIds: [],
  serviceIds: [],
};

type Fields = Partial<
  Omit<MaintenanceWindowWrite, 'startsAt' | 'endsAt' | 'repeatEndsAt' | 'statusPageVisibility'>
> & {
  startsAt: string;
  endsAt: string;
  statusPageVisibility?: Partial<StatusPageVisibility>;
};

/** Its id. */
export async function addWindow(
  db: Db,
  accountId: string,
  { now, ...fields }: Fields & { now: number },
): Promise<number> {
  const window: MaintenanceWindowWrite = {
    name: 'Upgrade',
    description: null,
    timezone: 'UTC',
    repeatInterval: null,
    repeatUnit: null,
    repeatEndsAt: null,
    overAt: null,
    pauseAllChecks: false,
    tags: [],
    silenceAllAlerts: false,
    silenceAlertsTags: [],
    ...fields,
    startsAt: new Date(fields.startsAt),
    endsAt: new Date(fields.endsAt),
    statusPageVisibility: { ...hidden, ...fields.statusPageVisibility },
  };
  const over = overAt(recurrenceOf(window));
  return insertMaintenanceWindow(db, {
    accountId,
    window: { ...window, overAt: over === null ? null : new Date(over) },
    now: new Date(now),
  });
}
