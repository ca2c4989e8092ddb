import type { Plan } from '../../protocol/plan-runs.ts';
import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import type { Missed } from './fold-missed.ts';
import { evenly, recordGaps, runsMade, type Stretch } from './gaps.ts';
import { takeUnclaimed } from './missed.ts';
import { recordMissed } from './record-missed.ts';
import { findRunByHolders, type DueCheck } from './schedule.ts';

/** Due moments for which nobody has queued a run in time: the service or its database was away. */

/** A due check, the locations that it has, and what to do for it. */
export type Planned = {
  check: DueCheck;
  places: { id: string; slug: string }[];
  plan: Plan;
  /** What was missed, with the moments that maintenance pauses. */
  missedWithPauses: Plan['missed'];
};

export type Unplanned = {
  plans: readonly Planned[];
  /** Checks that an agent has held, with results of their moments. */
  compared: ReadonlySet<string>;
  /** The ids of jobs that need not be queued: their runs were made. */
  made: ReadonlySet<string>;
};

/** Finds what agents that held these checks before have run, and the checks that have moments which nobody has planned. */
export async function findUnplanned(tx: Db, planned: readonly Planned[], now: number): Promise<Unplanned> {
  const moments = planned.flatMap(({ check, places, plan }) => {
    const from = plan.missed?.from ?? plan.run?.dueAt;
    // Agents hold only checks with one location.
    return from === undefined || places.length !== 1 ? [] : [{ id: check.id, from }];
  });
  const compared = await findRunByHolders(tx, { moments, now });
  const runs = planned.flatMap(({ check, places, plan: { run } }) =>
    run === null || !compared.has(check.id)
      ? []
      : places.map(({ id }) => ({ checkId: check.id, locationId: id, at: run.dueAt })),
  );
  return {
    plans: planned.filter(({ plan }) => plan.missed !== null),
    compared,
    made: await runsMade(tx, runs),
  };
}

/**
 * Records such moments as missed, without those that agents have run. Call it after the jobs are queued: no record spans
 * a run that takes place. `also`: further missed runs.
 */
export async function recordUnplanned(
  tx: Db,
  options: { unplanned: Unplanned; also: readonly Missed[]; now: number; partitions: Partitions },
): Promise<void> {
  const { also, now, partitions } = options;
  const { plans, compared } = options.unplanned;
  const missed = [
    ...plans.filter(({ check }) => !compared.has(check.id)).flatMap(missedOf),
    ...also,
    ...(await takenBeforeGap(tx, plans, now)),
  ];
  await recordMissed(tx, { missed, now, partitions });
  const stretches = plans.filter(({ check }) => compared.has(check.id)).flatMap(stretchesOf);
  await recordGaps(tx, { stretches, now, partitions });
}

/** As `missedOf`, for a check with one location, with the fields that find its results. */
function stretchesOf(item: Planned): Stretch[] {
  const { check, places, missedWithPauses } = item;
  const stepMs = check.intervalSeconds * 1000;
  return missedOf({ ...item, plan: { ...item.plan, missed: missedWithPauses } })
    .flatMap((missed) => places.map(({ id }) => ({ ...missed, locationId: id, stepMs })))
    .flatMap((stretch) => evenly(stretch, check));
}

/**
 * Runs that were queued when the service went away and that nobody could claim. They belong to the record of the gap,
 * so the transaction that writes the record takes them: no other one can record them again.
 */
async function takenBeforeGap(tx: Db, plans: readonly Planned[], now: number): Promise<Missed[]> {
  const checks = new Map(
    plans.flatMap(({ check, plan }) => (plan.missed === null ? [] : [[check.id, check] as const])),
  );
  const taken = await takeUnclaimed(tx, { checkIds: [...checks.keys()], now: new Date(now) });
  return taken.flatMap(({ checkId, runLocation, dueAt }) => {
    const check = checks.get(checkId);
    if (check === undefined) return [];
    const at = dueAt.getTime();
    const { accountId, checkType } = check;
    return [
      { accountId, checkId, checkType, runLocation, from: at, to: at, count: 1, code: 'NOT_SCHEDULED' },
    ];
  });
}

function missedOf({ check, places, plan }: Planned): Missed[] {
  const { missed } = plan;
  if (missed === null) return [];
  return missed.locations.flatMap((index) => {
    const place = places[index];
    if (place === undefined) return [];
    return {
      accountId: check.accountId,
      checkId: check.id,
      checkType: check.checkType,
      runLocation: place.slug,
      from: missed.from,
      to: missed.to,
      count: missed.count,
      code: 'NOT_SCHEDULED' as const,
    };
  });
}
