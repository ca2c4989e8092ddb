import { hourMs } from '../../durations.ts';
import type { NamedFiles } from '../artifacts/named-files.ts';
import type { Db } from '../db/database.ts';
import { columnNames, type FileRow } from './columns.ts';
import {
  deleteFile,
  existingChecks,
  filesOfDeletedChecks,
  idOfPath,
  knownFiles,
  oldFiles,
  pathOf,
  stretchesOfFile,
  type ResultFile,
} from './file-statements.ts';
import { forgetDays } from './move-statements.ts';
import { createOpenFiles } from './open-file.ts';
import { readRows } from './read-parquet.ts';
import { moveToFile } from './write-file.ts';

/** Deletes files with results past their retention, results of deleted checks, and files that nothing names. */

type Options = { db: Db; files: NamedFiles; now: () => number };

const filesAtOnce = 100;
/** Files of deleted checks that are rewritten in one go. */
const rewrittenAtOnce = 20;
/** A file that nothing names is younger than this while it is being moved (write-file.ts). */
const unnamedMs = hourMs;

/** Deletes what is due, a limited number of files. `before`: the first day that is kept. Returns whether more is left. */
export async function cleanResultFiles(options: Options, before: Date): Promise<boolean> {
  const { db } = options;
  const old = await oldFiles(db, { before, limit: filesAtOnce });
  for (const file of old) await drop(options, file);
  await forgetDays(db, before);
  const outdated = await filesOfDeletedChecks(db, rewrittenAtOnce);
  for (const file of outdated) await withoutDeletedChecks(options, file);
  return old.length === filesAtOnce || outdated.length === rewrittenAtOnce;
}

/** The rows that name it go first: a file without them is deleted at the latest by `sweepResultFiles`. */
async function drop({ db, files }: Options, file: ResultFile): Promise<void> {
  await deleteFile(db, file.id);
  await files.remove(pathOf(file));
}

/** Replaces a file by one without the results of checks that do not exist any more. */
async function withoutDeletedChecks(options: Options, file: ResultFile): Promise<void> {
  const { db, files } = options;
  const stretches = await stretchesOfFile(db, file.id);
  const existing = await existingChecks(
    db,
    stretches.map(({ checkId }) => checkId),
  );
  const kept = stretches.filter(({ checkId }) => existing.has(checkId));
  if (kept.length === 0) return drop(options, file);
  const { buffer, footer } = await createOpenFiles(files)(file);
  const rows: FileRow[] = [];
  for (const { firstRow, rows: count } of kept) {
    const read = await readRows(buffer, footer, {
      start: firstRow,
      end: firstRow + count,
      names: columnNames,
    });
    for (let row = 0; row < count; row++) {
      const values = columnNames.map((name) => [name, read[name]?.[row] ?? null] as const);
      rows.push(Object.fromEntries(values) as FileRow); // all of its columns
    }
  }
  const { accountId, day } = file;
  const take = (tx: Db) => deleteFile(tx, file.id);
  if (await moveToFile({ ...options, accountId, day, rows, take })) await files.remove(pathOf(file));
}

/** Deletes files that no row names: of moves that broke off, and of deletions that did. */
export async function sweepResultFiles({ db, files, now }: Options): Promise<void> {
  let paths: string[] = [];
  const sweep = async () => {
    const ids = paths.flatMap((path) => idOfPath(path) ?? []);
    const known = await knownFiles(db, ids);
    for (const path of paths) if (!known.has(idOfPath(path) ?? '')) await files.remove(path);
    paths = [];
  };
  for await (const { path, modifiedAt } of files.list()) {
    if (modifiedAt > now() - unnamedMs || !/\.parquet(?:\.part)?$/.test(path)) continue;
    paths.push(path);
    if (paths.length === filesAtOnce) await sweep();
  }
  await sweep();
}
