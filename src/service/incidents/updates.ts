import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import { findIncidentUpdates, insertIncidentUpdate } from './update-statements.ts';
import { saveSpan } from './page-statements.ts';
import { uuidv7 } from '../engine/ids.ts';
import { spanOf } from './span.ts';
import { type IncidentStatus } from '../status-pages/incident-words.ts';
import { queueIncidentMessages } from './messages.ts';

/** Updates of service incidents. Each change also updates the incident's own status and times. */

/** Updates of one incident. */
export const maxUpdates = 200;

export type NewUpdate = {
  incidentId: string;
  status: IncidentStatus;
  description: string;
  notifySubscribers: boolean;
  /** Milliseconds since the epoch. */
  now: number;
};

/** Adds an update to a locked incident, queues it for subscribers if requested, and returns its id. */
export async function addUpdate(tx: Db, background: Background, update: NewUpdate): Promise<string> {
  const { now, ...rest } = update;
  const id = uuidv7(now);
  await insertIncidentUpdate(tx, 'status-page', { ...rest, id, createdAt: new Date(now) });
  await refreshSpan(tx, { incidentId: update.incidentId, now });
  if (update.notifySubscribers)
    await queueIncidentMessages(tx, background, { kind: 'status-page', updateId: id });
  return id;
}

/** Call after updates were changed. */
export async function refreshSpan(
  tx: Db,
  { incidentId, now }: { incidentId: string; now: number },
): Promise<void> {
  const updates = await findIncidentUpdates<IncidentStatus>(tx, 'status-page', {
    incidentIds: [incidentId],
  });
  await saveSpan(tx, { id: incidentId, span: spanOf(updates), now: new Date(now) });
}
