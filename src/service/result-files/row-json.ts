import type { ResultColumn, WantedResults } from '../db/filed-results.ts';
import { bodyParts, columnNames, columns } from './columns.ts';
import type { ReadColumns } from './read-parquet.ts';

/** Writes rows of a file as JSON for the database, in the form of rows of `check_results`. */

type Value = string | number | boolean | null;
type Writer = (columns: ReadColumns, row: number) => string;

const isPart = (name: ResultColumn) => name === 'other' || (bodyParts as readonly string[]).includes(name);
const isJson = (name: ResultColumn) => name === 'reason' || name === 'totals';

function writerOf(name: ResultColumn): Writer {
  const value = (read: ReadColumns, row: number): Value => read[name]?.[row] ?? null;
  const { kind } = columns[name];
  if (kind === 'time')
    return (read, row) => {
      const time = value(read, row);
      return time === null ? 'null' : `"${new Date(Number(time)).toISOString()}"`;
    };
  if (kind === 'uuid')
    return (read, row) => {
      const id = value(read, row);
      return id === null ? 'null' : `"${String(id)}"`;
    };
  // JSON is embedded unparsed: only the database parses it.
  if (isJson(name)) return (read, row) => String(value(read, row));
  return (read, row) => JSON.stringify(value(read, row));
}

function bodyOf(parts: readonly ResultColumn[], maxBytes: number): Writer {
  return (read, row) => {
    if (Number(read.body_bytes?.[row] ?? 0) > maxBytes) return 'null';
    const fields = parts.flatMap((name) => {
      const text = read[name]?.[row];
      if (typeof text !== 'string') return [];
      // The fields that are no part of their own.
      return name === 'other'
        ? [text.slice(text.indexOf('{') + 1, text.lastIndexOf('}'))]
        : [`"${name}":${text}`];
    });
    return `{${fields.join(',')}}`;
  };
}

/** The columns that are read for a statement. */
export const columnsOf = ({ columns: wanted }: Pick<WantedResults, 'columns'>): readonly ResultColumn[] =>
  wanted === 'all' ? columnNames : wanted;

/** A function that writes a row of an account. */
export function rowWriter(
  wanted: WantedResults,
): (accountId: string, read: ReadColumns, row: number) => string {
  const names = columnsOf(wanted);
  const parts = names.filter(isPart);
  const fields: (readonly [string, Writer])[] = names
    .filter((name) => !isPart(name))
    .map((name) => [name, writerOf(name)] as const);
  if (parts.length > 0) fields.push(['body', bodyOf(parts, wanted.maxBodyBytes ?? Infinity)]);
  return (accountId, read, row) =>
    `{"account_id":"${accountId}",${fields.map(([name, write]) => `"${name}":${write(read, row)}`).join(',')}}`;
}
