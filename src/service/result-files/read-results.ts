import { toError } from '../../errors.ts';
import { dayMs } from '../../durations.ts';
import type { Log } from '../../log.ts';
import { StoreUnavailable } from '../artifacts/unavailable.ts';
import type { NamedFiles } from '../artifacts/named-files.ts';
import type { Queryable } from '../db/database.ts';
import {
  noFiles,
  type FiledPart,
  type FiledResults,
  type FilterValues,
  type ResultColumn,
  type WantedResults,
} from '../db/filed-results.ts';
import { HttpError } from '../http/errors.ts';
import { findStretches, noteReadable, type Stretch } from './file-statements.ts';
import { createOpenFiles, type OpenFiles } from './open-file.ts';
import { readRows, type ReadColumns } from './read-parquet.ts';
import { columnsOf, createFiledValues } from './filed-values.ts';

/** Reads results from files for the statements on results (db/filed-results.ts). */

/** Results stay in the table for at least a day after their own day, so later ones are never in files. */
const neverFiledMs = dayMs;
/** Most results that one statement takes from files, so that memory stays limited. */
export const maxFiledRows = 200_000;
/** Stretches that are read at the same time. */
const atOnce = 8;
const maxTries = 5;

/** A result in a file that the statement reads. `row` counts from the beginning of the stretch. */
type Found = { stretch: Stretch; row: number; startedAt: number };

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
  const open = createOpenFiles(files);
  const mayBeFiled = ({ spans }: WantedResults) =>
    spans.some(({ from }) => from === null || from.getTime() < now() - neverFiledMs);

  async function read(db: Queryable, wanted: WantedResults): Promise<FiledPart> {
    if (!mayBeFiled(wanted)) return nothing;
    const leftOut = new Set<string>();
    for (let tries = 1; ; tries++) {
      const stretches = await findStretches(db, wanted);
      const version = versionOf(stretches);
      if (version === noFiles) return nothing;
      try {
        const readable = stretches.filter(({ file }) => !leftOut.has(file.id));
        return { ...(await partOf(open, readable, wanted)), version };
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
      !mayBeFiled(wanted) || versionOf(await findStretches(db, wanted)) === version,
  };
}

const unreadable = ({ file }: Stretch) =>
  new StoreUnavailable(
    `A file with results of ${file.day.toISOString().slice(0, 10)} cannot be read; the service's log has the reason.`,
  );

const versionOf = (stretches: readonly Stretch[]): string =>
  [...new Set(stretches.map(({ file }) => file.id))].sort().join(',');

const nothing: FiledPart = { count: 0, columns: [], version: noFiles };

async function partOf(
  open: OpenFiles,
  stretches: readonly Stretch[],
  wanted: WantedResults,
): Promise<Omit<FiledPart, 'version'>> {
  const found = cut(await findRows(open, stretches, wanted), wanted);
  if (found.length > maxFiledRows) {
    throw new HttpError(
      400,
      `This needs more than ${maxFiledRows} single results. Ask for a shorter time, or for intervals of whole hours.`,
    );
  }
  if (wanted.columns.length === 0) return { count: found.length, columns: [] };
  const byStretch = new Map<Stretch, number[]>();
  for (const { stretch, row } of found) {
    const rows = byStretch.get(stretch);
    if (rows === undefined) byStretch.set(stretch, [row]);
    else rows.push(row);
  }
  const values = createFiledValues(wanted);
  await inBatches(
    [...byStretch],
    () => atOnce,
    async ([stretch, rows]) => {
      const from = rows.reduce((a, b) => Math.min(a, b));
      const to = rows.reduce((a, b) => Math.max(a, b)) + 1;
      const read = await readStretch(open, stretch, { from, to, names: columnsOf(wanted) });
      values.add(
        stretch.file.accountId,
        read,
        rows.map((row) => row - from),
      );
    },
  );
  return { count: found.length, columns: values.columns() };
}

/** Runs `work` on items, some at a time: `size` says how many the next time. */
async function inBatches<Item, Result>(
  items: readonly Item[],
  size: (before: readonly Result[]) => number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length;) {
    const next = size(results);
    if (next === 0) break;
    results.push(...(await Promise.all(items.slice(from, from + next).map(work))));
    from += next;
  }
  return results;
}

