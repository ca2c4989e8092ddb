import { isPinged, serviceCheckTypes } from '../checks/types/table.ts';
import type { Queryable } from '../db/database.ts';
import { dayMs, hourMs, minuteMs } from '../../durations.ts';
import { connectedMs } from '../locations/agents.ts';
import { servedTypes } from '../locations/served-types.ts';
import { effectiveEnd, findEffectiveWindows, recurrenceOf } from '../maintenance/effect-statements.ts';
import { pausesCheck } from '../maintenance/effects.ts';
import { occurrenceAt } from '../maintenance/recurrence.ts';
import type { ListedCheck } from './list-statements.ts';
import type { Wait } from './schema.ts';
import { longestQueued, type Queued } from './wait-statements.ts';

/** A queued run is worth a message after this time; before it, an agent is about to take it. */
const queuedMs = 10_000;

/** Finds why each of these checks does not run now; checks that do are absent. */
export async function findWaits(
  db: Queryable,
  { accountId, checks, now }: { accountId: string; checks: readonly ListedCheck[]; now: number },
): Promise<Map<string, Wait>> {
  const active = checks.filter(({ state }) => state !== 'paused');
  const slugs = [...new Set(active.flatMap(slugsOf))];
  const served = await servedTypes(db, { accountId, slugs, connectedSince: new Date(now - connectedMs) });
  const queued = await longestQueued(db, {
    checkIds: active.map(({ id }) => id),
    now: new Date(now),
    before: new Date(now - queuedMs),
  });
  const pauseOf = await findPauses(db, accountId, now);
  const waits = new Map<string, Wait>();
  for (const check of active) {
    const wait =
      pauseOf(check) ??
      placesOf(check, served) ??
      queueOf(queued.get(check.id), now) ??
      firstRunOf(check, now);
    if (wait !== null) waits.set(check.id, wait);
  }
  return waits;
}

const slugsOf = ({ locations, privateLocations }: ListedCheck) => [...locations, ...privateLocations];

/** Returns which window pauses a check now. */
async function findPauses(db: Queryable, accountId: string, now: number) {
  const at = new Date(now);
  const windows = await findEffectiveWindows(db, {
    accountIds: [accountId],
    from: at,
    to: at,
    onlyPausing: true,
  });
  const open = windows.flatMap((window) => {
    const current = occurrenceAt(recurrenceOf(window), now);
    const end = current === null ? now : effectiveEnd(window, current);
    return end > now ? [{ window, end }] : [];
  });
  return ({ checkType, tags, groupTags }: ListedCheck): Wait | null => {
    // Pings are not paused.
    if (isPinged(checkType)) return null;
    const found = open.find(({ window }) => pausesCheck(window, [...tags, ...groupTags]));
    if (found === undefined) return null;
    return {
      reason: 'MAINTENANCE',
      message: `Paused by the maintenance window ${found.window.name}`,
      until: new Date(found.end).toISOString(),
    };
  };
}

function placesOf(check: ListedCheck, served: ReadonlyMap<string, string[]>): Wait | null {
  if (!serviceCheckTypes[check.checkType].hasLocations) return null;
  const slugs = slugsOf(check);
  if (slugs.length === 0) return { reason: 'NO_LOCATION', message: 'The check has no location', until: null };
  const lacking = slugs.filter((slug) => !served.get(slug)?.includes(check.checkType));
  if (lacking.length === 0) return null;
  const agents = lacking.every((slug) => !served.has(slug))
    ? 'No agent serves'
    : `No agent that runs ${check.checkType} checks serves`;
  const places = lacking.length === 1 ? `the location ${lacking[0]}` : `the locations ${listed(lacking)}`;
  return { reason: 'NO_AGENT', message: `${agents} ${places}`, until: null };
}

const shownNames = 3;
function listed(names: readonly string[]): string {
  const more = names.length - shownNames;
  return more > 0 ? `${names.slice(0, shownNames).join(', ')} and ${more} more` : names.join(', ');
}

function queueOf(queued: Queued | undefined, now: number): Wait | null {
  if (queued === undefined) return null;
  const since = inWords(now - queued.since.getTime());
  return {
    reason: 'QUEUE',
    message: `The run at ${queued.runLocation} has waited ${since} for a free agent`,
    until: null,
  };
}

function firstRunOf({ state, checkType, nextRunAt }: ListedCheck, now: number): Wait | null {
  if (state !== 'waiting') return null;
  if (isPinged(checkType)) return { reason: 'FIRST_RUN', message: 'Waits for its first ping', until: null };
  if (nextRunAt === null) return null;
  const left = Date.parse(nextRunAt) - now;
  return {
    reason: 'FIRST_RUN',
    message: left <= 0 ? 'First run now' : `First run in ${inWords(left)}`,
    until: new Date(nextRunAt).toISOString(),
  };
}

/** A duration in its largest unit, rounded up: `3 min`. */
export function inWords(ms: number): string {
  if (ms <= 2 * minuteMs) return `${Math.ceil(ms / 1000)} s`;
  if (ms <= 90 * minuteMs) return `${Math.ceil(ms / minuteMs)} min`;
  return ms <= 2 * dayMs ? `${Math.ceil(ms / hourMs)} h` : `${Math.ceil(ms / dayMs)} days`;
}
