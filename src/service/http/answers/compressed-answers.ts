import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { acceptsEncoding } from './page-files.ts';

/** Below this size, in characters, an answer fits into one packet anyway. */
const leastSize = 1_400;
/** A higher quality takes several times longer and saves a few percent of JSON. */
const brotliQuality = 3;
const gzipLevel = 3;

const packed = { br: promisify(brotliCompress), gzip: promisify(gzip) };
const settings = {
  br: { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } },
  gzip: { level: gzipLevel },
};

/**
 * Sends JSON and other text compressed (br, gzip) to clients that accept it, in zlib's threads. Bodies of routes that name an
 * encoding or an ETag stay as they are, and so do streams. Other sites cannot have requests compressed with a user's session, because
 * its cookie is SameSite.
 */
export function compressAnswers(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || payload.length < leastSize || request.method === 'HEAD')
      return payload;
    if (['content-encoding', 'etag'].some((name) => reply.hasHeader(name))) return payload;
    const vary = String(reply.getHeader('vary') ?? '');
    void reply.header('vary', vary === '' ? 'accept-encoding' : `${vary}, accept-encoding`);
    const encoding = (['br', 'gzip'] as const).find((name) => acceptsEncoding(request, name));
    if (encoding === undefined) return payload;
    void reply.header('content-encoding', encoding).removeHeader('content-length');
    return encoding === 'br' ? packed.br(payload, settings.br) : packed.gzip(payload, settings.gzip);
  });
}
