import { toError } from '../../errors.ts';
import { dayMs, hourMs, minuteMs } from '../../durations.ts';
import type { Log } from '../../log.ts';
import type { NamedFiles } from '../artifacts/named-files.ts';
import { sqlState, type Db } from '../db/database.ts';
import { uuidv7 } from '../engine/ids.ts';
import {
  daysInTable,
  deleteMoved,
  finishDay,
  readMoving,
  sharesOfDay,
  shrinkDay,
  takeDay,
  type CheckShare,
} from './move-statements.ts';
import { moveToFile } from './write-file.ts';

/** Moves results of whole days (UTC) from the database into files. */

/** Results arrive up to a day late; those that still come later stay in the table until enough of them are there. */
const graceMs = 2 * hourMs;
/** Fewer results of an account and a day stay in the table, because a file would take more space. */
const leastRows = 100;
/** A day is looked at again after this time, for results that could not move or came late. */
const againMs = dayMs;
const takenMs = 10 * minuteMs;
/** Stored bytes of the bodies in one file. In memory they take up to ten times as much. */
const fileBytes = 8 * 1024 * 1024;
/** Results in one file. The embedded database does nothing else while it reads or deletes them. */
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
      if (ofDay > 0) await shrink(options, day);
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

async function shrink({ db, log }: Options, day: Date): Promise<void> {
  try {
    await shrinkDay(db, day);
  } catch (error) {
    log.warn({ day, error: toError(error).message }, 'the space of moved results was not given back');
  }
}

type Day = { day: Date; keep: () => Promise<boolean>; signal: AbortSignal };

async function moveDay(options: Options, { day, keep, signal }: Day): Promise<number> {
  const { db, log, now } = options;
  let moved = 0;
  const shares = await sharesOfDay(db, { day, now: now() });
  for (const { accountId, checkIds, limit } of portionsOf(shares, fileRows[db.kind])) {
    // A portion of one check may have more results than one file.
    for (;;) {
      if (signal.aborted || !(await keep())) return moved;
      const rows = await readMoving(db, { day, now: now(), accountId, checkIds, limit });
      if (rows.length === 0) break;
      const take = async (tx: Db) => (await deleteMoved(tx, day, rows)) === rows.length;
      if (!(await moveToFile({ ...options, accountId, day, rows, take }))) {
        log.info({ day, accountId }, 'results changed while they were moved; they are moved later');
        break;
      }
      moved += rows.length;
      await new Promise((resolve) => setTimeout(resolve, pauseMs[db.kind]));
      if (rows.length < limit) break;
    }
  }
  if (moved > 0) log.info({ day, results: moved }, 'results moved to files');
  return moved;
}

type Portion = { accountId: string; checkIds: string[]; limit: number };

/** Divides the checks of a day into portions for one file each. Accounts with few results have none. */
export function portionsOf(shares: readonly CheckShare[], mostRows: number): Portion[] {
  const ofAccounts = new Map<string, number>();
  for (const { accountId, rows } of shares)
    ofAccounts.set(accountId, (ofAccounts.get(accountId) ?? 0) + rows);
  const portions: (Portion & { rows: number; bytes: number })[] = [];
  for (const { accountId, checkId, rows, bytes } of shares) {
    if ((ofAccounts.get(accountId) ?? 0) < leastRows) continue;
    const last = portions.at(-1);
    const fits =
      last?.accountId === accountId && last.rows + rows <= mostRows && last.bytes + bytes <= fileBytes;
    if (last !== undefined && fits) {
      last.checkIds.push(checkId);
      last.rows += rows;
      last.bytes += bytes;
    } else {
      const limit = Math.max(1, Math.min(mostRows, Math.floor((rows * fileBytes) / Math.max(1, bytes))));
      portions.push({ accountId, checkIds: [checkId], limit, rows, bytes });
    }
  }
  // More than one check: they fit as a whole.
  return portions.map(({ accountId, checkIds, limit }) => ({
    accountId,
    checkIds,
    limit: checkIds.length > 1 ? mostRows : limit,
  }));
}
