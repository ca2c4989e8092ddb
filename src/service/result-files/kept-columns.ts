import type { ResultColumn } from '../db/filed-results.ts';
import { isPlain } from './columns.ts';
import { rowsOf, type OpenFile, type Piece } from './open-file.ts';
import { readRows, type ReadColumns, type Value } from './read-parquet.ts';

/**
 * Keeps columns with short values in memory, as whole groups of files, those that were used last. Statements read them to
 * find their rows, again for each page of a list.
 */

/** Values of all kept columns, of 8 bytes each. A month of one-minute runs of a check has 600,000 in all of these columns. */
const keptValues = 2_000_000;

/** Reads columns of all rows of a piece's group. */
export type KeptColumns = (
  piece: Pick<Piece, 'file' | 'group'>,
  names: readonly ResultColumn[],
) => Promise<ReadColumns>;

export function createKeptColumns(most = keptValues): KeptColumns {
  // In the order of their last use.
  const columns = new Map<string, ArrayLike<Value>>();
  let kept = 0;

  function keep(key: string, values: ArrayLike<Value>): void {
    const known = columns.get(key);
    if (known !== undefined) {
      columns.delete(key);
      kept -= known.length;
    }
    columns.set(key, values);
    kept += values.length;
    for (const [oldest, { length }] of columns) {
      if (kept <= most) break;
      columns.delete(oldest);
      kept -= length;
    }
  }

  return async ({ file, group }, names) => {
    const keyOf = (name: ResultColumn) => `${file.id} ${group} ${name}`;
    const read: { [C in ResultColumn]?: ArrayLike<Value> } = {};
    for (const name of names) {
      const values = columns.get(keyOf(name));
      if (values !== undefined) read[name] = values;
    }
    const missing = names.filter((name) => read[name] === undefined);
    if (missing.length > 0) {
      const rows = rowsOf({ from: 0, to: countOf(file, group) });
      const more = await readRows(file, { group, rows, names: missing });
      for (const name of missing) read[name] = short(name, more[name] ?? []);
    }
    for (const [name, values] of Object.entries(read) as [ResultColumn, ArrayLike<Value>][])
      // of `names`
      if (isPlain(name)) keep(keyOf(name), values);
    return read;
  };
}

const countOf = ({ footer }: OpenFile, group: number) => Number(footer.row_groups[group]?.num_rows ?? 0);

/** Numbers of columns without empty values, in less memory. */
const short = (name: ResultColumn, values: ArrayLike<Value>): ArrayLike<Value> =>
  name === 'started_at' || name === 'response_time' ? Float64Array.from(values, Number) : values;
