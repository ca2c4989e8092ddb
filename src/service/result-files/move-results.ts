import { toError } from '../../errors.ts';
import { dayMs, hourMs, minuteMs } from '../../durations.ts';
import type { Log } from '../../log.ts';
import type { NamedFiles } from '../artifacts/named-files.ts';
import { sqlState, type Db } from '../db/database.ts';
import { uuidv7 } from '../engine/ids.ts';
import { giveBackSpace } from './give-back.ts';
import { daysInTable, deleteMoved, finishDay, takeDay, type MovedKey } from './move-statements.ts';
import { createMovingResults, portionsOf, sharesOfDay, type Portion } from './moving-results.ts';
import { moveToFile } from './write-file.ts';

/** Moves results of whole days (UTC) from the database into files. */

/** Results arrive up to a day late; those that still come later stay in the table until enough of them are there. */
const graceMs = 2 * hourMs;
/** A day is looked at again after this time, for results that could not move or came late. */
const againMs = dayMs;
const takenMs = 10 * minuteMs;
/** Bytes of a file. */
const fileBytes = 8 * 1024 * 1024;
/** Results in one file. The embedded database does nothing else while it deletes them. */
const fileRows = { embedded: 3_000, server: 20_000 };
/** Between two files, so that a service of one process does its other work. */
const pauseMs = { embedded: 100, server: 0 };

type Options = {
  db: Db;
  files: NamedFiles;
  now: () => number;
  log: Log;
  /** Days that results stay in the table after their own. */
  afterDays: number;
};

/** Moves all results that are old enough. Returns how many. It ends early when `signal` is aborted. */
export async function moveOldResults(options: Options, signal: AbortSignal): Promise<number> {
  const { db, now, afterDays } = options;
  const replica = uuidv7();
  let moved = 0;
  for (const day of await daysInTable(db, new Date(now() - afterDays * dayMs - graceMs))) {
    const keep = () =>
      takeDay(db, {
        day,
        replica,
        now: new Date(now()),
        until: new Date(now() + takenMs),
        lookedBefore: new Date(now() - againMs),
      });
    if (signal.aborted) break;
    if (!(await keep())) continue;
    let isLooked = false;
    try {
      const ofDay = await moveDay(options, { day, keep, signal });
      moved += ofDay;
      isLooked = !signal.aborted;
      await giveBackSpace(options, { day, moved: ofDay });
    } catch (error) {
      // A statement that takes too long would do so again. Other days need not wait for this one, which rests for a day.
      if (sqlState(error) !== '57014') throw error;
      isLooked = true;
      options.log.error({ day, err: toError(error) }, 'results of a day cannot be moved to files');
    } finally {
      await finishDay(db, { day, replica, now: isLooked ? new Date(now()) : null });
    }
  }
  return moved;
}

type Day = { day: Date; keep: () => Promise<boolean>; signal: AbortSignal };

async function moveDay(options: Options, { day, keep, signal }: Day): Promise<number> {
  const { db, log, now } = options;
  const goOn = async () => !signal.aborted && (await keep());
  const most = { mostRows: fileRows[db.kind], mostBytes: fileBytes };
  let moved = 0;
  for await (const portion of portionsOf(sharesOfDay(db, { day, now, goOn }), most))
    moved += await movePortion(options, { day, goOn, portion });
  if (moved > 0) log.info({ day, results: moved }, 'results moved to files');
  return moved;
}

/** Moves the results of a portion to one file, or to several if they are too many. Returns how many it moved. */
async function movePortion(
  options: Options,
  { day, goOn, portion }: { day: Date; goOn: () => Promise<boolean>; portion: Portion },
): Promise<number> {
  const { db, log, now } = options;
  const { accountId } = portion;
  const results = createMovingResults(db, { day, now, portion });
  const most = fileRows[db.kind];
  for (let moved = 0; ;) {
    if (!(await goOn())) return moved;
    const keys: MovedKey[] = [];
    async function* parts() {
      while (keys.length < most) {
        const rows = await results.next(most - keys.length);
        if (rows.length === 0) return;
        for (const { id, started_at: at, version } of rows)
          keys.push({ id: String(id), startedAt: new Date(Number(at)), version });
        yield rows;
      }
    }
    const take = async (tx: Db) => (await deleteMoved(tx, day, keys)) === keys.length;
    const isMoved = await moveToFile({
      ...options,
      accountId,
      day,
      parts: parts(),
      mostBytes: fileBytes,
      take,
    });
    if (keys.length === 0) return moved;
    if (!isMoved) {
      log.info({ day, accountId }, 'results changed while they were moved; they are moved later');
      return moved;
    }
    moved += keys.length;
    await new Promise((resolve) => setTimeout(resolve, pauseMs[db.kind]));
  }
}
