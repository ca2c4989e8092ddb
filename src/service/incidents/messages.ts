import type { Background } from '../engine/background.ts';
import type { Queryable } from '../db/database.ts';
import type { IncidentKind } from './update-statements.ts';

/** The queue of updates of incidents that subscribers of status pages are to be told of. */

export const incidentMessagesQueue = 'incident-messages';

export type IncidentMessage = { kind: IncidentKind; updateId: string };

/** Has subscribers told of an update, with the commit of `tx`. */
export async function queueIncidentMessages(
  tx: Queryable,
  background: Background,
  message: IncidentMessage,
): Promise<void> {
  await background.send(tx, incidentMessagesQueue, message);
}
