import type { Log } from '../../log.ts';
import type { CheckType } from '../../protocol/check-types.ts';
import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import {
  oldestRollupDue,
  makeRollupPartition,
  noteRollupsDue,
  rollUp,
  takeRollupsDue,
} from './rollup-statements.ts';
import { makeReportDays, oldestReportDayDue } from './report-day-statements.ts';
import type { RunFollower } from '../results/finished-runs.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { dayMs, hourMs } from '../../durations.ts';

/**
 * Keeps rollups up to date. Every run that has ended notes its check and hour; once the hour is over, an item in the background
 * makes its rollup, and a run that comes later notes the hour anew. Days are made of hours in the same way. Analytics read hours that are noted from raw results, so
 * that nothing is missing meanwhile.
 */
export const rollupQueue = 'rollups';

/** After the end of an hour: most late results are there by then, and need no second rollup. */
const graceMs = 5 * 60_000;
/** Checks in one transaction: it must not hold the embedded database up. */
const batch = 10;
const everyMs = 60_000;

/** Follows runs: notes the hours of their checks. */
export const noteRollups: RunFollower = (tx, runs) =>
  noteRollupsDue(
    tx,
    runs.flatMap(({ checkId, parts }) => parts.map(({ startedAt }) => ({ checkId, startedAt }))),
  );

type Deps = { db: Db; background: Background; now: () => number; log: Log };

const endedBy = (time: number) => new Date(time - hourMs - graceMs);
/** The last hour of a day is rolled up by then. */
const daysEndedBy = (time: number) => new Date(time - dayMs - hourMs);

/** Before the background work is prepared. Its items make all rollups that are due. */
export function handleRollups({ db, background, now }: Omit<Deps, 'log'>): void {
  background.handle(
    {
      name: rollupQueue,
      retryLimit: 3,
      retryDelaySeconds: 30,
      expireSeconds: 900,
      concurrency: 1,
      isKeyed: true,
    },
    async (_item, { signal }) => {
      while (!signal.aborted) {
        const hour = await oldestRollupDue(db, endedBy(now()));
        if (hour === null) break;
        await makeRollupPartition(db, hour);
        const taken = await db.tx(async (tx) => {
          const due = await takeRollupsDue(tx, { hour, limit: batch });
          for (const [checkType, checkIds] of byType(due.checks))
            await rollUp(tx, { checkType, checkIds, hour });
          return due.taken;
        });
        // What is left of this hour, another replica has.
        if (taken === 0) break;
      }
      while (!signal.aborted) {
        const day = await oldestReportDayDue(db, daysEndedBy(now()));
        if (day === null) return;
        await makeRollupPartition(db, day);
        if ((await db.tx((tx) => makeReportDays(tx, { day, limit: batch }))) === 0) return;
      }
    },
  );
}

function byType(checks: readonly { id: string; checkType: CheckType }[]): Map<CheckType, string[]> {
  const types = new Map<CheckType, string[]>();
  for (const { id, checkType } of checks) types.set(checkType, [...(types.get(checkType) ?? []), id]);
  return types;
}

/** Asks for rollups when some are due; any replica may, and one item waits at most. */
export function createRollupLoop({ db, background, now, log }: Deps): Loop {
  return createLoop({
    name: 'rollups',
    log,
    work: async () => {
      const time = now();
      const isDue =
        (await oldestRollupDue(db, endedBy(time))) !== null ||
        (await oldestReportDayDue(db, daysEndedBy(time))) !== null;
      if (isDue) await background.send(db, rollupQueue, {}, { key: 'all' });
      return everyMs;
    },
  });
}
