import type { Db } from '../db/database.ts';
import type { Background } from '../engine/background.ts';
import { uuidv7Series } from '../engine/ids.ts';
import { queueNotifications } from '../alert-channels/queue.ts';
import { maintenanceAt } from '../maintenance/effects.ts';
import type { FinishedRun } from '../results/finished-run-statements.ts';
import type { RunFollower } from '../results/finished-runs.ts';
import { followLocation, type LocationRun } from './location-rules.ts';
import {
  channelsOfLocation,
  findReasons,
  lockLocations,
  recoveryChannels,
  saveLocation,
  troubledLocations,
  type LocationSubject,
} from './location-statements.ts';
import { insertAlerts, type AlertRow } from './statements.ts';

/**
 * Raises one alert when the network of a location's agents fails, and one when it works again. The runs that it spoils
 * are errored, so they raise no alerts about checks.
 */

/** Runs of agents that were cut off are followed later than any other. */
const lateAfterMs = 10 * 60_000;

type SeenRun = LocationRun & { accountId: string; slug: string; message: string | null };

/** `now`: milliseconds since the epoch. */
export function createLocationFollower(deps: { background: Background; now: () => number }): RunFollower {
  return async (tx, runs) => {
    const seen = await locationRuns(tx, runs);
    if (seen.length === 0) return;
    const places = new Map(seen.map(({ accountId, slug }) => [`${accountId} ${slug}`, { accountId, slug }]));
    const nextId = uuidv7Series(deps.now());
    for (const subject of await lockLocations(tx, [...places.values()])) {
      const own = seen.filter(
        ({ accountId, slug }) => accountId === subject.accountId && slug === subject.slugName,
      );
      await followOne(tx, { ...deps, nextId }, subject, own);
    }
  };
}

/** The runs that concern a location's network, oldest first. It reads nothing more while all is well. */
async function locationRuns(tx: Db, runs: readonly FinishedRun[]): Promise<SeenRun[]> {
  const parts = runs.flatMap(({ accountId, checkId, parts: own }) =>
    own.map((part) => ({ ...part, accountId, checkId, at: part.startedAt })),
  );
  const errored = parts.filter(({ status }) => status === 'errored');
  const reasons = await findReasons(tx, errored);
  const spoiled = errored.filter(({ resultId }) => reasons.get(resultId)?.code === 'OWN_NETWORK');
  const measured = parts.filter(({ status }) => status !== 'errored');
  const troubled = await troubledLocations(tx, [...new Set(runs.map(({ accountId }) => accountId))]);
  for (const { accountId, runLocation } of spoiled) troubled.add(`${accountId} ${runLocation}`);
  if (troubled.size === 0) return [];
  const seenAs =
    (kind: LocationRun['kind']) =>
    ({ accountId, checkId, runLocation, at, resultId }: (typeof parts)[number]): SeenRun => ({
      kind,
      accountId,
      checkId,
      slug: runLocation,
      at: at.getTime(),
      message: reasons.get(resultId)?.message ?? null,
    });
  return [...spoiled.map(seenAs('spoiled')), ...measured.map(seenAs('measured'))]
    .filter(({ accountId, slug }) => troubled.has(`${accountId} ${slug}`))
    .sort((a, b) => a.at - b.at);
}

type Following = { background: Background; now: () => number; nextId: () => string };

async function followOne(
  tx: Db,
  following: Following,
  subject: LocationSubject,
  runs: readonly SeenRun[],
): Promise<void> {
  let { state, alertId } = subject;
  for (const run of runs) {
    const step = followLocation(state, run);
    state = step.state;
    if (step.change === 'begun') alertId = await begin(tx, following, subject, run);
    if (step.change === 'ended') {
      await end(tx, following, { ...subject, alertId }, run);
      alertId = null;
    }
  }
  await saveLocation(tx, { locationId: subject.locationId, state, alertId });
}

/** Returns the id of the alert. */
async function begin(
  tx: Db,
  { background, now, nextId }: Following,
  subject: LocationSubject,
  run: SeenRun,
): Promise<string> {
  const { accountId, slugName } = subject;
  const effects = await maintenanceAt(tx, { accountId, at: new Date(now()) });
  const alert = alertOf(subject, run, {
    id: nextId(),
    alertType: 'ALERT_LOCATION_NETWORK',
    // Only windows for everything: the alert is about no single check.
    silenced: effects.silences([]),
    now: now(),
  });
  await insertAlerts(tx, [alert]);
  if (!alert.silenced) {
    const channelIds = await channelsOfLocation(tx, { accountId, slug: slugName, checkIds: [run.checkId] });
    await queueNotifications(tx, background, { accountId, channelIds, alertId: alert.id });
  }
  return alert.id;
}

async function end(
  tx: Db,
  { background, now, nextId }: Following,
  subject: LocationSubject,
  run: SeenRun,
): Promise<void> {
  const { accountId, alertId } = subject;
  const alert = alertOf(subject, run, {
    id: nextId(),
    alertType: 'ALERT_LOCATION_NETWORK_RECOVERY',
    silenced: false,
    now: now(),
  });
  await insertAlerts(tx, [alert]);
  const channelIds = alertId === null ? [] : await recoveryChannels(tx, accountId, alertId);
  await queueNotifications(tx, background, { accountId, channelIds, alertId: alert.id });
}

/** An alert about a location: its id and name take the places of the check's. */
function alertOf(
  { locationId, accountId, name, slugName }: LocationSubject,
  { at, message }: SeenRun,
  { id, alertType, silenced, now }: Pick<AlertRow, 'id' | 'alertType' | 'silenced'> & { now: number },
): AlertRow {
  return {
    id,
    accountId,
    checkId: locationId,
    locationId,
    checkName: name,
    checkType: 'LOCATION',
    checkDescription: null,
    tags: [],
    groupId: null,
    groupName: null,
    alertType,
    resultId: null,
    runLocation: slugName,
    runLocationName: name,
    runLocations: [slugName],
    responseTime: null,
    error: message,
    statusCode: null,
    statusText: null,
    sslDomain: null,
    sslDaysRemaining: null,
    isReminder: false,
    reminderSequence: 0,
    isLate: now - at > lateAfterMs,
    silenced,
    startedAt: new Date(at),
    createdAt: new Date(now),
  };
}
