import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';

/** Bodies that nobody reads, of any type: what calls a URL may send its own output or payload along. */

/** More than this ends the connection after the answer. */
const mostBytes = 1024 * 1024;

/** Requests whose body was not read to its end. */
const unread = new WeakSet<FastifyRequest>();

/** Routes of this instance take any body, and forget it. */
export function ignoreBodies(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', { bodyLimit: Number.MAX_SAFE_INTEGER }, ignoreBody);
  instance.addHook('onRoute', (route) => {
    route.bodyLimit = Number.MAX_SAFE_INTEGER;
  });
  instance.addHook('preHandler', async (request: FastifyRequest, reply: FastifyReply) => {
    if (unread.has(request)) void reply.header('connection', 'close');
  });
}

function ignoreBody(request: FastifyRequest, payload: Readable, done: (error: null) => void): void {
  let bytes = 0;
  const end = () => {
    payload.off('data', count).off('end', end).off('error', end).off('close', end);
    payload.resume();
    done(null);
  };
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= mostBytes) return;
    unread.add(request);
    end();
  };
  payload.on('data', count).on('end', end).on('error', end).on('close', end);
}
