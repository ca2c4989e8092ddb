import type { Log } from '../../log.ts';
import { jobTypes, laneOf } from '../../protocol/check-types.ts';
import { planRuns } from '../../protocol/plan-runs.ts';
import { claimWindowSeconds, scheduledJobId, scheduledRunId } from '../../protocol/schedule.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import type { Db } from '../db/database.ts';
import { bringJobsForward } from './jobs-expiry.ts';
import { findScheduledRuns, insertJobs, jobsChannel, type NewJob } from './jobs.ts';
import { createPartitions, type Partitions } from '../db/partitions.ts';
import {
  advanceChecks,
  bringChecksForward,
  earliestDue,
  findLocationIds,
  lockDueChecks,
  skipJump,
  type DueCheck,
} from './schedule.ts';
import { uuidv7 } from '../engine/ids.ts';
import { createFindPauses, withoutPauses, type FindPauses } from '../maintenance/pauses.ts';
import { createClockWatch } from '../engine/clock-watch.ts';
import { createLoop } from '../engine/loop.ts';
import { createLooks } from '../engine/looks.ts';
import type { Missed } from './fold-missed.ts';
import { splitRun } from '../checks/schedule/split-run.ts';
import { createBeat } from './service-beat.ts';
import { createSweep } from './sweep.ts';
import { findUnplanned, recordUnplanned, type Planned } from './unplanned.ts';

/**
 * Creates runs of due checks, and cleans up expired leases and unclaimed and unrunnable jobs. Any number of replicas
 * may run it: each skips rows that another one has locked.
 */
export type Scheduler = {
  start(): void;
  /** Resolves when no statement of the scheduler is in progress. */
  stop(): Promise<void>;
  /** Does everything once, now: due checks first, then the clean-up. */
  tick(): Promise<void>;
};

export type SchedulerDeps = {
  db: Db;
  now: () => number;
  /** The sum of the clock's jumps in milliseconds, as SteadyClock.adopted; absent = it has none. */
  adopted?: () => number;
  log: Log;
  /** A number from 0 to 1; spreads the wake-ups of replicas. */
  random: () => number;
};

/** Checks per transaction, which must not block the embedded database for long. */
const batch = 100;
/** Longest sleep, because another replica may have added a check. */
const longestSleepMs = 1_000;
/**
 * Shortest sleep. Checks due within this time share a transaction, and their runs share an agent's claim and a batch
 * of results. Runs start 50 ms later on average.
 */
const shortestSleepMs = 100;

/** Checks that are overdue by more are not found by every look. */
const overdueMs = 60_000;

/** Creates the scheduler. `now` is milliseconds since the epoch. */
export function createScheduler({ db, now, adopted = () => 0, log, random }: SchedulerDeps): Scheduler {
  const partitions = createPartitions(db);
  const findPauses = createFindPauses();

  const watchClock = createClockWatch({
    now,
    adopted,
    repair: {
      back: async (at) => {
        await bringChecksForward(db, { now: at });
        for (const locationId of await bringJobsForward(db, at)) await db.notify(jobsChannel, locationId);
      },
      forward: (at) => skipJump(db, at),
    },
  });

  const looks = createLooks(now);
  const findNext = async (at: number): Promise<Date | null> => {
    const next = await looks.look((isFull) => earliestDue(db, new Date(isFull ? 0 : at - overdueMs)));
    // Others may be overdue even longer.
    if (next !== null && next.getTime() <= at) looks.again();
    return next;
  };

  const restMs = (next: Date | null): number => {
    const untilNext = next === null ? longestSleepMs : next.getTime() - now();
    return Math.min(longestSleepMs - random() * 100, Math.max(shortestSleepMs, untilNext));
  };

  async function makeDueRuns(): Promise<number> {
    for (;;) {
      // The moment that the watch has repaired for: a jump that the clock adopts after it must not make missed runs.
      const at = await watchClock();
      // Where agents hold the checks, nothing is due here, and a transaction takes more round trips than a look.
      const next = await findNext(at);
      if (next === null || next.getTime() > at) return restMs(next);
      const made = await partitions.withDays(() =>
        db.tx((tx) => makeRuns(tx, { now: at, partitions, findPauses })),
      );
      if (made < batch) return restMs(await findNext(at));
    }
  }

  const due = createLoop({ name: 'scheduler', log, work: makeDueRuns });
  const sweep = createSweep({ db, now, log, partitions });
  const beats = createBeat({ db, now, log });
  return {
    start: () => {
      for (const loop of [beats, due, sweep]) loop.start();
    },
    stop: async () => {
      await Promise.all([beats, due, sweep].map((loop) => loop.stop()));
    },
    tick: async () => {
      looks.again();
      await due.tick();
      await sweep.tick();
    },
  };
}

/**
 * One transaction: locks due checks, queues their runs and sets their next due times. Returns how many checks there
 * were.
 */
