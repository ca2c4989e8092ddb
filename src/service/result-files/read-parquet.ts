import { gunzipSync } from 'node:zlib';
import { parquetRead, type AsyncBuffer } from 'hyparquet';
import type { ResultColumn } from '../db/filed-results.ts';
import { verifyColumn } from './chunk-digests.ts';
import { columns, statusCodeIn, type ColumnKind } from './columns.ts';
import type { OpenFile } from './open-file.ts';

/** Reads rows of the files that write-parquet.ts writes. */

export type Value = string | number | boolean | null;

/** The value of a column in each of the rows that were read, in the order of the file. Times are milliseconds. */
export type ReadColumns = { readonly [C in ResultColumn]?: ArrayLike<Value> };

/** Columns of a group are read together, with what is between them, up to this size. A bucket takes long for each read. */
const readTogether = 1024 * 1024;

type Part = { from: number; to: number; bytes: Uint8Array };

/** The same file, with the undamaged bytes of these columns of a group in memory. */
async function fetched(file: OpenFile, group: number, names: readonly ResultColumn[]): Promise<AsyncBuffer> {
  const wanted: readonly string[] = names;
  const chunks = (file.footer.row_groups[group]?.columns ?? []).flatMap(({ meta_data: column }, index) => {
    if (column === undefined || !wanted.includes(column.path_in_schema.join('.'))) return [];
    const from = Number(column.dictionary_page_offset ?? column.data_page_offset);
    return [{ index, from, to: from + Number(column.total_compressed_size) }];
  });
  const from = chunks.reduce((least, chunk) => Math.min(least, chunk.from), Infinity);
  const to = chunks.reduce((most, chunk) => Math.max(most, chunk.to), 0);
  const ranges = to - from <= readTogether ? [{ from, to }] : chunks;
  const parts = await Promise.all(
    ranges.map(async (range): Promise<Part> => ({ ...range, bytes: await file.slice(range.from, range.to) })),
  );
  const inMemory = (start: number, end: number) => {
    const part = parts.find((one) => start >= one.from && end <= one.to);
    if (part === undefined) throw new Error(`bytes ${start} to ${end} were not fetched`);
    return part.bytes.subarray(start - part.from, end - part.from);
  };
  for (const { index, ...range } of chunks)
    verifyColumn(file.footer, { group, column: index, bytes: inMemory(range.from, range.to) });
  return {
    byteLength: to,
    // A copy, which has a buffer of its own.
    slice: (start, end = to) => new Uint8Array(inMemory(start, end)).buffer,
  };
}

const compressors = { GZIP: (bytes: Uint8Array) => new Uint8Array(gunzipSync(bytes)) };

const same = <Stored>(stored: Stored) => stored;
/** Values are left as they are stored, because most of them are not needed. */
const parsers = { uuidFromBytes: same, stringFromBytes: same, timestampFromMilliseconds: same };

type Chunk = { from: number; values: ArrayLike<unknown> };

type RowsOfGroup = { group: number; rows: readonly number[]; names: readonly ResultColumn[] };

/** Reads columns of some rows of a group, which are counted from its beginning and in ascending order. */
export async function readRows(file: OpenFile, wanted: RowsOfGroup): Promise<ReadColumns> {
  const { rows, names } = wanted;
  if (!names.includes(late) || file.footer.schema.some(({ name }) => name === late))
    return readStored(file, wanted);
  const others = names.filter((name) => name !== late && name !== 'details');
  const { details, ...read } = await readStored(file, { ...wanted, names: [...others, 'details'] });
  const codes = rows.map((_, index) => statusCodeIn(details?.[index]));
  return {
    ...read,
    ...(names.includes('details') && details !== undefined ? { details } : {}),
    [late]: codes,
  };
}

/** Files of earlier releases lack this column. */
const late = 'status_code' satisfies ResultColumn;

async function readStored(file: OpenFile, { group, rows, names }: RowsOfGroup): Promise<ReadColumns> {
  const [first] = rows;
  const last = rows.at(-1);
  if (first === undefined || last === undefined || names.length === 0) return {};
  const start = file.footer.row_groups
    .slice(0, group)
    .reduce((sum, { num_rows: count }) => sum + Number(count), 0);
  const chunks = new Map<string, Chunk[]>(names.map((name) => [name, []]));
  await parquetRead({
    file: await fetched(file, group, names),
    metadata: file.footer,
    columns: [...names],
    rowStart: start + first,
    rowEnd: start + last + 1,
    compressors,
    parsers,
    onChunk: ({ columnName, columnData, rowStart }) =>
      chunks.get(columnName)?.push({ from: rowStart - start, values: columnData }),
  });
  return Object.fromEntries(names.map((name) => [name, valuesOf(name, chunks.get(name) ?? [], rows)]));
}

function valuesOf(name: ResultColumn, chunks: readonly Chunk[], rows: readonly number[]): Value[] {
  const { kind, isRequired } = columns[name];
  const read = readers[kind]();
  let index = 0;
  return rows.map((row) => {
    let chunk = chunks[index];
    while (chunk !== undefined && row >= chunk.from + chunk.values.length) chunk = chunks[++index];
    if (chunk === undefined || row < chunk.from) throw new Error(`row ${row} of ${name} is missing`);
    const stored = chunk.values[row - chunk.from];
    if (stored !== undefined && stored !== null) return read(stored);
    if (isRequired) throw new Error(`a row has no ${name}`);
    return null;
  });
}

/** Reads a stored value. A reader is for one column, in which the same text is read once. */
type Reader = (stored: unknown) => Value;

const textReader = (textOf: (bytes: Buffer) => string) => (): Reader => {
  const known = new Map<unknown, string>();
  return (stored) => {
    const text = known.get(stored);
    if (text !== undefined) return text;
    if (!(stored instanceof Uint8Array)) throw unexpected();
    const read = textOf(Buffer.from(stored.buffer, stored.byteOffset, stored.length));
    known.set(stored, read);
    return read;
  };
};

const uuidOf = (bytes: Buffer) => {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

const ofType = (type: 'number' | 'boolean') => (): Reader => (stored) => {
  if (typeof stored !== type) throw unexpected();
  return stored as number | boolean; // its type was just tested
};

const readers: { readonly [K in ColumnKind]: () => Reader } = {
  uuid: textReader(uuidOf),
  text: textReader((bytes) => bytes.toString('utf8')),
  time: () => (stored) => {
    if (typeof stored !== 'bigint') throw unexpected();
    return Number(stored);
  },
  flag: ofType('boolean'),
  real: ofType('number'),
  count: ofType('number'),
};

const unexpected = () => new Error('a value has an unexpected type');
