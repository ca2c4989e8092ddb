import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { HttpError } from './errors.ts';

/**
 * JSON bodies that clients send compressed (`content-encoding: gzip`). The route's limit also applies to the unpacked
 * body, and unpacking stops there. A small body therefore cannot take much memory.
 */

/** Makes routes of this instance unpack JSON bodies. Other content types are unchanged. */
export function acceptGzip(instance: FastifyInstance): void {
  instance.addHook('preParsing', async (request, reply, payload) => {
    const { headers, method } = request;
    // Bodies of these are not read.
    if (method === 'GET' || method === 'HEAD') return payload;
    const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase();
    if (encoding === '' || encoding === 'identity' || !isJson(headers) || !hasBody(headers)) return payload;
    // RFC 9110, 8.4.1.3: x-gzip is the same.
    if (encoding !== 'gzip' && encoding !== 'x-gzip') {
      void reply.header('accept-encoding', 'gzip').header('connection', 'close');
      throw new HttpError(415, 'The body must be sent as it is or compressed with gzip.', {
        'content-encoding': ['must be gzip or identity'],
      });
    }
    return unpacked(payload, request.routeOptions.bodyLimit);
  });
}

type Headers = FastifyRequest['headers'];

const isJson = (headers: Headers): boolean => /^\s*application\/json\b/i.test(headers['content-type'] ?? '');

const hasBody = (headers: Headers): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Returns the unpacked body. It fails with 413 above `limit` bytes, and with 400 if the body is not gzip. */
function unpacked(packed: Readable, limit: number): Readable & { receivedEncodedLength: number } {
  const gunzip = createGunzip();
  // If nobody reads the body, its error does not matter.
  gunzip.on('error', () => undefined);
  let packedBytes = 0;
  packed
    .on('error', (error) => gunzip.destroy(error))
    .on('data', (chunk: Buffer) => (packedBytes += chunk.length))
    .pipe(gunzip);
  const body = Readable.from(bounded(packed, gunzip, limit), { objectMode: false });
  // Fastify stops listening once it refuses a body itself; a later error must not end the process.
  body.on('error', () => undefined);
  // Fastify compares this property with content-length.
  return Object.defineProperty(Object.assign(body, { receivedEncodedLength: 0 }), 'receivedEncodedLength', {
    get: () => packedBytes,
  });
}

async function* bounded(packed: Readable, gunzip: Gunzip, limit: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > limit) {
        throw new HttpError(413, 'The unpacked body is too large.', {
          body: ['is larger than this endpoint accepts'],
        });
      }
      yield chunk;
    }
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, 'The content-encoding is gzip, but the body is not valid gzip.', {
      body: ['is not valid gzip'],
    });
  } finally {
    packed.unpipe(gunzip);
    gunzip.destroy();
    // The rest of a refused body is dropped.
    packed.resume();
  }
}
