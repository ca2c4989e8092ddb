import type { Log } from '../../log.ts';
import type { CheckType } from '../../protocol/check-types.ts';
import type { Background } from '../engine/background.ts';
import type { Db } from '../db/database.ts';
import { StoreUnavailable } from '../artifacts/unavailable.ts';
import { oldestRollupDue, makeRollupPartition, rollUp, takeRollupsDue } from './rollup-statements.ts';
import { makeReportDays, oldestReportDayDue } from './report-day-statements.ts';
import { refreshDayFigures } from './day-figures.ts';
import type { RunFollower } from '../results/finished-runs.ts';
import { noteRollupsDue } from '../results/rollups-due.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { dayMs, hourMs } from '../../durations.ts';

/**
 * Keeps rollups up to date. Results mark their check and hour as outdated.
 * When the hour is over, a background item computes the rollup; a late result marks the hour again. Days are computed
 * from hours in the same way.
 * Analytics read outdated hours from raw results, so nothing is missing in between.
 */
export const rollupQueue = 'rollups';

/**
 * Delay after the end of an hour, so that most late results are included at once. Replicas rely on it: they mark an hour
 * once, and results that come within seconds find it marked (`createHourMarks`).
 */
const graceMs = 5 * 60_000;
/** Checks per transaction, few enough not to block the embedded database. */
const batch = 10;
const everyMs = 60_000;

/** Follows finished runs and marks the hours of their checks. */
export const noteRollups: RunFollower = (tx, runs) =>
  noteRollupsDue(
    tx,
    runs.flatMap(({ checkId, parts }) => parts.map(({ startedAt }) => ({ checkId, startedAt }))),
  );

type Deps = { db: Db; background: Background; now: () => number; log: Log };

const endedBy = (time: number) => new Date(time - hourMs - graceMs);
/** Delay after the end of a day, by which its last hour is rolled up. */
const daysEndedBy = (time: number) => new Date(time - dayMs - hourMs);

/** Call before `background.prepare()`. Each item computes all rollups that are due. */
export function handleRollups({ db, background, now, log }: Deps): void {
  const rollUpHour = (hour: Date): Promise<number> =>
    db.tx(async (tx) => {
      const due = await takeRollupsDue(tx, { hour, limit: batch });
      for (const [checkType, checkIds] of byType(due.checks)) await rollUp(tx, { checkType, checkIds, hour });
      const checkIds = due.checks.map(({ id }) => id);
      if (hour.getTime() > now() - dayMs) await refreshDayFigures(tx, { checkIds, hour });
      return due.taken;
    });
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
      const unreadable: Date[] = [];
      while (!signal.aborted) {
        const hour = await oldestRollupDue(db, { before: endedBy(now()), except: unreadable });
        if (hour === null) break;
        await makeRollupPartition(db, hour);
        try {
          // Otherwise another replica is working on the rest of this hour.
          if ((await rollUpHour(hour)) === 0) break;
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) throw error;
          // A file with results of that hour is damaged or not reachable. Later hours need not wait for it.
          log.warn({ hour, error: error.message }, 'an hour cannot be rolled up now');
          unreadable.push(hour);
        }
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

/** Queues an item when rollups are due. Any replica may do so; at most one item waits. */
export function createRollupLoop({ db, background, now, log }: Deps): Loop {
  return createLoop({
    name: 'rollups',
    log,
    work: async () => {
      const time = now();
      const isDue =
        (await oldestRollupDue(db, { before: endedBy(time), except: [] })) !== null ||
        (await oldestReportDayDue(db, daysEndedBy(time))) !== null;
      if (isDue) await background.send(db, rollupQueue, {}, { key: 'all' });
      return everyMs;
    },
  });
}
