import type { Background } from '../engine/background.ts';
import { findAlertResults, type AlertResult } from './result-statements.ts';
import type { AlertSubject, IncidentTrigger } from './state-statements.ts';
import { channelsOf } from '../alert-channels/subscription-statements.ts';
import { insertAlerts, type AlertRow } from './statements.ts';
import type { Db } from '../db/database.ts';
import { queueNotifications } from '../alert-channels/queue.ts';
import { uuidv7Series } from '../engine/ids.ts';
import { receivesAlert, type Policy } from './policy.ts';
import { createSilence, type Silence } from './silence.ts';
import type { RaisedAlert, Step } from './state-machine.ts';

/** Stores alerts, queues a notification for each channel that receives them, and opens or resolves incidents. */

/**
 * Opens and resolves the incidents that checks have set up. Both calls are safe if the incident is already open or
 * resolved.
 */
export type AlertIncidents = {
  opened(
    tx: Db,
    incident: { accountId: string; checkId: string; alertId: string; trigger: IncidentTrigger; now: number },
  ): Promise<void>;
  resolved(tx: Db, incident: { accountId: string; checkId: string; now: number }): Promise<void>;
};

export type AlertingDeps = { background: Background; incidents: AlertIncidents | null };

export type Consequence = Pick<Step, 'alert' | 'incident'> & {
  subject: AlertSubject;
  policy: Policy;
  /** The result that the alert is about, and the locations that had the same outcome. */
  resultId: string | null;
  runLocations: readonly string[];
  /** Time of the run, in milliseconds since the epoch. */
  at: number;
  /** True: the run causes it. False: the time that has passed since then. */
  isOfRun: boolean;
};

/** State that all alerts of one transaction share. */
export type Raising = AlertingDeps & {
  silence: Silence;
  /** Returns ids for alerts, in the order in which they are raised. */
  nextId: () => string;
  /** Milliseconds since the epoch. */
  now: number;
};

/** `now`: milliseconds since the epoch. */
export function createRaising({ background, incidents }: AlertingDeps, now: number): Raising {
  return { background, incidents, now, nextId: uuidv7Series(now), silence: createSilence(now) };
}

/** Raises alerts in the order of `consequences`. */
export async function raiseAlerts(
  tx: Db,
  raising: Raising,
  consequences: readonly Consequence[],
): Promise<void> {
  const { now, silence, incidents } = raising;
  const results = await findAlertResults(tx, {
    accountIds: consequences.map(({ subject }) => subject.accountId),
    ids: consequences.flatMap(({ alert, resultId }) =>
      alert === null || resultId === null ? [] : [resultId],
    ),
  });
  const raised = consequences.map((consequence) => {
    const { alert, resultId } = consequence;
    return {
      ...consequence,
      // A silenced reminder is not stored: there may be one each minute.
      row:
        alert === null || (alert.isReminder && alert.silenced)
          ? null
          : rowOf(raising, consequence, alert, results.get(resultId ?? '')),
    };
  });
  await insertAlerts(
    tx,
    raised.flatMap(({ row }) => row ?? []),
  );
  for (const { subject, policy, alert, row, incident } of raised) {
    if (alert !== null && row !== null && !row.silenced)
      await notify(tx, raising, { subject, policy, alert, row });
    if (incident === 'resolve') await incidents?.resolved(tx, { ...named(subject), now });
    if (incident === 'open' && row !== null && (await silence.mayOpenIncident(tx, subject))) {
      const { trigger } = subject;
      if (trigger !== null) await incidents?.opened(tx, { ...named(subject), alertId: row.id, trigger, now });
    }
  }
}

const named = ({ accountId, checkId }: AlertSubject) => ({ accountId, checkId });

async function notify(
  tx: Db,
  { background }: AlertingDeps,
  {
    subject,
    policy,
    alert,
    row,
  }: Pick<Consequence, 'subject' | 'policy'> & { alert: RaisedAlert; row: AlertRow },
): Promise<void> {
  const { groupId, accountId } = subject;
  const channels = await channelsOf(tx, { ...named(subject), groupId, ofGroup: policy.ofGroup });
  const channelIds = channels.filter((channel) => receivesAlert(alert, channel)).map(({ id }) => id);
  await queueNotifications(tx, background, { accountId, channelIds, alertId: row.id });
}

/** The fields of an alert that come from its check and result. */
export function snapshotOf(
  { now, nextId }: Pick<Raising, 'now' | 'nextId'>,
  { subject, resultId, runLocations, at }: Pick<Consequence, 'subject' | 'resultId' | 'runLocations' | 'at'>,
  result: AlertResult | undefined,
): Omit<AlertRow, 'alertType' | 'isReminder' | 'reminderSequence' | 'isLate' | 'silenced'> {
  return {
    id: nextId(),
    accountId: subject.accountId,
    checkId: subject.checkId,
    locationId: null,
    checkName: subject.name,
    checkType: subject.checkType,
    checkDescription: subject.description,
    tags: [...new Set(subject.tags)],
    groupId: subject.groupId,
    groupName: subject.groupName,
    resultId,
    runLocation: result?.runLocation ?? runLocations[0] ?? null,
    runLocationName: result?.runLocationName ?? runLocations[0] ?? null,
    runLocations: [...runLocations],
    responseTime: result?.responseTime ?? null,
    error: result?.error ?? null,
    statusCode: result?.statusCode ?? null,
    statusText: result?.statusText ?? null,
    sslDomain: result?.certificate?.domain ?? null,
    sslDaysRemaining: result?.certificate?.daysRemaining ?? null,
    startedAt: result?.startedAt ?? new Date(at),
    createdAt: new Date(now),
  };
}

function rowOf(
  raising: Raising,
  consequence: Consequence,
  { alertType, isReminder, reminderSequence, silenced }: RaisedAlert,
  result: AlertResult | undefined,
): AlertRow {
  const isLate = consequence.isOfRun && result?.isLate === true;
  const snapshot = snapshotOf(raising, consequence, result);
  return { ...snapshot, alertType, isReminder, reminderSequence, isLate, silenced };
}
