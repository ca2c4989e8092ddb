import type { Db } from '../db/database.ts';
import { recurrenceOf } from './effect-statements.ts';
import type { MaintenanceWindowRow } from './statements.ts';
import {
  deleteMaintenance,
  findOpenMaintenances,
  insertMaintenanceUpdate,
  saveMaintenance,
} from './occurrence-statements.ts';
import { uuidv7 } from '../engine/ids.ts';
import { occurrenceBeginning } from './recurrence.ts';
import { hasBegun } from './status.ts';

/**
 * Updates records after a change of a window. Occurrences that still exist get their new ends. Records of occurrences
 * that no longer exist are deleted, unless they had begun; those are cancelled.
 */
export async function reviseMaintenances(
  tx: Db,
  { window, now }: { window: MaintenanceWindowRow; now: number },
): Promise<void> {
  const recurrence = recurrenceOf(window);
  const at = new Date(now);
  for (const record of await findOpenMaintenances(tx, { windowId: window.id, now: at })) {
    const occurrence = occurrenceBeginning(recurrence, record.startsAt.getTime());
    if (occurrence !== null) {
      await saveMaintenance(tx, { ...record, endsAt: new Date(occurrence.endsAt) });
    } else if (record.endedAt === null && hasBegun(record.status)) {
      await saveMaintenance(tx, { ...record, status: 'CANCELLED', endedAt: at });
      await insertMaintenanceUpdate(tx, {
        id: uuidv7(now),
        windowId: window.id,
        startsAt: record.startsAt,
        status: 'CANCELLED',
        description: 'The maintenance window has been given other times.',
        createdAt: at,
      });
    } else {
      await deleteMaintenance(tx, record);
    }
  }
}
