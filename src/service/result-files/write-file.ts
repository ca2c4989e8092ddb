import type { NamedFiles } from '../artifacts/named-files.ts';
import type { Db } from '../db/database.ts';
import { CommitUnknown } from '../db/trouble.ts';
import { uuidv7 } from '../engine/ids.ts';
import { minuteMs } from '../../durations.ts';
import type { FileRow } from './columns.ts';
import { insertFile, pathOf, type Stretch } from './file-statements.ts';
import { writeParquet } from './write-parquet.ts';

/** Writes a file with results, and then what names it. */

/** A file without rows that name it is deleted after an hour (clean-up.ts), so it is not named any more after this time. */
const longestMs = 30 * minuteMs;

type Options = {
  db: Db;
  files: NamedFiles;
  now: () => number;
  accountId: string;
  day: Date;
  /** By check and newest first; never empty. */
  rows: readonly FileRow[];
  /** In the transaction that names the file: takes the same results away from where they were. False = they have changed. */
  take: (tx: Db) => Promise<boolean>;
};

/**
 * Moves results into a file. First the file is made and durable; then one transaction names it and takes the results away
 * from their old place. A crash leaves a file that nothing names. Returns whether the results are in the file now.
 */
export async function moveToFile({ db, files, now, accountId, day, rows, take }: Options): Promise<boolean> {
  const began = now();
  const { bytes, footerDigest } = await writeParquet(rows, accountId);
  const file = { id: uuidv7(began), accountId, day, rows: rows.length, bytes: bytes.length, footerDigest };
  await files.put(pathOf(file), bytes);
  let isDone = false;
  try {
    isDone = now() - began < longestMs && (await named());
  } catch (error) {
    // The transaction may be committed.
    isDone = error instanceof CommitUnknown;
    throw error;
  } finally {
    if (!isDone) await files.remove(pathOf(file));
  }
  return isDone;

  async function named(): Promise<boolean> {
    try {
      await db.tx(async (tx) => {
        if (!(await take(tx))) throw new Changed();
        await insertFile(tx, file, stretchesOf(rows), new Date(now()));
      });
      return true;
    } catch (error) {
      if (error instanceof Changed) return false;
      throw error;
    }
  }
}

/** Rolls the transaction back. */
class Changed extends Error {}

/** Where the results of each check are in a file of these rows. */
export function stretchesOf(rows: readonly FileRow[]): Omit<Stretch, 'file'>[] {
  const stretches: Omit<Stretch, 'file'>[] = [];
  for (let from = 0; from < rows.length;) {
    const checkId = rows[from]?.check_id;
    let to = from + 1;
    while (to < rows.length && rows[to]?.check_id === checkId) to++;
    stretches.push({
      checkId: String(checkId),
      newest: new Date(Number(rows[from]?.started_at)),
      oldest: new Date(Number(rows[to - 1]?.started_at)),
      firstRow: from,
      rows: to - from,
    });
    from = to;
  }
  return stretches;
}
