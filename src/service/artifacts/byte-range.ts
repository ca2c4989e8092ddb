import type { ByteRange } from './files.ts';

/** The requested range begins after the end of the file. */
export class OutsideFile extends Error {
  readonly size: number;
  constructor(size: number) {
    super(`the file has ${size} bytes`);
    this.size = size;
  }
}

/**
 * Parses the requested range of a file. Null = the complete file: no range, not a single byte range, or a range of
 * another file. Throws OutsideFile.
 */
export function byteRangeOf(
  headers: { readonly range?: string | undefined; readonly 'if-range'?: string | string[] | undefined },
  { etag, size }: { etag: string; size: number },
): ByteRange | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,12})-(\d{0,12})$/.exec(headers.range ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (headers['if-range'] !== undefined && headers['if-range'] !== etag) return null;
  // Without a first byte, the range is a suffix of that length.
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < start) return null;
  if (start >= size) throw new OutsideFile(size);
  return { start, end };
}

/** The headers of an answer that holds `range` of a file, or all of it. */
export function rangeHeaders(range: ByteRange | null, size: number): { [header: string]: string | number } {
  const { start, end } = range ?? { start: 0, end: size - 1 };
  return {
    'content-length': end - start + 1,
    'accept-ranges': 'bytes',
    ...(range === null ? {} : { 'content-range': `bytes ${start}-${end}/${size}` }),
  };
}
