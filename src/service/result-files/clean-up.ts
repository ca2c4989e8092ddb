import { dayMs, hourMs } from '../../durations.ts';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { NamedFiles } from '../artifacts/named-files.ts';
import { StoreUnavailable } from '../artifacts/unavailable.ts';
import type { Db } from '../db/database.ts';
import { timeOfUuidv7 } from '../engine/ids.ts';
import { columnNames, type FileRow } from './columns.ts';
import {
  countReadable,
  deleteFile,
  existingChecks,
  filesOfDeletedChecks,
  forgetReplaced,
  idOfPath,
  isNeeded,
  knownFiles,
  noteReadable,
  noteReplaced,
  oldFiles,
  pathOf,
  replacedFiles,
  stretchesOfFile,
  type ResultFile,
  type Stretch,
} from './file-statements.ts';
import { forgetDays } from './move-statements.ts';
import { createOpenFiles, piecesOf, rowsOf } from './open-file.ts';
import { readRows } from './read-parquet.ts';
import { noteMissing } from './whole-files.ts';
import { moveToFile } from './write-file.ts';

/** Deletes files with results past their retention, results of deleted checks, and files that nothing names. */

type Options = { db: Db; files: NamedFiles; now: () => number; log: Log };

const filesAtOnce = 100;
/** Files of deleted checks that are rewritten in one go. */
const rewrittenAtOnce = 20;
/**
 * A file that nothing names is younger than this while it is being moved (write-file.ts). Its id has the time by the clock that
 * all replicas follow; the store has another clock.
 */
const unnamedMs = hourMs;

/** Deletes what is due, a limited number of files. `before`: the first day that is kept. Returns whether more is left. */
export async function cleanResultFiles(options: Options, before: Date): Promise<boolean> {
  const { db } = options;
  const old = await oldFiles(db, { before, limit: filesAtOnce });
  for (const file of old) await drop(options, file);
  await forgetDays(db, before);
  const replaced = await removeReplaced(options, before);
  const outdated = await filesOfDeletedChecks(db, rewrittenAtOnce);
  for (const file of outdated) await withoutDeletedChecks(options, file);
  return [old.length, replaced].includes(filesAtOnce) || outdated.length === rewrittenAtOnce;
}

/** The rows that name it go first: a file without them is deleted at the latest by `sweepResultFiles`. */
async function drop({ db, files }: Options, file: ResultFile): Promise<void> {
  await deleteFile(db, file.id);
  await files.remove(pathOf(file));
}

/** A file whose replacement may be lost in a failover to another database server stays for so long. */
const replacedMs = dayMs;

/** Returns how many files were removed. */
async function removeReplaced({ db, files, now }: Options, before: Date): Promise<number> {
  const until = new Date(now() - replacedMs);
  const replaced = await replacedFiles(db, { until, before, limit: filesAtOnce });
  for (const file of replaced) {
    await files.remove(pathOf(file));
    await forgetReplaced(db, file.id);
  }
  return replaced.length;
}

/** Replaces a file by one without the results of checks that do not exist any more. */
async function withoutDeletedChecks(options: Options, file: ResultFile): Promise<void> {
  const { db, files, now, log } = options;
  const stretches = await stretchesOfFile(db, file.id);
  const existing = await existingChecks(
    db,
    stretches.map(({ checkId }) => checkId),
  );
  const kept = stretches.filter(({ checkId }) => existing.has(checkId));
  if (kept.length === 0) return drop(options, file);
  const { accountId, day } = file;
  const parts = rowsOfStretches(files, file, kept);
  const take = async (tx: Db) => {
    if (!(await deleteFile(tx, file.id))) return false;
    await noteReplaced(tx, file, new Date(now()));
    return true;
  };
  try {
    await moveToFile({ ...options, accountId, day, parts, mostBytes: Infinity, take });
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    // Its turn comes again when it can be read (whole-files.ts); other work must not wait for it.
    log.error({ file: file.id, day, error: error.message }, 'a file with results cannot be read');
    await noteReadable(db, { id: file.id, unreadableSince: new Date(now()) });
  }
}

/** A file cannot be read, and the store is well. */
class Unreadable extends Error {}

const reading = async <Read>(read: Promise<Read>): Promise<Read> => {
  try {
    return await read;
  } catch (error) {
    throw error instanceof StoreUnavailable ? error : new Unreadable(toError(error).message);
  }
};

/** Bytes of values, before compression, that are read together. */
const readBytes = 8 * 1024 * 1024;

/** The rows of stretches, a limited number at a time. Rejects with Unreadable. */
async function* rowsOfStretches(
  files: NamedFiles,
  file: ResultFile,
  stretches: readonly Stretch[],
): AsyncGenerator<FileRow[]> {
  const opened = await reading(createOpenFiles(files)(file));
  for (const { group, ...piece } of stretches.flatMap((stretch) => piecesOf(stretch, opened))) {
    const { num_rows: count = 1n, total_byte_size: size = 0n } = opened.footer.row_groups[group] ?? {};
    const atOnce = Math.max(1, Math.floor((Number(count) * readBytes) / Math.max(1, Number(size))));
    for (let { from } = piece; from < piece.to; from += atOnce) {
      const rows = rowsOf({ from, to: Math.min(piece.to, from + atOnce) });
      const read = await reading(readRows(opened, { group, rows, names: columnNames }));
      yield rows.map((_, row) => {
        const values = columnNames.map((name) => [name, read[name]?.[row] ?? null] as const);
        return Object.fromEntries(values) as FileRow; // all of its columns
      });
    }
  }
}

/**
 * Deletes files that no row names: of moves that broke off, and of deletions that did. If fewer files are in the store than
 * rows name, it notes those that are missing.
 */
export async function sweepResultFiles(options: Options): Promise<void> {
  const { db, files, now } = options;
  const before = new Date(now());
  let found: { id: string; path: string; bytes: number }[] = [];
  let whole = 0;
  const sweep = async () => {
    const known = await knownFiles(
      db,
      found.map(({ id }) => id),
    );
    for (const { id, path, bytes } of found) {
      const named = path.endsWith(completeSuffix) ? known.get(id) : undefined;
      if (named === undefined) await removeUnnamed(options, { id, path });
      else if (named.bytes === bytes && named.isReadable && named.createdAt < before) whole++;
    }
    found = [];
  };
  for await (const { path, bytes } of files.list()) {
    const id = idOfPath(path);
    if (id === null) continue;
    found.push({ id, path, bytes });
    if (found.length === filesAtOnce) await sweep();
  }
  await sweep();
  if (whole < (await countReadable(db, before))) await noteMissing(options, before);
}

const completeSuffix = '.parquet';

async function removeUnnamed(
  { db, files, now }: Options,
  { id, path }: { id: string; path: string },
): Promise<void> {
  const begunAt = timeOfUuidv7(id);
  if (begunAt === null || begunAt > now() - unnamedMs) return;
  // It may have been named since the last look.
  if (path.endsWith(completeSuffix) && (await isNeeded(db, id))) return;
  await files.remove(path);
}
