import type { AlertIncidents } from '../alerting/raise-alerts.ts';
import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import {
  insertStatusPageIncident,
  lockFollowingIncident,
  setIncidentServices,
  unfollowCheck,
} from './page-statements.ts';
import { shareLockServices } from '../status-pages/service-statements.ts';
import { uuidPattern, uuidv7 } from '../engine/ids.ts';
import { incidentSeverities, type IncidentSeverity } from '../status-pages/incident-words.ts';
import { addUpdate } from './updates.ts';

/** Incidents that alerts open and recoveries resolve, one for each time that a check fails. */

/** Severity if the check sets none. */
const defaultSeverity: IncidentSeverity = 'MAJOR';
const resolvedText = 'The problem is resolved.';

type Opening = {
  accountId: string;
  checkId: string;
  alertId: string;
  /** The check's triggerIncident, as stored. */
  trigger: { serviceId: string } & { readonly [field: string]: unknown };
  /** Milliseconds since the epoch. */
  now: number;
};

/**
 * Opens the incident of a failing check. Has no effect if the check has an open incident or its service was deleted.
 * The caller has checked for maintenance windows that suppress incidents.
 */
export async function openTriggeredIncident(tx: Db, background: Background, opening: Opening): Promise<void> {
  const { accountId, checkId, alertId, trigger, now } = opening;
  const { serviceId } = trigger;
  if (!uuidPattern.test(serviceId)) return;
  const former = await lockFollowingIncident(tx, checkId);
  if (former !== undefined) {
    if (former.resolvedAt === null || former.alertId === alertId) return;
    // A person resolved the former incident. The check fails again without having recovered, so it gets a new incident.
    await unfollowCheck(tx, former.id);
  }
  if ((await shareLockServices(tx, { accountId, ids: [serviceId] })).length === 0) return;
  const id = uuidv7(now);
  const name = textOf(trigger['name']) ?? 'Incident';
  const notifySubscribers = trigger['notifySubscribers'] === true;
  const status = 'INVESTIGATING';
  const opened = await insertStatusPageIncident(tx, {
    id,
    accountId,
    name,
    severity: incidentSeverities.find((severity) => severity === trigger['severity']) ?? defaultSeverity,
    status,
    alertId,
    followedCheckId: checkId,
    notifySubscribers,
    now: new Date(now),
  });
  if (!opened) return;
  await setIncidentServices(tx, { incidentId: id, serviceIds: [serviceId] });
  const description = textOf(trigger['description']) ?? name;
  await addUpdate(tx, background, { incidentId: id, status, description, notifySubscribers, now });
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** Resolves the incident that a check's alert opened. Has no effect if there is none or a person has resolved it. */
export async function resolveTriggeredIncident(
  tx: Db,
  background: Background,
  { checkId, now }: { accountId: string; checkId: string; now: number },
): Promise<void> {
  const incident = await lockFollowingIncident(tx, checkId);
  if (incident === undefined) return;
  await unfollowCheck(tx, incident.id);
  if (incident.resolvedAt !== null) return;
  await addUpdate(tx, background, {
    incidentId: incident.id,
    status: 'RESOLVED',
    description: resolvedText,
    notifySubscribers: incident.notifySubscribers,
    now,
  });
}

/** Implements the interface that alerting expects. */
export function triggeredIncidents(background: Background): AlertIncidents {
  return {
    opened: (tx, opening) => openTriggeredIncident(tx, background, opening),
    resolved: (tx, ending) => resolveTriggeredIncident(tx, background, ending),
  };
}
