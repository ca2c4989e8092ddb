import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import { insertIncidentUpdate, type IncidentUpdateRow } from './update-statements.ts';
import { updateIncident, type IncidentRow } from './statements.ts';
import { uuidv7 } from '../engine/ids.ts';
import { queueIncidentMessages } from './messages.ts';
import type { DashboardStatus } from '../status-pages/incident-words.ts';

/**
 * Updates of dashboard incidents: an update with the status RESOLVED stops the incident, a later one starts it again.
 */

/**
 * Computes when the incident stops, given the status of its last update. That is at the resolving update or earlier;
 * null if it was resolved before and has been reopened.
 */
export function stoppedAt(
  incident: Pick<IncidentRow, 'stoppedAt' | 'startedAt'>,
  { former, status, at }: { former: DashboardStatus | null; status: DashboardStatus; at: Date },
): Date | null {
  const { stoppedAt: planned, startedAt } = incident;
  if (status === 'RESOLVED') {
    if (planned !== null && planned <= at) return planned;
    return at < startedAt ? startedAt : at;
  }
  return former === 'RESOLVED' ? null : planned;
}

/**
 * Adds an update to a locked incident and returns its id. `updates`: the existing ones, oldest first; `now`:
 * milliseconds.
 */
export async function addDashboardUpdate(
  tx: Db,
  background: Background,
  options: {
    incident: IncidentRow;
    updates: readonly IncidentUpdateRow<DashboardStatus>[];
    update: { status: DashboardStatus; description: string; notifySubscribers: boolean };
    now: number;
  },
): Promise<string> {
  const { incident, updates, update, now } = options;
  const { status, description, notifySubscribers } = update;
  const id = uuidv7(now);
  const at = new Date(now);
  await insertIncidentUpdate(tx, 'dashboard', {
    id,
    incidentId: incident.id,
    status,
    description,
    notifySubscribers,
    createdAt: at,
  });
  const former = updates.at(-1)?.status ?? null;
  await updateIncident(tx, { ...incident, stoppedAt: stoppedAt(incident, { former, status, at }), now: at });
  if (notifySubscribers) await queueIncidentMessages(tx, background, { kind: 'dashboard', updateId: id });
  return id;
}
