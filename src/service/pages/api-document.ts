import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptsEncoding } from '../http/answers/page-files.ts';

/** The OpenAPI document: /openapi.json, and /docs/json and /docs/yaml for clients that know these addresses. */

type Served = { readonly plain: Buffer; readonly small: Buffer; readonly etag: string };

/** Returns a handler that sends this text; it is made at the first request, and compressed once. */
function sender(type: string, make: () => string) {
  let served: Served | undefined;
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (served === undefined) {
      const plain = Buffer.from(make());
      const etag = `"${createHash('sha256').update(plain).digest('base64url')}"`;
      served = { plain, small: gzipSync(plain), etag };
    }
    const { plain, small, etag } = served;
    void reply.headers({ etag, vary: 'accept-encoding', 'cache-control': 'no-cache' });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    void reply.type(type);
    if (!acceptsEncoding(request, 'gzip')) return reply.send(plain);
    return reply.header('content-encoding', 'gzip').send(small);
  };
}

/** Serves the document of `app`, whose routes must be complete when the first request comes. */
export function serveDocument(app: FastifyInstance): void {
  const schema = { hide: true };
  const json = sender('application/json; charset=utf-8', () => JSON.stringify(app.swagger()));
  app.get('/openapi.json', { schema }, json);
  app.get('/docs/json', { schema }, json);
  const yaml = sender('application/yaml; charset=utf-8', () => app.swagger({ yaml: true }));
  app.get('/docs/yaml', { schema }, yaml);
}
