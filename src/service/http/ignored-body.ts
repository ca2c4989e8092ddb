import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';

/** Bodies of any type that nobody reads. A program that calls a URL may send its own output or payload. */

/** A longer body closes the connection after the answer. */
const maxBytes = 1024 * 1024;

/** Requests whose body was not read completely. */
const unread = new WeakSet<FastifyRequest>();

/** Makes routes of this instance accept and ignore any body. */
export function ignoreBodies(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', { bodyLimit: Number.MAX_SAFE_INTEGER }, ignoreBody);
  instance.addHook('onRequest', async (request: FastifyRequest) => {
    // A type that is none would be refused, and the call with it.
    delete request.headers['content-type'];
  });
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
    if (bytes <= maxBytes) return;
    unread.add(request);
    end();
  };
  payload.on('data', count).on('end', end).on('error', end).on('close', end);
}
