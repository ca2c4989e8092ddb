import { sqlState, type Db } from '../db/database.ts';
import {
  checksInOrder,
  readMoving,
  sharesOfChecks,
  type CheckKey,
  type CheckShare,
  type MovingRow,
} from './move-statements.ts';

/** Finds the results of a day that may move, and reads them, in statements that stay short and small. */

/** Fewer results of an account and a day stay in the table, because a file would take more space. */
const leastRows = 100;
/** Checks whose ids are read together. */
const idsAtOnce = 10_000;
/** Checks whose results are counted in the first statement; the next ones take as many as have about `rowsAtOnce`. */
const firstChecks = 10;
const mostChecks = 2_000;
const growth = 4;
const rowsAtOnce = { embedded: 5_000, server: 100_000 };
/** Of results that are read together: bytes of their texts. A replica has a few copies of them in memory. */
const readLength = 8 * 1024 * 1024;
/** Results that the first statement looks at; the next ones look at about as many as `readLength` allows. */
const firstRows = 500;
const fewestRows = 20;

const queryCancelled = '57014';

type Day = { day: Date; now: () => number };

/**
 * How many results may move, by account and check. It counts those of a few checks at a time, and ends early when `goOn`
 * says so.
 */
export async function* sharesOfDay(
  db: Db,
  { day, now, goOn }: Day & { goOn: () => Promise<boolean> },
): AsyncGenerator<CheckShare> {
  let size = firstChecks;
  for (let after: CheckKey | null = null; ;) {
    const checks: CheckKey[] = await checksInOrder(db, { after, limit: idsAtOnce });
    for (let from = 0; from < checks.length;) {
      if (!(await goOn())) return;
      const checkIds = checks.slice(from, from + size).map(({ checkId }) => checkId);
      const shares = await sharesOfChecks(db, { day, now: now(), checkIds }).catch((error: unknown) => {
        if (sqlState(error) !== queryCancelled || checkIds.length === 1) throw error;
        return null;
      });
      if (shares === null) {
        // It took too long.
        size = Math.ceil(checkIds.length / growth);
        continue;
      }
      yield* shares;
      from += checkIds.length;
      const rows = shares.reduce((sum, share) => sum + share.rows, 1);
      const fitting = Math.ceil((checkIds.length * rowsAtOnce[db.kind]) / rows);
      size = Math.min(fitting, size * growth, mostChecks);
    }
    after = checks.at(-1) ?? null;
    if (checks.length < idsAtOnce) return;
  }
}

/** Checks of an account whose results go to one file, or one check with more results. */
export type Portion = { accountId: string; checkIds: string[] };

/** Divides checks into portions. Accounts with few results have none. */
export async function* portionsOf(
  shares: AsyncIterable<CheckShare>,
  { mostRows, mostBytes }: { mostRows: number; mostBytes: number },
): AsyncGenerator<Portion> {
  let account = '';
  let ofAccount = 0;
  let full: Portion[] = [];
  let last: (Portion & { rows: number; bytes: number }) | null = null;
  // The first portions of an account wait until it is known that it has enough results.
  const ready = (): Portion[] => (ofAccount < leastRows ? [] : full.splice(0));
  const ended = (): Portion[] => (ofAccount < leastRows || last === null ? [] : [...full, last]);
  for await (const { accountId, checkId, rows, bytes } of shares) {
    if (accountId !== account) {
      yield* ended();
      [account, ofAccount, full, last] = [accountId, 0, [], null];
    }
    ofAccount += rows;
    if (last !== null && last.rows + rows <= mostRows && last.bytes + bytes <= mostBytes) {
      last.checkIds.push(checkId);
      last.rows += rows;
      last.bytes += bytes;
    } else {
      if (last !== null) full.push(last);
      last = { accountId, checkIds: [checkId], rows, bytes };
    }
    yield* ready();
  }
  yield* ended();
}

/** The results of a portion, a few at a time. */
export type MovingResults = {
  /** The next results, by check and newest first, at most `most`; none = there are no more. */
  next: (most: number) => Promise<MovingRow[]>;
};

/** Reads the results of a portion in their order. */
export function createMovingResults(
  db: Db,
  { day, now, portion }: Day & { portion: Portion },
): MovingResults {
  let { checkIds } = portion;
  let after: MovingRow | null = null;
  let limit = firstRows;
  let isEnd = false;
  return {
    next: async (most) => {
      if (isEnd) return [];
      const asked = Math.min(most, limit);
      const rows = await readMoving(db, {
        day,
        now: now(),
        accountId: portion.accountId,
        checkIds,
        after,
        limit: asked,
        mostLength: readLength,
      });
      const last = rows.at(-1);
      isEnd = last === undefined || (rows.length === last.found && last.found < asked);
      if (last === undefined) return [];
      after = last;
      checkIds = checkIds.slice(checkIds.indexOf(String(last.check_id)));
      const length = rows.reduce((sum, row) => sum + row.length, 1);
      limit = Math.max(fewestRows, Math.ceil((2 * rows.length * readLength) / length));
      return rows;
    },
  };
}
