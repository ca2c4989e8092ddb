import { gzipSync } from 'node:zlib';
import { ByteWriter, ParquetWriter, type ColumnSource } from 'hyparquet-writer';
import type { KeyValue, SchemaElement } from 'hyparquet';
import { digestEntry, footerDigestOf } from './chunk-digests.ts';
import { columnNames, columns, type ColumnKind, type FileRow } from './columns.ts';

/** Writes results as a Parquet file. Every reader knows GZIP, and it has a checksum of its own. */

/** Rows of a group. One check's day of one-minute runs is one group, which readers read as a whole. */
const groupRows = 1_500;
/** Characters of the texts in a group. While a group is written, the process does nothing else. */
const groupLength = 4 * 1024 * 1024;
/** Bytes of values in a page, before compression. To read a few rows, only their pages are decompressed. */
const pageBytes = 32 * 1024;
const gzipLevel = 5;

const elements: { readonly [K in ColumnKind]: Partial<SchemaElement> } = {
  uuid: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  flag: { type: 'BOOLEAN' },
  real: { type: 'DOUBLE' },
  count: { type: 'INT32' },
};

const schema: SchemaElement[] = [
  { name: 'results', num_children: columnNames.length },
  ...columnNames.map((name) => ({
    ...elements[columns[name].kind],
    name,
    repetition_type: columns[name].isRequired ? ('REQUIRED' as const) : ('OPTIONAL' as const),
  })),
];

type SortedRow = Pick<FileRow, 'check_id'>;

/**
 * The first row of each group: rows of a check are in one group if they fit. Rows are sorted by check. `lengths`: of their
 * texts. A row that is too long is a group of its own.
 */
export function groupStarts(rows: readonly SortedRow[], lengths: readonly number[]): number[] {
  const starts: number[] = [];
  const before = [0];
  for (const length of lengths) before.push((before.at(-1) ?? 0) + length);
  const fits = (from: number, to: number) =>
    to - from <= 1 || (to - from <= groupRows && (before[to] ?? 0) - (before[from] ?? 0) <= groupLength);
  let start = 0;
  for (let from = 0; from < rows.length;) {
    let to = from + 1;
    while (to < rows.length && rows[to]?.check_id === rows[from]?.check_id) to++;
    if (from > start && !fits(start, to)) {
      starts.push(start);
      start = from;
    }
    while (!fits(start, to)) {
      starts.push(start);
      let end = start + 1;
      while (fits(start, end + 1)) end++;
      start = end;
    }
    from = to;
  }
  if (start < rows.length) starts.push(start);
  return starts;
}

/** Characters of the texts of a row. */
function lengthOf(row: FileRow): number {
  let length = 0;
  for (const name of columnNames) {
    const value = row[name];
    if (typeof value === 'string') length += value.length;
  }
  return length;
}

/** A file, and the digest by which damage of it is noticed. */
export type WrittenFile = { bytes: Uint8Array; footerDigest: string };

/** A file that is being written. */
export type ParquetFile = {
  /** Adds rows, sorted by check and newest first, that follow those before. */
  add: (rows: readonly FileRow[]) => Promise<void>;
  /** Bytes so far, without the last rows, which are not compressed yet. */
  bytes: () => number;
  finish: () => Promise<WrittenFile>;
};

/** Begins a file. Of its rows, those of the last group are in memory. Other work of the process runs between groups. */
export function createParquetFile(accountId: string): ParquetFile {
  const writer = new ByteWriter(64 * 1024);
  const entries: KeyValue[] = [{ key: 'account_id', value: accountId }];
  const file = new ParquetWriter({
    writer,
    schema,
    codec: 'GZIP',
    compressors: { GZIP: (bytes) => gzipSync(bytes, { level: gzipLevel }) },
    statistics: false,
    kvMetadata: entries,
    createdBy: 'location-agent',
  });
  let waiting: FileRow[] = [];
  let lengths: number[] = [];

  async function writeGroup(group: readonly FileRow[]): Promise<void> {
    await file.write({
      columnData: columnNames.map((name): ColumnSource => {
        const { kind } = columns[name];
        return {
          name,
          data: group.map((row) => toFile(kind, row[name])),
          // By these two, other engines skip groups.
          statistics: name === 'started_at' || name === 'check_id',
          offsetIndex: false,
          ...(kind === 'time' ? { encoding: 'DELTA_BINARY_PACKED' as const } : {}),
        };
      }),
      rowGroupSize: group.length,
      pageSize: pageBytes,
    });
    await new Promise(setImmediate);
  }

  return {
    add: async (rows) => {
      waiting.push(...rows);
      lengths.push(...rows.map(lengthOf));
      const starts = groupStarts(waiting, lengths);
      for (const [index, start] of starts.slice(0, -1).entries())
        await writeGroup(waiting.slice(start, starts[index + 1]));
      // The last group may go on with the next rows.
      const last = starts.at(-1) ?? 0;
      waiting = waiting.slice(last);
      lengths = lengths.slice(last);
    },
    bytes: () => writer.offset,
    finish: async () => {
      if (waiting.length > 0) await writeGroup(waiting);
      const columnBytes = writer.getBytes();
      const written = file.row_groups.flatMap((group) =>
        group.columns.map(({ file_offset: offset, meta_data: column }) =>
          columnBytes.subarray(Number(offset), Number(offset) + Number(column?.total_compressed_size)),
        ),
      );
      // The writer puts these entries into the footer.
      entries.push(digestEntry(written));
      await file.finish();
      const bytes = writer.getBytes();
      const length = Buffer.from(bytes.buffer, bytes.byteOffset + bytes.length - 8).readUInt32LE();
      return { bytes, footerDigest: footerDigestOf(bytes.subarray(bytes.length - 8 - length)) };
    },
  };
}

function toFile(kind: ColumnKind, value: FileRow[keyof FileRow]): unknown {
  if (value === null) return undefined;
  if (kind === 'uuid') return new Uint8Array(Buffer.from(String(value).replaceAll('-', ''), 'hex'));
  if (kind === 'time') return BigInt(Number(value));
  return value;
}
