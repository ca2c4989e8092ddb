import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { forgetDue, lockDueSubjects, putOffDue, saveStates, type AlertSubject } from './state-statements.ts';
import type { Db } from '../db/database.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { policyOf } from './policy.ts';
import { createRaising, raiseAlerts, type AlertingDeps, type Consequence } from './raise-alerts.ts';
import { step } from './state-machine.ts';
import { storedPolicy } from './stored-policy.ts';

/**
 * Alerts that time brings and no run: escalations by time, reminders. When each is due stands with the check's state, so it
 * survives a restart; a replica takes those that are due and writes the next moment in one transaction, so none comes twice.
 */

/** In one transaction. */
const batch = 100;
const idleMs = 1000;
/** What can't be done is tried again after this time. */
const putOffMs = 30_000;

export function createAlertTimers(options: AlertingDeps & { db: Db; now: () => number; log: Log }): Loop {
  const { db, log } = options;

  /** How many were due. */
  const followDue = (limit: number, seen: (subjects: readonly AlertSubject[]) => void) =>
    db.tx(async (tx) => {
      const now = options.now();
      const subjects = await lockDueSubjects(tx, { now: new Date(now), limit });
      seen(subjects);
      if (subjects.length > 0) await followTime(tx, options, { subjects, now });
      return subjects.length;
    });

  /** One at a time: the one that can't be followed must not hold up the others. */
  async function followEach(): Promise<void> {
    for (let done = 0; done < batch; done++) {
      let due: readonly AlertSubject[] = [];
      try {
        if ((await followDue(1, (subjects) => (due = subjects))) === 0) return;
      } catch (error) {
        const [subject] = due;
        if (subject === undefined) throw error;
        const { checkId } = subject;
        log.error({ checkId, error: toError(error).message }, 'an alert that was due could not be raised');
        await putOffDue(db, { checkId, until: new Date(options.now() + putOffMs) });
      }
    }
  }

  return createLoop({
    name: 'alert timers',
    log,
    work: async () => {
      let due = 0;
      try {
        await followDue(batch, ({ length }) => (due = length));
      } catch (error) {
        if (due === 0) throw error;
        await followEach();
      }
      return due === batch ? 0 : idleMs;
    },
  });
}

async function followTime(
  tx: Db,
  deps: AlertingDeps,
  { subjects, now }: { subjects: readonly AlertSubject[]; now: number },
): Promise<void> {
  // What has been switched off is not known to fail still; its next run says more.
  const off = subjects.filter(({ activated }) => !activated);
  await forgetDue(
    tx,
    off.map(({ checkId }) => checkId),
  );
  const raising = createRaising(deps, now);
  const consequences: Consequence[] = [];
  const states = [];
  for (const subject of subjects.filter(({ activated }) => activated)) {
    const { checkId, resultId, runLocations } = subject;
    const policy = policyOf(storedPolicy(subject));
    const silenced = await raising.silence.silences(tx, subject, [now]);
    const { state, dueAt, alert, incident } = step(subject.state, policy.settings, {
      kind: 'time',
      silenced,
      now,
    });
    states.push({ checkId, state, resultId, runLocations, dueAt });
    if (alert !== null || incident !== null) {
      const at = state.lastRunAt ?? now;
      consequences.push({ subject, policy, alert, incident, resultId, runLocations, at });
    }
  }
  await saveStates(tx, states);
  if (consequences.length > 0) await raiseAlerts(tx, raising, consequences);
}
