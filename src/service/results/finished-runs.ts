import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Db } from '../db/database.ts';
import { isDatabaseDown } from '../db/trouble.ts';
import {
  forgetFinishedRuns,
  isAnyRunFinished,
  lastQueuedRun,
  lockFinishedRuns,
  postponeFinishedRuns,
  type FinishedRun,
  type LockedRun,
} from './finished-run-statements.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { createLooks } from '../engine/looks.ts';
import { lookingFirst } from '../engine/looking-first.ts';

/**
 * Followers of finished runs: alerts, error groups, incidents. A result queues its run in its own transaction, so
 * that a crash loses none. Each run is then followed once, in one transaction with all its effects. What is left to
 * follow is only in the database: nothing continues in memory after a commit, whose answer may be lost.
 */

/**
 * Processes these runs, oldest first, within `tx`. Two replicas may process runs of the same check, so a follower
 * first locks the rows that it writes (`for update`).
 */
export type RunFollower = (tx: Db, runs: readonly FinishedRun[]) => Promise<void>;

/** Run parts per transaction, which must not block the embedded database for long. */
const batch = 100;
const idleMs = 400;
const maxFailures = 10;

/** Creates the loop that passes finished runs to the followers. */
export function createFinishedRuns(options: {
  db: Db;
  followers: readonly RunFollower[];
  now: () => number;
  log: Log;
}): Loop {
  const { db, followers, now, log } = options;

  async function follow(tx: Db, runs: readonly LockedRun[]): Promise<void> {
    for (const follower of followers) await follower(tx, runs);
    await forgetFinishedRuns(
      tx,
      runs.flatMap(({ rowIds }) => rowIds),
    );
  }

  const take = (tx: Db, limit: number) => lockFinishedRuns(tx, { limit, now: new Date(now()) });

  /**
   * Processes one run at a time. A run that fails is postponed, with all later runs of its check, and given up in the
   * end.
   */
  async function followEach(): Promise<void> {
    for (let done = 0; done < batch; done++) {
      let run: LockedRun | undefined;
      try {
        await db.tx(async (tx) => {
          [run] = await take(tx, 1);
          if (run !== undefined) await follow(tx, [run]);
        });
      } catch (error) {
        // The run is not at fault when the database is: it stays where it is, in its place.
        if (run === undefined || isDatabaseDown(error)) throw error;
        const { checkId, runId, rowIds } = run;
        const until = new Date(now() + 5_000);
        const given = await postponeFinishedRuns(db, { rowIds, until, maxFailures });
        const outcome = given > 0 ? 'given up' : 'postponed';
        log.error({ checkId, runId, error: toError(error).message, outcome }, 'a run could not be followed');
      }
      if (run === undefined) return;
    }
  }

  const looks = createLooks(now);
  /** Rows up to here had been queued at the full look before the last one. */
  let seen = 0;
  let queued = 0;
  /** A row that a transaction adds for longer than that, or one that waits for other locations, is found by a full look. */
  const isAny = () =>
    looks.look(async (isFull) => {
      if (!isFull) return isAnyRunFinished(db, { after: seen, now: new Date(now()) });
      const last = await lastQueuedRun(db);
      const found = await isAnyRunFinished(db, { after: 0, now: new Date(now()) });
      // A database that was restored counts from an earlier number.
      [seen, queued] = [last < queued ? 0 : queued, last];
      return found;
    });

  const followSome = lookingFirst(isAny, async () => {
    let rows = 0;
    try {
      await db.tx(async (tx) => {
        const runs = await take(tx, batch);
        rows = runs.reduce((sum, { rowIds }) => sum + rowIds.length, 0);
        if (runs.length > 0) await follow(tx, runs);
      });
    } catch (error) {
      if (rows === 0 || isDatabaseDown(error)) throw error;
      await followEach();
    }
    return rows;
  });
  return createLoop({
    name: 'finished runs',
    log,
    work: async () => ((await followSome()) >= batch ? 0 : idleMs),
  });
}
