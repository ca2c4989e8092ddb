import * as zlib from 'node:zlib';
import { HttpFailure } from './failures.ts';
import { shortened } from '../../shortened.ts';

/** A body without its content codings. `cut`: the body was longer than the limit. */
export type DecodedBody = { bytes: Buffer; cut: boolean };

type Decoder = ReturnType<typeof zlib.createGunzip>;

/** Node has zstd since 22.15 and 23.8. */
const createZstd: unknown = Reflect.get(zlib, 'createZstdDecompress');

/** The supported content codings; bodies with other codings are passed through. */
function decoderOf(coding: string, first: number | undefined): (() => Decoder) | null {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return () => zlib.createGunzip();
    case 'br':
      return () => zlib.createBrotliDecompress() as Decoder; // same stream methods as Gunzip
    case 'deflate':
      // "deflate" means zlib's format (RFC 9110 section 8.4.1.2), but some servers send raw deflate data. 8 is the
      // nibble of the zlib method.
      return () =>
        (((first ?? 8) & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw()) as unknown as Decoder; // as above
    case 'zstd':
      return typeof createZstd === 'function' ? () => createZstd() as Decoder : null; // as above
    default:
      return null;
  }
}

/** Value of Accept-Encoding: the codings that this Node can decode. */
export const acceptEncoding =
  typeof createZstd === 'function' ? 'gzip, br, deflate, zstd' : 'gzip, br, deflate';

const maxCodings = 4;

/**
 * Removes the codings in Content-Encoding, last first, on zlib's own threads. Stops at `limit` bytes, so that a small
 * body cannot become a huge one. `incoming.cut` = the end is missing, which is not an error then. Throws HttpFailure
 * HTTP_DECODING_FAILED, or `signal.reason`.
 */
export async function decodeBody(
  incoming: { bytes: Buffer; cut: boolean; contentEncoding: string | string[] | undefined },
  options: { limit: number; signal: AbortSignal },
): Promise<DecodedBody> {
  let { bytes, cut } = incoming;
  const header = incoming.contentEncoding;
  if (header === undefined || bytes.length === 0) return { bytes, cut };
  const codings = String(header)
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
    .reverse();
  if (codings.length > maxCodings) {
    throw new HttpFailure(
      'HTTP_DECODING_FAILED',
      `the body has ${codings.length} content codings; at most ${maxCodings} are supported`,
    );
  }
  for (const coding of codings) {
    const decoder = decoderOf(coding, bytes[0]);
    if (decoder === null) break;
    const decoded = await run(decoder(), { bytes, cut }, { ...options, coding });
    bytes = decoded.bytes;
    cut = decoded.cut;
  }
  return { bytes, cut };
}

function run(
  decoder: Decoder,
  incoming: DecodedBody,
  options: { limit: number; signal: AbortSignal; coding: string },
): Promise<DecodedBody> {
  const { limit, signal } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const finish = () => {
      signal.removeEventListener('abort', onAbort);
      decoder.off('error', onError).on('error', () => undefined);
      decoder.destroy();
    };
    const done = (cut: boolean) => {
      finish();
      resolve({
        bytes: chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks),
        cut,
      });
    };
    const onAbort = () => {
      finish();
      reject(signal.reason);
    };
    const onError = (error: Error) => {
      if (incoming.cut) {
        done(true);
        return;
      }
      finish();
      reject(
        new HttpFailure('HTTP_DECODING_FAILED', `the body is not valid ${options.coding}: ${error.message}`),
      );
    };
    decoder.on('data', (chunk: Buffer) => {
      const room = limit - length;
      if (chunk.length > room) {
        chunks.push(chunk.subarray(0, room));
        done(true);
        return;
      }
      chunks.push(chunk);
      length += chunk.length;
    });
    decoder.once('error', onError);
    decoder.once('end', () => done(incoming.cut));
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    decoder.end(incoming.bytes);
  });
}

/** The media type of a Content-Type in lower case, and its charset, if any. */
export function mediaTypeOf(contentType: string | string[] | undefined): {
  type: string;
  charset: string | null;
} {
  const [type = '', ...parameters] = String(contentType ?? '').split(';');
  for (const parameter of parameters) {
    const match = /^\s*charset\s*=\s*"?([^"\s]+)"?\s*$/i.exec(parameter);
    if (match?.[1] !== undefined) return { type: type.trim().toLowerCase(), charset: match[1] };
  }
  return { type: type.trim().toLowerCase(), charset: null };
}

/** Text of a body in its declared charset, else UTF-8. A character cut in two at the end is omitted. */
export function textOf(bytes: Buffer, charset: string | null): string {
  return decoderFor(charset).decode(bytes, { stream: true });
}

function decoderFor(charset: string | null): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset ?? 'utf-8');
  } catch {
    return new TextDecoder('utf-8');
  }
}

const binaryTypes = new Set([
  'application/pdf',
  'application/octet-stream',
  'application/zip',
  'application/gzip',
  'application/x-gzip',
  'application/x-tar',
  'application/x-7z-compressed',
  'application/x-rar-compressed',
  'application/vnd.rar',
  'application/ogg',
  'application/x-shockwave-flash',
  'application/wasm',
  'application/java-archive',
]);

const previewImages = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/apng',
  'image/bmp',
  'image/x-ms-bmp',
  'image/x-icon',
  'image/vnd.microsoft.icon',
]);

const maxPreviewBytes = 256 * 1024;
const maxImageBytes = 50 * 1024;

/** The body in the form that a result stores. */
export type StoredBody = { body: string; bodyEncoding?: 'base64'; truncated: boolean };

/**
 * The part of a body that is stored: up to 256 KiB of text, an image of at most 50 KB as base64, or a notice in place
 * of binary content. `asText` (a check with TEXT_BODY assertions) treats everything as text.
 */
export function storedBody(
  decoded: DecodedBody,
  media: { type: string; charset: string | null },
  asText: boolean,
): StoredBody {
  const { bytes, cut } = decoded;
  const { type } = media;
  if (!asText && !cut && bytes.length > 0 && bytes.length <= maxImageBytes && previewImages.has(type)) {
    return { body: bytes.toString('base64'), bodyEncoding: 'base64', truncated: false };
  }
  const binary =
    binaryTypes.has(type) ||
    type.startsWith('audio/') ||
    type.startsWith('video/') ||
    type.startsWith('font/') ||
    (type.startsWith('image/') && type !== 'image/svg+xml');
  if (!asText && binary && bytes.length > 0) {
    return {
      body: `[binary content of type ${shortened(type, 100)}, ${bytes.length} bytes]`,
      truncated: cut,
    };
  }
  const over = bytes.length > maxPreviewBytes;
  return {
    body: textOf(over ? bytes.subarray(0, maxPreviewBytes) : bytes, media.charset),
    truncated: cut || over,
  };
}
