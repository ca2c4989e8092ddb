import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { decodeBody, mediaTypeOf, storedBody, textOf } from '../../../src/executors/http/body.ts';
import { HttpFailure } from '../../../src/executors/http/failures.ts';

/** Bodies of targets: content codings, charsets and what is stored of them. */

export const name = 'http-body';

const codings = [
  'gzip',
  'br',
  'deflate',
  'zstd',
  'gzip, br',
  'deflate,gzip,,identity',
  'x-gzip',
  'other',
  '',
];
const types = [
  'text/html; charset=utf-16',
  'image/png',
  'application/json',
  'text/plain;charset="shift_jis"',
];
const limit = 256 * 1024;

/** Throws if a body is neither decoded nor refused, or is larger than the limit. The first line is a Content-Type. */
export async function run(data: Buffer): Promise<void> {
  const coding = codings[(data[0] ?? 0) % codings.length];
  const end = data.indexOf(10, 1);
  const given = end < 0 ? '' : data.toString('latin1', 1, end);
  const media = mediaTypeOf(given === '' ? types[(data[0] ?? 0) % types.length] : given);
  const bytes = data.subarray(end < 0 ? 1 : end + 1);
  for (const cut of [false, true]) {
    try {
      const incoming = { bytes, cut, contentEncoding: coding };
      const decoded = await decodeBody(incoming, { limit, signal: new AbortController().signal });
      if (decoded.bytes.length > limit) throw new Error(`${decoded.bytes.length} bytes`);
      textOf(decoded.bytes, media.charset);
      for (const asText of [false, true]) {
        if (storedBody(decoded, media, asText).body.length > limit * 3) throw new Error('stored too much');
      }
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
    }
  }
}

export const seeds = (): Buffer[] => {
  const text = Buffer.from('{"items":3,"text":"äöü"}'.repeat(4));
  const body = (coding: number, bytes: Buffer, type = ''): Buffer =>
    Buffer.concat([Buffer.from([coding]), Buffer.from(`${type}\n`), bytes]);
  return [
    body(0, gzipSync(text)),
    body(1, brotliCompressSync(text)),
    body(2, deflateSync(text)),
    body(2, deflateRawSync(text)),
    body(4, brotliCompressSync(gzipSync(text))),
    body(5, gzipSync(deflateSync(text))),
    body(0, gzipSync(Buffer.alloc(1024 * 1024))),
    body(8, Buffer.from('\ufeffaä', 'utf16le'), 'text/plain; charset=utf-16le'),
    body(8, text, 'multipart/form-data; boundary="a;b"; charset=iso-8859-1'),
  ];
};

export const dictionary = ['charset=', ';', '"', 'text/', 'image/svg+xml', Buffer.from([0x1f, 0x8b, 8])];