/** Finds the rows that count. With a limit, it stops when no further stretch can have one of the first rows. */
async function findRows(
  open: OpenFiles,
  stretches: readonly Stretch[],
  wanted: WantedResults,
): Promise<Found[]> {
  const { first } = wanted;
  if (first === undefined)
    return (
      await inBatches(
        stretches,
        () => atOnce,
        (stretch) => matching(open, stretch, wanted),
      )
    ).flat();
  const isNewest = first.order === 'newest';
  const ordered = [...stretches].sort((a, b) =>
    isNewest ? b.newest.getTime() - a.newest.getTime() : a.oldest.getTime() - b.oldest.getTime(),
  );
  let found: Found[] = [];
  let size = 1;
  for (let from = 0; from < ordered.length; from += size, size = Math.min(atOnce, size * 2)) {
    const last = lastOf(found, first);
    const next = ordered[from];
    if (last !== undefined && next !== undefined) {
      if (isNewest ? next.newest.getTime() < last.startedAt : next.oldest.getTime() > last.startedAt) break;
    }
    const more = await Promise.all(
      ordered.slice(from, from + size).map((stretch) => matching(open, stretch, wanted)),
    );
    found = cut([...found, ...more.flat()], wanted);
  }
  return found;
}

/** The row that reaches the limit, of sorted ones; undefined if none does. */
function lastOf(
  found: readonly Found[],
  { limit, uncounted }: NonNullable<WantedResults['first']>,
): Found | undefined {
  const time = uncounted?.getTime();
  if (time === undefined) return found[limit - 1];
  let count = 0;
  return found.find(({ startedAt }) => startedAt !== time && ++count === limit);
}

/** The first rows, with all that started in the same moment as the last of them: the statement orders those. */
function cut(found: Found[], { first }: WantedResults): Found[] {
  if (first === undefined) return found;
  const sign = first.order === 'newest' ? -1 : 1;
  found.sort((a, b) => sign * (a.startedAt - b.startedAt));
  const last = lastOf(found, first);
  return last === undefined
    ? found
    : found.filter(({ startedAt }) => sign * (startedAt - last.startedAt) <= 0);
}

async function matching(open: OpenFiles, stretch: Stretch, wanted: WantedResults): Promise<Found[]> {
  const only = Object.entries(wanted.only ?? {}) as [keyof FilterValues, unknown][]; // its own keys
  const read = await readStretch(open, stretch, {
    from: 0,
    to: stretch.rows,
    names: ['started_at', ...only.map(([name]) => name)],
  });
  const spans = wanted.spans.map(
    ({ from, to }) => [from?.getTime() ?? -Infinity, to?.getTime() ?? Infinity] as const,
  );
  const tests = only.map(([name, value]) => {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return (row: number) => values.includes(read[name]?.[row]);
  });
  const found: Found[] = [];
  for (let row = 0; row < stretch.rows; row++) {
    const startedAt = Number(read.started_at?.[row]);
    if (!spans.some(([from, to]) => startedAt >= from && startedAt <= to)) continue;
    if (tests.every((test) => test(row))) found.push({ stretch, row, startedAt });
  }
  return found;
}

async function readStretch(
  open: OpenFiles,
  stretch: Stretch,
  { from, to, names }: { from: number; to: number; names: readonly ResultColumn[] },
): Promise<ReadColumns> {
  try {
    const { buffer, footer } = await open(stretch.file);
    const start = stretch.firstRow + from;
    return await readRows(buffer, footer, { start, end: stretch.firstRow + to, names });
  } catch (error) {
    throw new Unreadable(stretch, error);
  }
}
