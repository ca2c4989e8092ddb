import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { StoreUnavailable } from '../artifacts/unavailable.ts';
import type { NamedFiles } from '../artifacts/named-files.ts';
import type { Queryable } from '../db/database.ts';
import {
  noFiles,
  type FiledPart,
  type FiledResults,
  type ResultColumn,
  type WantedResults,
} from '../db/filed-results.ts';
import { underTimeLimit } from '../../time-limit.ts';
import { HttpError } from '../http/errors.ts';
import { isPlain } from './columns.ts';
import { findStretches, noteReadable, type Stretch } from './file-statements.ts';
import { atOnce, findRows, type Found, type Reading } from './find-rows.ts';
import { createKeptColumns, type KeptColumns } from './kept-columns.ts';
import { createMayBeFiled } from './newest-filed.ts';
import { createOpenFiles, piecesOf, type OpenFiles, type Piece } from './open-file.ts';
import { readRows, type ReadColumns } from './read-parquet.ts';
import { columnsOf, createFiledValues } from './filed-values.ts';

/** Reads results from files for the statements on results (db/filed-results.ts). */

/** Most results that one statement takes from files, so that memory stays limited. */
export const maxFiledRows = 200_000;
/** Characters of their bodies. The statement needs several copies of them. */
export const maxFiledLength = 64 * 1024 * 1024;
const maxTries = 5;
const never = new AbortController().signal;
const isSlow = 'The store of files with results does not answer in time: try again later.';

/** A file that could not be read, with the reason. */
class Unreadable extends Error {
  readonly stretch: Stretch;
  constructor(stretch: Stretch, cause: unknown) {
    super(toError(cause).message, { cause });
    this.stretch = stretch;
  }
}

export function createFiledResults(options: {
  files: NamedFiles;
  now: () => number;
  log: Log;
}): FiledResults {
  const { files, now, log } = options;
  const createFilesUntil = createReading(files);
  const mayBeFiled = createMayBeFiled(now);

  async function read(db: Queryable, wanted: WantedResults): Promise<FiledPart> {
    const { withinMs } = wanted;
    if (withinMs === undefined) return readWith(createFilesUntil(), db, wanted);
    return underTimeLimit(never, withinMs, (signal) => readWith(createFilesUntil(signal), db, wanted));
  }

  async function readWith(reading: Files, db: Queryable, wanted: WantedResults): Promise<FiledPart> {
    if (!(await mayBeFiled(db, wanted))) return nothing;
    const leftOut = new Set<string>();
    for (let tries = 1; ; tries++) {
      const stretches = await findStretches(db, wanted);
      const version = versionOf(stretches);
      if (version === noFiles) return nothing;
      try {
        const readable = stretches.filter(({ file }) => !leftOut.has(file.id));
        return { ...(await partOf(reading, readable, wanted)), version };
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
        // It was replaced or deleted meanwhile.
        if (tries < maxTries && versionOf(await findStretches(db, wanted)) !== version) continue;
        const isAway = error.cause instanceof StoreUnavailable;
        if (!isAway) await noteDamaged(db, error);
        if (wanted.leaveOut === 'any' || (wanted.leaveOut === 'damaged' && !isAway)) {
          leftOut.add(error.stretch.file.id);
          tries = 0;
          continue;
        }
        throw isAway ? error.cause : unreadable(error.stretch);
      }
    }
  }

  async function noteDamaged(db: Queryable, { stretch: { file }, message }: Unreadable): Promise<void> {
    log.error({ file: file.id, day: file.day, error: message }, 'a file with results cannot be read');
    await noteReadable(db, { id: file.id, unreadableSince: new Date(now()) });
  }

  return {
    read,
    isCurrent: async (db, wanted, { version }) =>
      !(await mayBeFiled(db, wanted)) || versionOf(await findStretches(db, wanted)) === version,
  };
}

const unreadable = ({ file }: Stretch) =>
  new StoreUnavailable(
    `A file with results of ${file.day.toISOString().slice(0, 10)} cannot be read; the service's log has the reason.`,
  );

const versionOf = (stretches: readonly Stretch[]): string =>
  [...new Set(stretches.map(({ file }) => file.id))].sort().join(',');

const nothing: FiledPart = { count: 0, columns: [], version: noFiles };

/** What is read of files. It rejects with Unreadable. */
type Files = Reading & {
  /** Columns of these rows, in their order. */
  rows: (found: Found, names: readonly ResultColumn[]) => Promise<ReadColumns>;
};

/** `signal`: when the store must have answered. */
function createReading(files: NamedFiles): (signal?: AbortSignal) => Files {
  const open = createOpenFiles(files);
  const keptColumns = createKeptColumns();
  return (signal) => createFiles({ open, keptColumns, ...(signal === undefined ? {} : { signal }) });
}

function createFiles({
  open,
  keptColumns,
  signal,
}: {
  open: OpenFiles;
  keptColumns: KeptColumns;
  signal?: AbortSignal;
}): Files {
  const reading = async <Read>(stretch: Stretch, read: () => Promise<Read>): Promise<Read> => {
    try {
      signal?.throwIfAborted();
      return await read();
    } catch (error) {
      throw new Unreadable(stretch, signal?.aborted === true ? new StoreUnavailable(isSlow) : error);
    }
  };
  const columns = (piece: Piece, names: readonly ResultColumn[]) =>
    reading(piece.stretch, () => keptColumns(piece, names));
  return {
    pieces: (stretch) => reading(stretch, async () => piecesOf(stretch, await open(stretch.file, signal))),
    columns,
    rows: async ({ piece, rows }, names) => {
      const kept = await columns(piece, names.filter(isPlain));
      const others = await reading(piece.stretch, () =>
        readRows(piece.file, { group: piece.group, rows, names: names.filter((name) => !isPlain(name)) }),
      );
      const some = Object.entries(kept).map(
        ([name, values]) => [name, rows.map((row) => values[row] ?? null)] as const,
      );
      return { ...others, ...Object.fromEntries(some) };
    },
  };
}

async function partOf(
  reading: Files,
  stretches: readonly Stretch[],
  wanted: WantedResults,
): Promise<Omit<FiledPart, 'version'>> {
  const found = await findRows(reading, stretches, wanted);
  const count = found.reduce((sum, { rows }) => sum + rows.length, 0);
  if (count > maxFiledRows) {
    throw new HttpError(
      400,
      `This needs more than ${maxFiledRows} single results. Ask for a shorter time, or for intervals of whole hours.`,
    );
  }
  if (wanted.columns.length === 0) return { count, columns: [] };
  const values = createFiledValues(wanted);
  // The check of a row is known.
  const names = columnsOf(wanted).filter((name) => name !== 'check_id');
  for (let from = 0; from < found.length; from += atOnce) {
    const some = found.slice(from, from + atOnce);
    const read = await Promise.all(some.map((one) => reading.rows(one, names)));
    for (const [index, { piece, rows }] of some.entries())
      values.add(piece.stretch, read[index] ?? {}, rows.length);
    if (values.length() > maxFiledLength) {
      throw new HttpError(
        400,
        'The results of this time are too large to be read at once. Ask for a shorter time, or for intervals of whole hours.',
      );
    }
  }
  return { count, columns: values.columns() };
}
