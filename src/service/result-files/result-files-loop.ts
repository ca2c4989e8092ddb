import { dayMs, hourMs, minuteMs } from '../../durations.ts';
import type { Log } from '../../log.ts';
import { DiskFull } from '../artifacts/files.ts';
import type { NamedFiles } from '../artifacts/named-files.ts';
import { StoreUnavailable } from '../artifacts/unavailable.ts';
import type { Db } from '../db/database.ts';
import { dayOf } from '../db/partitions.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { cleanResultFiles, sweepResultFiles } from './clean-up.ts';
import { moveOldResults } from './move-results.ts';
import { readUnreadableAgain } from './whole-files.ts';

const everyMs = 10 * minuteMs;
const sweepEveryMs = 6 * hourMs;

/** Creates the loop that moves old results to files, deletes files that are due and notes unreadable ones. Any number of replicas may run it. */
export function createResultFilesLoop(options: {
  db: Db;
  files: NamedFiles;
  now: () => number;
  log: Log;
  /** Days that results stay in the database; 0 = they are not moved. */
  afterDays: number;
  /** Days that results are kept. */
  resultDays: number;
}): Loop {
  const { now, log, afterDays, resultDays } = options;
  let stopping = new AbortController();
  let sweptAt = -Infinity;
  const loop = createLoop({
    name: 'result files',
    log,
    work: async () => {
      const { signal } = stopping;
      const first = new Date(dayOf(now() - resultDays * dayMs));
      while (!signal.aborted && (await cleanResultFiles(options, first)));
      if (afterDays > 0) await move(signal);
      await readUnreadableAgain(options);
      if (!signal.aborted && now() - sweptAt >= sweepEveryMs) {
        await sweepResultFiles(options);
        sweptAt = now();
      }
      return everyMs;
    },
  });
  async function move(signal: AbortSignal): Promise<void> {
    try {
      await moveOldResults(options, signal);
    } catch (error) {
      if (!(error instanceof DiskFull || error instanceof StoreUnavailable)) throw error;
      // The results stay in the database. Each try makes a whole file, so the next one is not soon.
      log.warn({ error: error.message, retryInMs: everyMs }, 'results cannot be moved to files');
    }
  }

  return {
    start: () => {
      stopping = new AbortController();
      loop.start();
    },
    stop: () => {
      stopping.abort();
      return loop.stop();
    },
    tick: loop.tick,
  };
}
