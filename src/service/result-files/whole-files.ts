import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { NamedFiles } from '../artifacts/named-files.ts';
import { StoreUnavailable } from '../artifacts/unavailable.ts';
import type { Db } from '../db/database.ts';
import { columnNames } from './columns.ts';
import {
  filesInOrder,
  noteReadable,
  noteTried,
  pathOf,
  stretchesOfFile,
  unreadableFiles,
  type ResultFile,
} from './file-statements.ts';
import { createOpenFiles, piecesOf, rowsOf } from './open-file.ts';
import { readRows } from './read-parquet.ts';

/** Notes which files with results cannot be read. Statements note those that they need (read-results.ts). */

type Options = { db: Db; files: NamedFiles; now: () => number; log: Log };

const filesAtOnce = 100;
/** Files that are looked at together. */
const besides = 8;
/** Unreadable files that are read again in one go. */
const readAgain = 20;
const zeroId = '00000000-0000-0000-0000-000000000000';

/** Reads files whole that are noted as unreadable: those that can be read again are not noted any more. */
export async function readUnreadableAgain({ db, files, now, log }: Options): Promise<void> {
  for (const file of await unreadableFiles(db, readAgain)) {
    try {
      const opened = await createOpenFiles(files)(file);
      for (const stretch of await stretchesOfFile(db, file.id)) {
        for (const piece of piecesOf(stretch, opened))
          await readRows(opened, { group: piece.group, rows: rowsOf(piece), names: columnNames });
      }
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      await noteTried(db, { id: file.id, now: new Date(now()) });
      continue;
    }
    await noteReadable(db, { id: file.id, unreadableSince: null });
    log.info({ file: file.id, day: file.day }, 'a file with results can be read again');
  }
}

/** Looks at the last bytes of all files that were named before `before`, and notes the missing and shortened ones. */
export async function noteMissing(options: Options, before: Date): Promise<void> {
  const { db } = options;
  for (let after = zeroId; ;) {
    const page = await filesInOrder(db, { after, before, limit: filesAtOnce });
    for (let from = 0; from < page.length; from += besides) {
      const some = page.slice(from, from + besides);
      await Promise.all(some.map((file) => noteIfMissing(options, file)));
    }
    const last = page.at(-1);
    if (last === undefined || page.length < filesAtOnce) return;
    after = last.id;
  }
}

/** Every such file ends with these bytes. */
const mark = 'PAR1';

async function noteIfMissing({ db, files, now, log }: Options, file: ResultFile): Promise<void> {
  let error;
  try {
    const end = await files.read(pathOf(file), { start: file.bytes - mark.length, end: file.bytes });
    if (Buffer.from(end).toString('latin1') === mark) return;
    error = 'it does not end as it should';
  } catch (reason) {
    if (reason instanceof StoreUnavailable) throw reason;
    error = toError(reason).message;
  }
  log.error({ file: file.id, day: file.day, error }, 'a file with results cannot be read');
  await noteReadable(db, { id: file.id, unreadableSince: new Date(now()) });
}
