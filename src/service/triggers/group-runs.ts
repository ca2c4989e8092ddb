import type { Log } from '../../log.ts';
import { sessionExpiry } from '../agentic/schedule.ts';
import type { Db } from '../db/database.ts';
import { isSomethingBlocked, lockBlockedGroupRuns, releaseNextChecks } from './group-run-statements.ts';
import { jobsChannel } from '../scheduling/jobs.ts';
import { createLoop, type Loop } from '../engine/loop.ts';

/**
 * Starts the checks of triggered groups in the group's order, a limited number at a time.
 * The queue is in the database, so a restart loses nothing; a group run is handled by one replica at a time.
 */

const batch = 50;
/** Interval while checks wait for their turn, and while none do. */
const busyMs = 250;
const shortestMs = 20;
const idleMs = 1_000;

/** Starts as many checks as there is room for. Returns how many group runs had room. */
export async function releaseGroupRuns({ db, now }: { db: Db; now: () => number }): Promise<number> {
  return db.tx(async (tx) => {
    const runs = await lockBlockedGroupRuns(tx, { limit: batch });
    const woken = new Set<string>();
    for (const groupRun of runs) {
      const at = now();
      const released = { groupRun, now: new Date(at), ownExpiry: sessionExpiry(at) };
      const locations = await releaseNextChecks(tx, released);
      for (const locationId of locations) woken.add(locationId);
    }
    for (const locationId of woken) await tx.notify(jobsChannel, locationId);
    return runs.length;
  });
}

export function createGroupRuns(deps: { db: Db; now: () => number; log: Log }): Loop {
  return createLoop({
    name: 'group runs',
    log: deps.log,
    work: async () => {
      if (!(await isSomethingBlocked(deps.db))) return idleMs;
      return (await releaseGroupRuns(deps)) === batch ? shortestMs : busyMs;
    },
  });
}
