import type { Log } from '../../log.ts';
import { laneOf } from '../../protocol/check-types.ts';
import type { Db } from '../db/database.ts';
import { deleteOldSamples, insertQueueWaits, sampleLocations, type QueueName } from './figure-statements.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { dayMs } from '../../durations.ts';

/** Samples locations once a minute and records how long runs wait there for an agent. */

/** How long samples are kept. */
export const sampleDays = 15;
const waitsKeptMs = 10 * 60_000;
const everyMs = 20_000;
const deletedAtOnce = 5_000;

/** Creates the loop that takes the samples. The first replica of each minute takes them. */
export function createLocationSampling({ db, now, log }: { db: Db; now: () => number; log: Log }): Loop {
  let cleanedAt = 0;
  return createLoop({
    name: 'location samples',
    log,
    work: async () => {
      const time = now();
      await sampleLocations(db, new Date(time));
      if (time - cleanedAt > waitsKeptMs) {
        const deleted = await deleteOldSamples(db, {
          samplesBefore: new Date(time - sampleDays * dayMs),
          waitsBefore: new Date(time - waitsKeptMs),
          limit: deletedAtOnce,
        });
        if (deleted < deletedAtOnce) cleanedAt = time;
      }
      return everyMs;
    },
  });
}

/** Collects how long runs waited in memory, and writes it every few seconds. */
export type QueueWaits = {
  record(wait: { locationId: string; lane: string; milliseconds: number }): void;
  loop: Loop;
};

/** Waits kept between two writes. Further ones are dropped. */
const maxWaits = 20_000;
const flushMs = 5_000;

/** In the figures, suites and scripts share a queue; uptime checks have their own. */
const queueOf = (lane: string): QueueName => (lane === laneOf.URL ? 'uptime' : 'main');

/** Creates the collector and the loop that writes its figures. */
export function createQueueWaits({ db, now, log }: { db: Db; now: () => number; log: Log }): QueueWaits {
  let waits: { locationId: string; queue: QueueName; milliseconds: number }[] = [];
  return {
    record: ({ locationId, lane, milliseconds }) => {
      if (waits.length >= maxWaits) return;
      waits.push({ locationId, queue: queueOf(lane), milliseconds: Math.max(0, milliseconds) });
    },
    loop: createLoop({
      name: 'queue waits',
      log,
      work: async () => {
        const taken = waits;
        waits = [];
        if (taken.length > 0) await insertQueueWaits(db, taken, new Date(now()));
        return flushMs;
      },
    }),
  };
}
