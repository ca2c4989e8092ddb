import type { Log } from '../../log.ts';
import type { Db } from '../db/database.ts';
import {
  allowForAway,
  bringTimersBack,
  earliestHeartbeat,
  lockDueHeartbeats,
  restartTimers,
  type HeartbeatState,
  type LockedHeartbeat,
} from './statements.ts';
import { createPartitions, type Partitions } from '../db/partitions.ts';
import { maintenanceAt } from '../maintenance/effects.ts';
import { createClockWatch } from '../engine/clock-watch.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { findAway } from '../scheduling/service-beat.ts';
import { storeOutcomes } from './outcomes.ts';

/**
 * Fails heartbeats whose ping is overdue. The timers are database columns, so they survive a restart. A heartbeat that
 * nobody could ping, because the service was away, gets its grace time when the service is back.
 * Replicas skip heartbeats that another one has locked.
 */

/** Heartbeats per transaction, few enough not to block the embedded database. */
const batch = 100;
/** Longest time between two checks for due timers, because another replica may have started a timer. */
const longestSleepMs = 1_000;
const shortestSleepMs = 20;

type Deps = { db: Db; now: () => number; log: Log };

export function createHeartbeatTimers({ db, now, log }: Deps): Loop {
  const partitions = createPartitions(db);
  let allowedUntil = -Infinity;
  const watchClock = createClockWatch({
    now,
    adopted: () => 0,
    // A jump forward is recorded as a time in which the service was away.
    repair: { back: (at) => bringTimersBack(db, at), forward: () => Promise.resolve() },
  });
  const restMs = (next: Date | null) => {
    const untilNext = next === null ? longestSleepMs : next.getTime() - now();
    return Math.min(longestSleepMs, Math.max(shortestSleepMs, untilNext));
  };
  return createLoop({
    name: 'heartbeats',
    log,
    work: async () => {
      await watchClock();
      for (;;) {
        // The moment for which the record holds: a pause of the database that follows makes nothing due.
        const { at, away } = await findAway(db, now);
        if (away !== null && away.to > allowedUntil) {
          await allowForAway(db, away);
          allowedUntil = away.to;
        }
        const next = await earliestHeartbeat(db);
        if (next === null || next.getTime() > at) return restMs(next);
        const done = await partitions.withDays(() => db.tx((tx) => endDue(tx, { now: at, partitions })));
        if (done < batch) return restMs(await earliestHeartbeat(db));
      }
    },
  });
}

/** Handles one batch in one transaction. Returns how many heartbeats were due. */
async function endDue(tx: Db, { now, partitions }: { now: number; partitions: Partitions }): Promise<number> {
  const due = await lockDueHeartbeats(tx, { now: new Date(now), limit: batch });
  if (due.length === 0) return 0;
  const paused = await findPaused(tx, due, now);
  const isOff = ({ activated }: LockedHeartbeat) => !activated;
  const timer = (heartbeat: LockedHeartbeat, from: Date | null, state: HeartbeatState | null) => ({
    checkId: heartbeat.checkId,
    from,
    state,
  });
  await restartTimers(tx, [
    // The group was deactivated: the heartbeat waits for a first ping again.
    ...due.filter(isOff).map((heartbeat) => timer(heartbeat, null, null)),
    // During maintenance no failure is stored, and the timer restarts.
    ...due
      .filter((heartbeat) => !isOff(heartbeat) && paused.has(heartbeat))
      .map((heartbeat) => timer(heartbeat, new Date(now), heartbeat.state)),
  ]);
  await storeOutcomes(
    tx,
    { partitions, now },
    due
      .filter((heartbeat) => !isOff(heartbeat) && !paused.has(heartbeat))
      .map((heartbeat) => ({ heartbeat, state: 'FAILING', source: 'service', userAgent: '' })),
  );
  return due.length;
}

/** Selects the heartbeats that a maintenance window pauses. */
async function findPaused(
  tx: Db,
  due: readonly LockedHeartbeat[],
  now: number,
): Promise<Set<LockedHeartbeat>> {
  const paused = new Set<LockedHeartbeat>();
  for (const accountId of new Set(due.map((heartbeat) => heartbeat.accountId))) {
    const effects = await maintenanceAt(tx, { accountId, at: new Date(now) });
    for (const heartbeat of due) {
      if (heartbeat.accountId === accountId && effects.pauses(heartbeat.tags)) paused.add(heartbeat);
    }
  }
  return paused;
}
