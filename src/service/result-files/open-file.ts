import { parquetMetadata, type FileMetaData } from 'hyparquet';
import type { NamedFiles } from '../artifacts/named-files.ts';
import { footerDigestOf } from './chunk-digests.ts';
import { pathOf, type ResultFile, type Stretch } from './file-statements.ts';

/** Opens files with results. Their footers are kept, because a file never changes. */

/** `slice`: the bytes from `start` (inclusive) to `end` (exclusive). */
export type OpenFile = {
  id: string;
  footer: FileMetaData;
  slice: (start: number, end: number) => Promise<Uint8Array>;
};
export type OpenFiles = (file: ResultFile, signal?: AbortSignal) => Promise<OpenFile>;

/** Bytes of all footers that are kept. In memory, a footer takes about twenty times as much. */
const keptBytes = 1024 * 1024;

export function createOpenFiles(files: NamedFiles): OpenFiles {
  // In the order of their last use.
  const footers = new Map<string, FileMetaData>();
  let kept = 0;

  return async (file, signal) => {
    const { id } = file;
    const limit = signal === undefined ? {} : { signal };
    const slice = async (start: number, end: number) => {
      const bytes = await files.read(pathOf(file), { start, end, ...limit });
      if (bytes.length !== end - start) throw new Error(`it ends before byte ${end}`);
      return bytes;
    };
    const footer = footers.get(id) ?? (await readFooter(file, slice));
    if (!footers.delete(id)) kept += footer.metadata_length;
    footers.set(id, footer);
    for (const [known, { metadata_length: length }] of footers) {
      if (kept <= keptBytes || known === id) break;
      footers.delete(known);
      kept -= length;
    }
    return { id, footer, slice };
  };
}

/** Most footers are smaller, and then one read brings it. */
const footerBytes = 64 * 1024;
/** After the footer: its length, and a mark. */
const tailBytes = 8;

/** The description at the end of a file. Rejects if it is not the one that was written. */
async function readFooter(
  { bytes, rows, footerDigest }: ResultFile,
  slice: OpenFile['slice'],
): Promise<FileMetaData> {
  let start = Math.max(0, bytes - footerBytes);
  let end = await slice(start, bytes);
  const length = Buffer.from(end.buffer, end.byteOffset + end.length - tailBytes).readUInt32LE();
  if (length > bytes - tailBytes) throw new Error('it does not end as it should');
  const first = bytes - tailBytes - length;
  if (first < start) end = await slice((start = first), bytes);
  const footer = new Uint8Array(end.subarray(first - start));
  if (footerDigestOf(footer) !== footerDigest) throw new Error('its footer is damaged');
  const read = parquetMetadata(footer.buffer);
  if (Number(read.num_rows) !== rows) throw new Error(`it has ${read.num_rows} rows instead of ${rows}`);
  return read;
}

/** Rows of one check that are in one group of a file, newest first: `from` (inclusive) to `to` (exclusive) in the group. */
export type Piece = { stretch: Stretch; file: OpenFile; group: number; from: number; to: number };

/** The pieces of a stretch, newest first. */
export function piecesOf(stretch: Stretch, file: OpenFile): Piece[] {
  const { firstRow, rows } = stretch;
  let end = 0;
  return file.footer.row_groups.flatMap(({ num_rows: count }, group) => {
    const start = end;
    end += Number(count);
    const from = Math.max(firstRow - start, 0);
    const to = Math.min(firstRow + rows, end) - start;
    return from < to ? [{ stretch, file, group, from, to }] : [];
  });
}

/** The numbers of all its rows, in the group. */
export const rowsOf = ({ from, to }: Pick<Piece, 'from' | 'to'>): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);
