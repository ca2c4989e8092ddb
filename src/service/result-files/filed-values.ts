import { dayMs } from '../../durations.ts';
import type { FiledColumn, ResultColumn, WantedResults } from '../db/filed-results.ts';
import { bodyParts, columnNames, columns, type ColumnKind } from './columns.ts';
import type { Stretch } from './file-statements.ts';
import type { ReadColumns, Value } from './read-parquet.ts';

/**
 * Writes rows of files as columns for the database (db/query-results.ts). Arrays take it a tenth of the time that rows in JSON
 * take.
 */

/** Texts of values; null = no value. */
type Texts = (string | null)[];

const isPart = (name: ResultColumn) =>
  name === 'other' || name === 'status_code' || (bodyParts as readonly string[]).includes(name);

const two = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'));

/** Writes times as `toISOString` does, several times as fast if many are of the same day. */
function timeWriter(): (time: number) => string {
  let day = Number.NaN;
  let date = '';
  return (time) => {
    const ofDay = Math.floor(time / dayMs);
    if (ofDay !== day) {
      day = ofDay;
      date = new Date(day * dayMs).toISOString().slice(0, -'00:00:00.000Z'.length);
    }
    const ms = time - day * dayMs;
    const seconds = Math.floor(ms / 1000);
    const minutes = Math.floor(seconds / 60);
    const fraction = String(1000 + (ms % 1000)).slice(1);
    return `${date}${two[Math.floor(minutes / 60)]}:${two[minutes % 60]}:${two[seconds % 60]}.${fraction}Z`;
  };
}

const writerOf = (kind: ColumnKind): ((value: string | number | boolean) => string) => {
  if (kind !== 'time') return String;
  const write = timeWriter();
  return (value) => write(Number(value));
};

/** The body of a row. */
function bodyOf(
  parts: readonly ResultColumn[],
  { read, row, maxBytes }: { read: ReadColumns; row: number; maxBytes: number },
): string | null {
  if (Number(read.body_bytes?.[row] ?? 0) > maxBytes) return null;
  const fields = parts.flatMap((name) => {
    const text = read[name]?.[row];
    if (name === 'status_code')
      return typeof text === 'number' ? [`"details":{"response":{"status":${text}}}`] : [];
    if (typeof text !== 'string') return [];
    // The fields that are no part of their own.
    return name === 'other'
      ? [text.slice(text.indexOf('{') + 1, text.lastIndexOf('}'))]
      : [`"${name}":${text}`];
  });
  return `{${fields.join(',')}}`;
}

/** The columns that are read for a statement. */
export const columnsOf = ({ columns: wanted }: Pick<WantedResults, 'columns'>): readonly ResultColumn[] =>
  wanted === 'all' ? columnNames.filter((name) => name !== 'status_code') : wanted;

/** Gathers rows, as columns of `check_results`. */
export type FiledValues = {
  /** Adds `count` rows of a stretch. */
  add: (stretch: Stretch, read: ReadColumns, count: number) => void;
  /** Characters of the bodies so far. */
  length: () => number;
  columns: () => FiledColumn[];
};

/** Columns whose values may need quotes in an array. */
const isQuoted = (name: string) => name === 'body' || columns[name as ResultColumn]?.kind === 'text';

export function createFiledValues(wanted: WantedResults): FiledValues {
  const names = columnsOf(wanted);
  const parts = names.filter(isPart);
  const own = names
    .filter((name) => !isPart(name) && name !== 'check_id')
    .map((name) => ({ name, write: writerOf(columns[name].kind), texts: [] as Texts }));
  const bodies: Texts = [];
  let length = 0;
  const ofStretch: { account_id: Texts; check_id: Texts } = { account_id: [], check_id: [] };
  const repeat = (texts: Texts, text: string, count: number) => {
    for (let left = count; left > 0; left--) texts.push(text);
  };
  return {
    add: ({ checkId, file }, read, count) => {
      repeat(ofStretch.account_id, file.accountId, count);
      repeat(ofStretch.check_id, checkId, count);
      for (const { name, write, texts } of own) {
        const values: ArrayLike<Value> = read[name] ?? [];
        for (let row = 0; row < count; row++) {
          const value = values[row] ?? null;
          texts.push(value === null ? null : write(value));
        }
      }
      if (parts.length === 0) return;
      const maxBytes = wanted.maxBodyBytes ?? Infinity;
      for (let row = 0; row < count; row++) {
        const body = bodyOf(parts, { read, row, maxBytes });
        length += body?.length ?? 0;
        bodies.push(body);
      }
    },
    length: () => length,
    columns: () => {
      const all: [string, Texts][] = [
        ...Object.entries(ofStretch),
        ...own.map(({ name, texts }): [string, Texts] => [name, texts]),
        ...(parts.length === 0 ? [] : [['body', bodies] as [string, Texts]]),
      ];
      return all.map(columnOf);
    },
  };
}

function columnOf([name, texts]: [string, Texts]): FiledColumn {
  const [first = null] = texts;
  if (name !== rowCounter && texts.every((text) => text === first))
    return { name, isArray: false, text: first };
  const elements = isQuoted(name) ? texts.map(quoted) : texts.map((text) => text ?? 'NULL');
  return { name, isArray: true, text: `{${elements.join(',')}}` };
}

/** A column that is an array also if all values are the same, because arrays say how many rows there are. */
const rowCounter = 'started_at';

/** Simple words need no quotes. */
const simple = /^[\w.:+-]+$/;
const quoted = (text: string | null): string => {
  if (text === null) return 'NULL';
  if (text.length <= 40 && simple.test(text) && text.toUpperCase() !== 'NULL') return text;
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', String.raw`\"`)}"`;
};
