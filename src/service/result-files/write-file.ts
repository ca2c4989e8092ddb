import type { NamedFiles } from '../artifacts/named-files.ts';
import type { Db } from '../db/database.ts';
import { CommitUnknown } from '../db/trouble.ts';
import { uuidv7 } from '../engine/ids.ts';
import { minuteMs } from '../../durations.ts';
import { codeOf } from '../../system-errors.ts';
import type { FileRow } from './columns.ts';
import { insertFile, pathOf, type Stretch } from './file-statements.ts';
import { createParquetFile } from './write-parquet.ts';

/** Writes a file with results, and then what names it. */

/** A file without rows that name it is deleted after an hour (clean-up.ts), so it is not named any more after this time. */
const longestMs = 30 * minuteMs;

type Options = {
  db: Db;
  files: NamedFiles;
  now: () => number;
  accountId: string;
  day: Date;
  /** Parts of the rows, by check and newest first. Only one of them is in memory at a time. */
  parts: AsyncIterable<readonly FileRow[]>;
  /** No further part is taken when the file has so many bytes. */
  mostBytes: number;
  /** In the transaction that names the file: takes the same results away from where they were. False = they have changed. */
  take: (tx: Db) => Promise<boolean>;
};

/**
 * Moves results into a file. First the file is made and durable; then one transaction names it and takes the results away
 * from their old place. A crash leaves a file that nothing names. Returns whether the results are in the file now; false
 * also if there are none.
 */
export async function moveToFile({
  db,
  files,
  now,
  accountId,
  day,
  parts,
  mostBytes,
  take,
}: Options): Promise<boolean> {
  const began = now();
  const written = createParquetFile(accountId);
  const stretches: OwnStretch[] = [];
  for await (const rows of parts) {
    await written.add(rows);
    addStretches(stretches, rows);
    if (written.bytes() >= mostBytes) break;
  }
  const rows = stretches.reduce((sum, stretch) => sum + stretch.rows, 0);
  if (rows === 0) return false;
  const { bytes, footerDigest } = await written.finish();
  const file = { id: uuidv7(began), accountId, day, rows, bytes: bytes.length, footerDigest };
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
  if (isDone) await putAgainIfMissing();
  return isDone;

  /** A replica whose clock was set may have taken the file for an old one before it was named. */
  async function putAgainIfMissing(): Promise<void> {
    const isThere = await files.read(pathOf(file), { start: file.bytes - 1, end: file.bytes }).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) === 'ENOENT') return false;
        throw error;
      },
    );
    if (!isThere) await files.put(pathOf(file), bytes);
  }

  async function named(): Promise<boolean> {
    try {
      await db.tx(async (tx) => {
        if (!(await take(tx))) throw new Changed();
        await insertFile(tx, file, stretches, new Date(now()));
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

type OwnStretch = Omit<Stretch, 'file'>;

/** Adds to `stretches` where the results of each check are, of rows that follow those before in a file. */
export function addStretches(stretches: OwnStretch[], rows: readonly FileRow[]): void {
  const last = stretches.at(-1);
  let firstRow = last === undefined ? 0 : last.firstRow + last.rows;
  for (const { check_id: id, started_at: at } of rows) {
    const stretch = stretches.at(-1);
    const startedAt = new Date(Number(at));
    if (stretch?.checkId === id) {
      stretch.oldest = startedAt;
      stretch.rows++;
    } else stretches.push({ checkId: String(id), newest: startedAt, oldest: startedAt, firstRow, rows: 1 });
    firstRow++;
  }
}
