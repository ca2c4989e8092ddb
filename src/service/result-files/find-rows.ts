import type { FilterValues, ResultColumn, WantedResults } from '../db/filed-results.ts';
import type { Stretch } from './file-statements.ts';
import type { Piece } from './open-file.ts';
import type { ReadColumns } from './read-parquet.ts';

/** Finds the rows of files that a statement needs. */

/** Rows of a piece, counted from the beginning of its group, in ascending order. */
export type Found = { piece: Piece; rows: readonly number[] };

export type Reading = {
  pieces: (stretch: Stretch) => Promise<Piece[]>;
  /** Columns of all rows of the piece's group. */
  columns: (piece: Piece, names: readonly ResultColumn[]) => Promise<ReadColumns>;
};

/** Stretches that are read at the same time. */
export const atOnce = 8;

/** Finds the rows that count. With a limit, it stops when no further stretch can have one of the first rows. */
export async function findRows(
  reading: Reading,
  stretches: readonly Stretch[],
  wanted: WantedResults,
): Promise<Found[]> {
  const { first } = wanted;
  if (first !== undefined) return firstOf(reading, stretches, { ...wanted, first });
  const found: Found[] = [];
  for (let from = 0; from < stretches.length; from += atOnce) {
    const some = stretches.slice(from, from + atOnce);
    const more = await Promise.all(
      some.map(async (stretch) => {
        const pieces = await reading.pieces(stretch);
        return Promise.all(
          pieces.map(async (piece) => ({ piece, rows: (await matching(reading, piece, wanted)).rows })),
        );
      }),
    );
    found.push(...more.flat().filter(({ rows }) => rows.length > 0));
  }
  return found;
}

type First = NonNullable<WantedResults['first']>;
type Limited = WantedResults & { first: First };

type Row = { piece: Piece; row: number; startedAt: number };

async function firstOf(reading: Reading, stretches: readonly Stretch[], wanted: Limited): Promise<Found[]> {
  const { first } = wanted;
  const isNewest = first.order === 'newest';
  const ordered = [...stretches].sort((a, b) =>
    isNewest ? b.newest.getTime() - a.newest.getTime() : a.oldest.getTime() - b.oldest.getTime(),
  );
  const sign = isNewest ? -1 : 1;
  let found: Row[] = [];
  let size = 1;
  for (let from = 0; from < ordered.length; from += size, size = Math.min(atOnce, size * 2)) {
    const last = lastOf(found, first);
    const next = ordered[from];
    if (last !== undefined && next !== undefined) {
      if (isNewest ? next.newest.getTime() < last.startedAt : next.oldest.getTime() > last.startedAt) break;
    }
    const some = ordered.slice(from, from + size);
    const more = await Promise.all(some.map((stretch) => firstOfStretch(reading, stretch, wanted)));
    found = upToLast(
      [...found, ...more.flat()].sort((a, b) => sign * (a.startedAt - b.startedAt)),
      first,
    );
  }
  const byPiece = new Map<Piece, number[]>();
  for (const { piece, row } of found) {
    const rows = byPiece.get(piece);
    if (rows === undefined) byPiece.set(piece, [row]);
    else rows.push(row);
  }
  return [...byPiece].map(([piece, rows]) => ({ piece, rows: rows.sort((a, b) => a - b) }));
}

/** The first rows of a stretch, in the wanted order. */
async function firstOfStretch(reading: Reading, stretch: Stretch, wanted: Limited): Promise<Row[]> {
  const { first } = wanted;
  const isNewest = first.order === 'newest';
  const pieces = await reading.pieces(stretch);
  let found: Row[] = [];
  for (const piece of isNewest ? pieces : pieces.reverse()) {
    const last = lastOf(found, first);
    const { rows, times } = await matching(reading, piece, wanted);
    if (last !== undefined && times[isNewest ? piece.from : piece.to - 1] !== last.startedAt) break;
    const more = (isNewest ? rows : rows.reverse()).map((row) => ({
      piece,
      row,
      startedAt: times[row] ?? 0, // it is one of the rows with a time
    }));
    found = upToLast([...found, ...more], first);
  }
  return found;
}

/** The row that reaches the limit, of sorted ones; undefined if none does. */
function lastOf(found: readonly Row[], { limit, uncounted }: First): Row | undefined {
  const time = uncounted?.getTime();
  if (time === undefined) return found[limit - 1];
  let count = 0;
  return found.find(({ startedAt }) => startedAt !== time && ++count === limit);
}

/** The first of sorted rows, with all that started in the same moment as the last of them: the statement orders those. */
function upToLast(found: Row[], first: First): Row[] {
  const last = lastOf(found, first);
  if (last === undefined) return found;
  const end = found.findLastIndex(({ startedAt }) => startedAt === last.startedAt);
  return found.slice(0, end + 1);
}

/** The rows of a piece that count, in ascending order, and when each row of the group started. */
async function matching(
  reading: Reading,
  piece: Piece,
  wanted: WantedResults,
): Promise<{ rows: number[]; times: ArrayLike<number> }> {
  const only = Object.entries(wanted.only ?? {}) as [keyof FilterValues, unknown][]; // its own keys
  const read = await reading.columns(piece, ['started_at', ...only.map(([name]) => name)]);
  const times = (read.started_at ?? []) as ArrayLike<number>; // kind `time` in columns.ts
  const spans = wanted.spans.map(
    ({ from, to }) => [from?.getTime() ?? -Infinity, to?.getTime() ?? Infinity] as const,
  );
  const tests = only.map(([name, value]) => {
    const allowed = new Set<unknown>(Array.isArray(value) ? value : [value]);
    const values = read[name] ?? [];
    return (row: number) => allowed.has(values[row]);
  });
  const rows: number[] = [];
  for (let row = piece.from; row < piece.to; row++) {
    const startedAt = times[row] ?? Number.NaN;
    if (spans.some(([from, to]) => startedAt >= from && startedAt <= to) && tests.every((test) => test(row)))
      rows.push(row);
  }
  return { rows, times };
}
