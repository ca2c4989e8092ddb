import type { Plan } from '../../protocol/plan-runs.ts';
import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import type { Missed } from './fold-missed.ts';
import { recordGaps, runsMade, type Stretch } from './gaps.ts';
import { takeUnclaimed } from './missed.ts';
import { recordMissed } from './record-missed.ts';
import { heldBefore, type DueCheck } from './schedule.ts';

/** Due moments for which nobody has queued a run in time: the service or its database was away. */

/** A due check, the locations that it has, and what to do for it. */
export type Planned = { check: DueCheck; places: { id: string; slug: string }[]; plan: Plan };

export type Unplanned = {
  plans: readonly Planned[];
  /** Those of these checks with one location that agents have held: the service may have results of their moments. */
  held: ReadonlySet<string>;
  /** The ids of jobs that need not be queued: their runs were made. */
  made: ReadonlySet<string>;
};

/** Finds the checks that have such moments. */
export async function findUnplanned(tx: Db, planned: readonly Planned[]): Promise<Unplanned> {
  const plans = planned.filter(({ plan }) => plan.missed !== null);
  const held = await heldBefore(
    tx,
    plans.filter(({ places }) => places.length === 1).map(({ check }) => check.id),
  );
  const runs = plans.flatMap(({ check, places, plan: { run } }) =>
    run === null || !held.has(check.id)
      ? []
      : places.map(({ id }) => ({ checkId: check.id, locationId: id, at: run.dueAt })),
  );
  return { plans, held, made: await runsMade(tx, runs) };
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
  const { plans, held } = options.unplanned;
  const missed = [
    ...plans.filter(({ check }) => !held.has(check.id)).flatMap(missedOf),
    ...also,
    ...(await takenBeforeGap(tx, plans, now)),
  ];
  await recordMissed(tx, { missed, now, partitions });
  const stretches = plans.filter(({ check }) => held.has(check.id)).flatMap(stretchesOf);
  await recordGaps(tx, { stretches, now, partitions });
}

/** As `missedOf`, with what is needed to find the results. */
function stretchesOf(item: Planned): Stretch[] {
  const { check, places } = item;
  return missedOf(item).flatMap((missed) =>
    places
      .filter(({ slug }) => slug === missed.runLocation)
      .map(({ id }) => ({
        ...missed,
        code: 'NOT_SCHEDULED',
        locationId: id,
        stepMs: check.intervalSeconds * 1000,
      })),
  );
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
