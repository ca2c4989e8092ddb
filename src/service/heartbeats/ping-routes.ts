import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { isUuid } from '../http/fields/path-params.ts';
import { createCallLimit } from '../http/call-limit.ts';
import type { Db } from '../db/database.ts';
import { createPartitions } from '../db/partitions.ts';
import { HttpError } from '../http/errors.ts';
import { ignoreBodies } from '../http/ignored-body.ts';
import { recordPing } from './pings.ts';
import { sourceOf, userAgentOf } from './rules.ts';

/** The ping URL: `GET`, `HEAD` or `POST /ping/<token>`, without authentication. */

const pingsPerMinute = 60;
export function registerPings(app: FastifyInstance, deps: { db: Db; now: () => number }): void {
  const { db, now } = deps;
  const limit = createCallLimit({ perMinute: pingsPerMinute, now });
  const pings = { db, now, partitions: createPartitions(db) };

  async function answer(request: FastifyRequest, reply: FastifyReply) {
    const { token } = request.params as { token: string }; // the schema below
    void reply.header('cache-control', 'no-store');
    if (!isUuid(token)) throw unknown();
    if (!limit.take(token)) {
      void reply.header('retry-after', '60');
      throw new HttpError(429, `More than ${pingsPerMinute} pings in a minute. This ping was not recorded.`);
    }
    const event = await recordPing(pings, {
      of: { token },
      source: sourceOf(request.method, request.headers),
      userAgent: userAgentOf(request.headers),
    });
    if (event === 'unknown') throw unknown();
    return event === 'off'
      ? { message: 'The check is deactivated. The ping was not recorded.', state: null }
      : { message: 'Ping received.', state: event.state };
  }

  void app.register(async (instance) => {
    ignoreBodies(instance);
    for (const method of ['GET', 'POST'] as const) {
      instance.route({
        method,
        url: '/ping/:token',
        schema: {
          operationId: method === 'GET' ? 'pingHeartbeat' : 'pingHeartbeatWithBody',
          tags: ['Heartbeats'],
          summary: 'Ping a heartbeat: the job that it watches has run',
          description: 'No authentication: the token is the key. HEAD does the same; a body is ignored.',
          security: [],
          params: Type.Object({ token: Type.String() }),
          response: {
            200: Type.Object({
              message: Type.String(),
              state: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
            }),
            404: Type.Ref('Error', { description: 'No heartbeat has this token' }),
            429: Type.Ref('Error', { description: 'Too many pings: ask again later' }),
          },
        },
        handler: answer,
      });
    }
  });
}

const unknown = () =>
  new HttpError(404, 'No heartbeat has this token.', { token: ['is not the token of a heartbeat'] });
