import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import {
  forgetDue,
  isAnySubjectDue,
  lockDueSubjects,
  putOffDue,
  saveStates,
  type AlertSubject,
} from './state-statements.ts';
import type { Db } from '../db/database.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { lookingFirst } from '../engine/looking-first.ts';
import { policyOf } from './policy.ts';
import { createRaising, raiseAlerts, type AlertingDeps, type Consequence } from './raise-alerts.ts';
import { step } from './state-machine.ts';
import { storedPolicy } from './stored-policy.ts';

/**
 * Raises alerts that are due at a time and not caused by a run: time-based escalations and reminders.
 * The due time is stored with the check's state, so it survives a restart.
 * A replica takes due checks and writes their next due time in one transaction, so no alert is raised twice.
 */

/** Checks per transaction. */
const batch = 100;
const idleMs = 1000;
/** A check whose alert could not be raised is retried after this time. */
const putOffMs = 30_000;

export function createAlertTimers(options: AlertingDeps & { db: Db; now: () => number; log: Log }): Loop {
  const { db, log } = options;

  /** Returns how many checks were due. */
  const followDue = (limit: number, seen: (subjects: readonly AlertSubject[]) => void) =>
    db.tx(async (tx) => {
      const now = options.now();
      const subjects = await lockDueSubjects(tx, { now: new Date(now), limit });
      seen(subjects);
      if (subjects.length > 0) await followTime(tx, options, { subjects, now });
      return subjects.length;
    });

  /** Handles one check per transaction, so that a failing check does not hold up the others. */
  async function followEach(): Promise<void> {
    for (let done = 0; done < batch; done++) {
      let due: readonly AlertSubject[] = [];
      try {
        if ((await followDue(1, (subjects) => (due = subjects))) === 0) return;
      } catch (error) {
        const [subject] = due;
        if (subject === undefined) throw error;
        const { checkId } = subject;
        log.error({ checkId, error: toError(error).message }, 'due alert could not be raised');
        await putOffDue(db, { checkId, until: new Date(options.now() + putOffMs) });
      }
    }
  }

  const followAll = lookingFirst(
    () => isAnySubjectDue(db, new Date(options.now())),
    async () => {
      let due = 0;
      try {
        await followDue(batch, ({ length }) => (due = length));
      } catch (error) {
        if (due === 0) throw error;
        await followEach();
      }
      return due;
    },
  );
  return createLoop({
    name: 'alert timers',
    log,
    work: async () => ((await followAll()) === batch ? 0 : idleMs),
  });
}

async function followTime(
  tx: Db,
  deps: AlertingDeps,
  { subjects, now }: { subjects: readonly AlertSubject[]; now: number },
): Promise<void> {
  // The current state of a deactivated check is unknown; its next run decides.
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
      const about = { resultId, runLocations, at, isOfRun: false };
      consequences.push({ subject, policy, alert, incident, ...about });
    }
  }
  await saveStates(tx, states, new Date(now));
  if (consequences.length > 0) await raiseAlerts(tx, raising, consequences);
}
