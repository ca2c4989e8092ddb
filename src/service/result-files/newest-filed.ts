import { dayMs, minuteMs } from '../../durations.ts';
import type { Queryable } from '../db/database.ts';
import type { WantedResults } from '../db/filed-results.ts';
import { newestDay } from './file-statements.ts';

/** Knows which statements need no files, so that those on the results of today do not look for any. */

/** Results stay in the table for at least a day after their own day, so later ones are in no file if the clock was right. */
const neverFiledMs = dayMs;
/** Replicas whose clock was set ahead may have moved later days. They follow a new time for longer than this. */
const knownMs = minuteMs;

/** Whether wanted results may be in files. */
export type MayBeFiled = (db: Queryable, wanted: WantedResults) => Promise<boolean>;

/** Reads the newest day that is in files, again after a minute. */
export function createMayBeFiled(now: () => number): MayBeFiled {
  let readAt = -Infinity;
  /** Results of this time and later ones are in no file. */
  let end = -Infinity;
  return async (db, { spans }) => {
    const startsBefore = (time: number) => spans.some(({ from }) => from === null || from.getTime() < time);
    if (startsBefore(now() - neverFiledMs)) return true;
    if (Math.abs(now() - readAt) >= knownMs) {
      const day = await newestDay(db);
      end = day === null ? -Infinity : day.getTime() + dayMs;
      readAt = now();
    }
    return startsBefore(end);
  };
}
