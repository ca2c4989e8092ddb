import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import {
  insertMaintenanceEvent,
  lockMaintenanceEvents,
  markEventHandled,
  type MaintenanceEvent,
  type MaintenanceEventKind,
} from './event-statements.ts';
import type { MaintenanceWindowRow } from './statements.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { Occurrence } from './recurrence.ts';

/** Maintenance events for subscribers of status pages: stored in a table and delivered by a durable queue. */

const queue = 'maintenance-events';

/**
 * Handles an event within `tx`. The same commit marks the event as handled, so whatever a follower queues is sent
 * once. If it rejects, the event is retried.
 */
export type MaintenanceEventFollower = (tx: Db, event: MaintenanceEvent) => Promise<void>;

/** Creates the queue and passes each event to `followers` once. Call it before `background.prepare()`. */
export function handleMaintenanceEvents(
  background: Background,
  options: { db: Db; now: () => number; followers: readonly MaintenanceEventFollower[] },
): void {
  const { db, now, followers } = options;
  background.handle<{ eventId: string }>(
    { name: queue, retryLimit: 10, retryDelaySeconds: 30, expireSeconds: 120, concurrency: 2 },
    async ({ eventId }) => {
      await db.tx(async (tx) => {
        // Without followers, events stay unhandled.
        if (followers.length === 0) return;
        // Earlier events of the occurrence first: the try of one may have failed.
        for (const event of await lockMaintenanceEvents(tx, eventId)) {
          for (const follower of followers) await follower(tx, event);
          await markEventHandled(tx, { id: event.id, now: new Date(now()) });
        }
      });
    },
  );
}

/**
 * Writes an event of a visible window and queues it with the commit of `tx`. It has no effect if the same event
 * exists. `detail` distinguishes several events of one kind of an occurrence.
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
