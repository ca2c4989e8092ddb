import { gunzipSync } from 'node:zlib';
import { parquetMetadataAsync, parquetRead, type AsyncBuffer, type FileMetaData } from 'hyparquet';
import type { ResultColumn } from '../db/filed-results.ts';
import { columns } from './columns.ts';

/** Reads rows of the files that write-parquet.ts writes. */

/** Most footers are smaller, and then one read brings it. */
const footerBytes = 64 * 1024;

/** The value of a column in each of the rows that were read, in the order of the file. Times are milliseconds. */
export type ReadColumns = { readonly [C in ResultColumn]?: readonly (string | number | boolean | null)[] };

/** The description at the end of a file. Rejects if it is not such a file, or not complete. */
export async function readFooter(file: AsyncBuffer, rows: number): Promise<FileMetaData> {
  const footer = await parquetMetadataAsync(file, {
    initialFetchSize: Math.min(footerBytes, file.byteLength),
  });
  if (Number(footer.num_rows) !== rows) throw new Error(`it has ${footer.num_rows} rows instead of ${rows}`);
  return footer;
}

const compressors = { GZIP: (bytes: Uint8Array) => new Uint8Array(gunzipSync(bytes)) };

const uuidOf = (bytes: Uint8Array) => {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, 16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

const parsers = { uuidFromBytes: uuidOf, timestampFromMilliseconds: Number };

/** Columns of a group are read together, with what is between them, up to this size. A bucket takes long for each read. */
const readTogether = 1024 * 1024;

/** The same file, of which the bytes that these rows and columns need are in memory. */
async function fetched(
  file: AsyncBuffer,
  footer: FileMetaData,
  { start, end, names }: Wanted,
): Promise<AsyncBuffer> {
  let from = Infinity;
  let to = 0;
  let row = 0;
  for (const group of footer.row_groups) {
    const first = row;
    row += Number(group.num_rows);
    if (row <= start || first >= end) continue;
    for (const { meta_data: column } of group.columns) {
      if (column === undefined || !(names as readonly string[]).includes(column.path_in_schema.join('.')))
        continue;
      const at = Number(column.dictionary_page_offset ?? column.data_page_offset);
      from = Math.min(from, at);
      to = Math.max(to, at + Number(column.total_compressed_size));
    }
  }
  if (!(to - from <= readTogether)) return file;
  const bytes = await file.slice(from, to);
  return {
    byteLength: file.byteLength,
    slice: (a, b = file.byteLength) =>
      a >= from && b <= to ? bytes.slice(a - from, b - from) : file.slice(a, b),
  };
}

type Wanted = { start: number; end: number; names: readonly ResultColumn[] };

/** Reads columns of the rows from `start` (inclusive) to `end` (exclusive). */
export async function readRows(
  file: AsyncBuffer,
  footer: FileMetaData,
  { start, end, names }: Wanted,
): Promise<ReadColumns> {
  const read: { [C in ResultColumn]?: (string | number | boolean | null)[] } = {};
  const missing = new Map<string, number>();
  for (const name of names) {
    read[name] = Array.from<null>({ length: end - start }).fill(null);
    missing.set(name, end - start);
  }
  await parquetRead({
    file: await fetched(file, footer, { start, end, names }),
    metadata: footer,
    columns: [...names],
    rowStart: start,
    rowEnd: end,
    compressors,
    parsers,
    onChunk: ({ columnName, columnData, rowStart }) => {
      const values = read[columnName as ResultColumn]; // of `names`
      if (values === undefined) return;
      const from = Math.max(start, rowStart);
      const to = Math.min(end, rowStart + columnData.length);
      for (let row = from; row < to; row++) values[row - start] = valueOf(columnData[row - rowStart]);
      missing.set(columnName, (missing.get(columnName) ?? 0) - Math.max(0, to - from));
    },
  });
  for (const [name, rows] of missing) if (rows !== 0) throw new Error(`${rows} rows of ${name} are missing`);
  for (const name of names) {
    if (columns[name].isRequired && read[name]?.includes(null) === true)
      throw new Error(`a row has no ${name}`);
  }
  return read;
}

function valueOf(value: unknown): string | number | boolean | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw new Error('a value has an unexpected type');
}
