import type { Log } from '../../log.ts';
import type { Db } from '../db/database.ts';
import { createLoop, type Loop } from './loop.ts';
import { createVacuum } from './vacuum.ts';

/** Deletes a limited number of old items of one subject. Resolves with true if more are left. */
export type CleanUp = (time: number) => Promise<boolean>;

const everyMs = 10 * 60_000;

/**
 * Runs the clean-ups in order every ten minutes, and again at once while one of them reports that more is left.
 * `time` is milliseconds since the epoch. Several replicas may run it at the same time.
 */
export function createRetentionLoop(options: {
  db: Db;
  cleanUps: readonly CleanUp[];
  now: () => number;
  log: Log;
}): Loop {
  const { db, cleanUps, now, log } = options;
  const cleaning = createLoop({
    name: 'retention',
    log,
    work: async () => {
      const time = now();
      let isMore = false;
      for (const cleanUp of cleanUps) isMore = (await cleanUp(time)) || isMore;
      return isMore ? 0 : everyMs;
    },
  });
  // A PostgreSQL server vacuums by itself.
  const loops = db.kind === 'embedded' ? [cleaning, createVacuum({ db, log })] : [cleaning];
  return {
    start: () => {
      for (const loop of loops) loop.start();
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
    tick: async () => {
      for (const loop of loops) await loop.tick();
    },
  };
}