async function makeRuns(
  tx: Db,
  { now, partitions, findPauses }: { now: number; partitions: Partitions; findPauses: FindPauses },
): Promise<number> {
  const due = await lockDueChecks(tx, { now: new Date(now), limit: batch });
  if (due.length === 0) return 0;
  const locations = await findLocations(tx, due);
  const pauses = await findPauses(tx, { checks: due, now });
  const plans = due.map((check) => {
    const places = check.slugs.flatMap((slug) => {
      const id = locations.get(`${check.accountId} ${slug}`);
      return id === undefined ? [] : [{ id, slug }];
    });
    const plan = planRuns(
      {
        intervalSeconds: check.intervalSeconds,
        offsetSeconds: check.offsetSeconds,
        nextDueAt: check.nextDueAt.getTime(),
        rotation: check.rotation,
        runParallel: check.runParallel,
        locationCount: places.length,
      },
      now,
    );
    const stretches = pauses.get(check.id);
    return {
      check,
      places,
      missedWithPauses: plan.missed,
      plan: stretches === undefined ? plan : withoutPauses(plan, { ...check, stretches }),
    };
  });
  const going = await findInProgress(tx, plans, now);
  const unplanned = await findUnplanned(tx, plans, now);
  const woken = await insertJobs(
    tx,
    plans.flatMap((item) => jobsOf(item, { now, going })).filter(({ id }) => !unplanned.made.has(id)),
  );
  const also = plans.flatMap((item) => skippedLocations(item, going));
  await recordUnplanned(tx, { unplanned, also, now, partitions });
  await advanceChecks(
    tx,
    plans.map(({ check, plan }) => ({
      id: check.id,
      nextDueAt: new Date(plan.nextDueAt),
      rotation: plan.rotation,
    })),
  );
  for (const locationId of woken) await tx.notify(jobsChannel, locationId);
  return due.length;
}

async function findLocations(tx: Db, due: readonly DueCheck[]): Promise<Map<string, string>> {
  const wanted = new Map(
    due.flatMap(({ accountId, slugs }) => slugs.map((slug) => [`${accountId} ${slug}`, { accountId, slug }])),
  );
  const found = await findLocationIds(tx, [...wanted.values()]);
  return new Map(found.map(({ accountId, slug, id }) => [`${accountId} ${slug}`, id]));
}

/** Where runs of a check are in progress: location ids by check. */
type InProgress = ReadonlyMap<string, ReadonlySet<string>>;

/** Scheduled suite runs that are due again while they are still queued or with an agent. */
async function findInProgress(tx: Db, plans: readonly Planned[], now: number): Promise<InProgress> {
  const suites = plans.flatMap(({ check, plan }) =>
    plan.run !== null && serviceCheckType(check.checkType)?.waitsForEarlierRun === true ? [check.id] : [],
  );
  const going = new Map<string, Set<string>>();
  if (suites.length === 0) return going;
  for (const { checkId, locationId } of await findScheduledRuns(tx, {
    checkIds: suites,
    now: new Date(now),
  })) {
    going.set(checkId, (going.get(checkId) ?? new Set()).add(locationId));
  }
  return going;
}

function placesOfRun({ check, places, plan }: Planned, going: InProgress) {
  const chosen = (plan.run?.locations ?? []).flatMap((index) => places[index] ?? []);
  return splitRun(chosen, (locationId) => going.get(check.id)?.has(locationId) === true);
}

function jobsOf(item: Planned, { now, going }: { now: number; going: InProgress }): NewJob[] {
  const { check, plan } = item;
  const { run } = plan;
  const type = jobTypes.find((candidate) => candidate === check.checkType);
  // Agents never run this check: a newer version added its type, or the service runs it itself.
  if (run === null || type === undefined) return [];
  return placesOfRun(item, going).begins.map((place) => {
    return {
      id: scheduledJobId(check.id, place.id, run.dueAt),
      accountId: check.accountId,
      checkId: check.id,
      runId: scheduledRunId(check.id, run.dueAt),
      sequenceId: uuidv7(now),
      locationId: place.id,
      runLocation: place.slug,
      runSource: 'SCHEDULER',
      runParallel: check.runParallel,
      checkType: type,
      runtimeId: check.runtimeId,
      lane: laneOf[type],
      dueAt: new Date(run.dueAt),
      expiresAt: new Date(run.expiresAt),
      claimWindowSeconds: claimWindowSeconds(check.intervalSeconds),
    };
  });
}

/** The locations where a suite's run is skipped because the previous one is still in progress. */
function skippedLocations(item: Planned, going: InProgress): Missed[] {
  const { check, plan } = item;
  const { run } = plan;
  if (run === null) return [];
  return placesOfRun(item, going).stillRunning.map((place) => ({
    accountId: check.accountId,
    checkId: check.id,
    checkType: check.checkType,
    runLocation: place.slug,
    from: run.dueAt,
    to: run.dueAt,
    count: 1,
    code: 'STILL_RUNNING' as const,
  }));
}
