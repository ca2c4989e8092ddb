import type { FiledColumn, ResultColumn, WantedResults } from '../db/filed-results.ts';
import { bodyParts, columnNames, columns } from './columns.ts';
import type { ReadColumns } from './read-parquet.ts';

/**
 * Writes rows of files as columns for the database (db/query-results.ts). Arrays take it a tenth of the time that rows in JSON
 * take.
 */

type Value = string | number | boolean | null;
/** The text of a value, as an element of an array has it without quotes; null = no value. */
type Writer = (columns: ReadColumns, row: number) => string | null;

const isPart = (name: ResultColumn) => name === 'other' || (bodyParts as readonly string[]).includes(name);

function writerOf(name: ResultColumn): Writer {
  const { kind } = columns[name];
  if (kind === 'time')
    return (read, row) => {
      const time: Value = read[name]?.[row] ?? null;
      return time === null ? null : new Date(Number(time)).toISOString();
    };
  return (read, row) => {
    const value: Value = read[name]?.[row] ?? null;
    return value === null ? null : String(value);
  };
}

function bodyOf(parts: readonly ResultColumn[], maxBytes: number): Writer {
  return (read, row) => {
    if (Number(read.body_bytes?.[row] ?? 0) > maxBytes) return null;
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

/** Gathers rows, as columns of `check_results`. */
export type FiledValues = {
  add: (accountId: string, read: ReadColumns, rows: readonly number[]) => void;
  columns: () => FiledColumn[];
};

export function createFiledValues(wanted: WantedResults): FiledValues {
  const names = columnsOf(wanted);
  const parts = names.filter(isPart);
  const writers: [string, Writer][] = names
    .filter((name) => !isPart(name))
    .map((name) => [name, writerOf(name)]);
  if (parts.length > 0) writers.push(['body', bodyOf(parts, wanted.maxBodyBytes ?? Infinity)]);
  const gathered = writers.map(([name, write]) => ({ name, write, values: [] as (string | null)[] }));
  const accounts: string[] = [];
  return {
    add: (accountId, read, rows) => {
      for (const { write, values } of gathered) for (const row of rows) values.push(write(read, row));
      for (let count = rows.length; count > 0; count--) accounts.push(accountId);
    },
    columns: () => [{ name: 'account_id', values: accounts }, ...gathered].map(columnOf),
  };
}

function columnOf({ name, values }: { name: string; values: readonly (string | null)[] }): FiledColumn {
  const [first = null] = values;
  if (name !== rowCounter && values.every((value) => value === first))
    return { name, isArray: false, text: first };
  return { name, isArray: true, text: `{${values.map(quoted).join(',')}}` };
}

/** A column that is an array also if all values are the same, because arrays say how many rows there are. */
const rowCounter = 'started_at';

/** Numbers, times, ids and simple words need no quotes. */
const simple = /^[\w.:+-]+$/;
const quoted = (value: string | null): string => {
  if (value === null) return 'NULL';
  if (value.length <= 40 && simple.test(value) && value.toUpperCase() !== 'NULL') return value;
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', String.raw`\"`)}"`;
};
