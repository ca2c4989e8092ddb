import type { Background } from '../engine/background.ts';
import type { Queryable } from '../db/database.ts';
import type { IncidentKind } from './update-statements.ts';

/** The queue of incident updates that are sent to subscribers of status pages. */

export const incidentMessagesQueue = 'incident-messages';

export type IncidentMessage = { kind: IncidentKind; updateId: string };

/** Queues an update for subscribers, with the commit of `tx`. */
export async function queueIncidentMessages(
  tx: Queryable,
  background: Background,
  message: IncidentMessage,
): Promise<void> {
  await background.send(tx, incidentMessagesQueue, message);
}
