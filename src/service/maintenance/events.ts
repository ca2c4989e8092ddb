import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import {
  insertMaintenanceEvent,
  lockMaintenanceEvent,
  markEventHandled,
  type MaintenanceEvent,
  type MaintenanceEventKind,
} from './event-statements.ts';
import type { MaintenanceWindowRow } from './statements.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { Occurrence } from './recurrence.ts';

/** What subscribers of status pages are told of maintenances: kept in a table, handed on by a durable queue. */

const queue = 'maintenance-events';

/**
 * Hands an event on, within `tx`: what it queues there is sent once, since the event counts as handled with the same commit. One
 * that rejects is tried again.
 */
export type MaintenanceEventFollower = (tx: Db, event: MaintenanceEvent) => Promise<void>;

/** Before `background.prepare()`: makes the queue, and lets `followers` see each event once. */
export function handleMaintenanceEvents(
  background: Background,
  options: { db: Db; now: () => number; followers: readonly MaintenanceEventFollower[] },
): void {
  const { db, now, followers } = options;
  background.handle<{ eventId: string }>(
    { name: queue, retryLimit: 10, retryDelaySeconds: 30, expireSeconds: 120, concurrency: 2 },
    async ({ eventId }) => {
      await db.tx(async (tx) => {
        const event = await lockMaintenanceEvent(tx, eventId);
        // Nobody to be told: it stays as it is.
        if (event === undefined || followers.length === 0) return;
        for (const follower of followers) await follower(tx, event);
        await markEventHandled(tx, { id: eventId, now: new Date(now()) });
      });
    },
  );
}

/**
 * Writes an event of a visible window and queues it with the commit of `tx`; to no effect where the same one was written before.
 * `detail` tells events of a kind apart that an occurrence has several of.
 */
export async function recordMaintenanceEvent(
  tx: Db,
  background: Background,
  options: {
    window: MaintenanceWindowRow;
    occurrence: Occurrence;
    kind: MaintenanceEventKind;
    detail?: string;
    text?: string | null;
    minutesBefore?: number | null;
    now: number;
  },
): Promise<void> {
  const { window, occurrence, kind, detail = '', text = null, minutesBefore = null, now } = options;
  const { enabled, statusPageIds, affectAllServices, serviceIds } = window.statusPageVisibility;
  if (!enabled) return;
  const { name, description, timezone } = window;
  const event: MaintenanceEvent = {
    id: uuidv7(now),
    accountId: window.accountId,
    windowId: window.id,
    startsAt: new Date(occurrence.startsAt),
    endsAt: new Date(occurrence.endsAt),
    kind,
    createdAt: new Date(now),
    body: {
      name,
      description,
      timezone,
      text,
      minutesBefore,
      statusPageIds,
      affectAllServices,
      serviceIds,
    },
  };
  if (await insertMaintenanceEvent(tx, event, detail)) {
    await background.send(tx, queue, { eventId: event.id });
  }
}
