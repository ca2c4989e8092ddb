import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import { recurrenceOf } from './effect-statements.ts';
import { deleteOldMaintenanceEvents } from './event-statements.ts';
import {
  findDueWindows,
  lockDueWindow,
  putOffSteps,
  saveSteps,
  type MaintenanceWindowRow,
} from './statements.ts';
import { findMaintenance } from './occurrence-statements.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { changeStatus } from './change-status.ts';
import { recordMaintenanceEvent } from './events.ts';
import { hasBegun, isOver } from './status.ts';
import { dueSteps, type Step } from './steps.ts';
import { hourMs, dayMs } from '../../durations.ts';

/**
 * Starts and completes occurrences of visible windows, and sends reminders. The window's row holds the time of its
 * next step. The replica that locks the row does the steps and records them in the same transaction.
 */

type Deps = { db: Db; background: Background; now: () => number; log: Log };

const everyMs = 1_000;
const batch = 50;
const putOffMs = 60_000;
/** A later notice that a maintenance is over is not sent. */
const notifyEndWithinMs = hourMs;
const keepEventsMs = 90 * dayMs;
const cleanEveryMs = hourMs;

/** Creates the loop that does the due steps of windows and deletes old records. */
export function createMaintenanceLoop({ db, background, now, log }: Deps): Loop {
  let cleanedAt = Number.NEGATIVE_INFINITY;

  async function advance(id: number): Promise<void> {
    try {
      await db.tx(async (tx) => {
        const at = now();
        const window = await lockDueWindow(tx, { id, now: new Date(at) });
        if (window !== undefined) await advanceWindow(tx, background, { window, now: at });
      });
    } catch (error) {
      log.error({ window: id, error: toError(error).message }, 'a maintenance window was postponed');
      await putOffSteps(db, { id, until: new Date(now() + putOffMs) });
    }
  }

  return createLoop({
    name: 'maintenance windows',
    log,
    work: async () => {
      const due = await findDueWindows(db, { now: new Date(now()), limit: batch });
      for (const id of due) await advance(id);
      if (now() - cleanedAt >= cleanEveryMs) {
        await deleteOldMaintenanceEvents(db, new Date(now() - keepEventsMs));
        cleanedAt = now();
      }
      return due.length > 0 ? 0 : everyMs;
    },
  });
}

/** Does the due steps of a window that `tx` has locked. */
export async function advanceWindow(
  tx: Db,
  background: Background,
  { window, now }: { window: MaintenanceWindowRow; now: number },
): Promise<void> {
  const { steps, doneUntil, nextAt } = dueSteps(
    {
      recurrence: recurrenceOf(window),
      visibility: window.statusPageVisibility,
      doneUntil: window.stepsDoneUntil.getTime(),
    },
    { now },
  );
  for (const step of steps) await doStep(tx, background, { window, step, now });
  await saveSteps(tx, {
    id: window.id,
    doneUntil: new Date(doneUntil),
    nextAt: nextAt === null ? null : new Date(nextAt),
  });
}

async function doStep(
  tx: Db,
  background: Background,
  { window, step, now }: { window: MaintenanceWindowRow; step: Step; now: number },
): Promise<void> {
  const { occurrence, at } = step;
  const startsAt = new Date(occurrence.startsAt);
  const recorded = (await findMaintenance(tx, { windowId: window.id, startsAt }))?.status ?? 'SCHEDULED';
  if (isOver(recorded)) return;
  const change = { window, occurrence, at, now, from: recorded };
  switch (step.kind) {
    case 'START':
      if (hasBegun(recorded)) return;
      await changeStatus(tx, background, {
        ...change,
        status: 'IN_PROGRESS',
        description: 'Maintenance has started.',
        // If the service was down during the whole occurrence, no notice is sent.
        notify: occurrence.endsAt > now ? 'as-window' : 'never',
      });
      return;
    case 'END':
      await changeStatus(tx, background, {
        ...change,
        status: 'COMPLETED',
        description: 'The maintenance is completed.',
        notify: now - at <= notifyEndWithinMs ? 'as-window' : 'never',
      });
      return;
    case 'REMINDER': {
      const { minutesBefore } = step;
      if (hasBegun(recorded)) return;
      const detail = String(minutesBefore);
      await recordMaintenanceEvent(tx, background, {
        window,
        occurrence,
        kind: 'REMINDER',
        detail,
        minutesBefore,
        now,
      });
    }
  }
}
