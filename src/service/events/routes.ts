import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { sentUuidPattern } from '../engine/ids.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { createEventHub } from './hub.ts';
import { createStream } from './stream.ts';

const retryMs = 2_000;

const description =
  'Events: `run` {checkId, resultId, sequenceId, status, responseTime, runLocation, startedAt, stoppedAt} for each final result; ' +
  '`check` {checkId, change: created, updated or deleted}; `state` {checkId, state} when it changes; ' +
  '`job` {checkId, sequenceId, runLocation, state: queued, blocked, leased, abandoned or ended, stage}; ' +
  '`alert` {checkId, alertType, id}, where checkId is null for an alert about a location; `location` {slugName, agentCount}; ' +
  '`notification` {id, checkId, status}; `incident`, `maintenance` (a window), `page` (a status page), `service`, `group` and ' +
  '`deployment` (its project) {id, change: created, updated or deleted}; ' +
  '`reset` {reason: TOO_OLD, CONNECTION_LOST, MANY_CHANGES or LATE_CHANGES}: read the data again, ' +
  'because events were left out. The stream ends with the session or the API key that opened it.';

/** Registers the stream of live changes. */
export function registerEvents(
  app: FastifyInstance,
  api: PublicApi,
  { db, now }: Pick<ApiDeps, 'db' | 'now'>,
): void {
  const hub = createEventHub({ db, now, warn: (error) => app.log.warn({ error }, 'live events') });
  // Runs before the server waits for active requests, because streams never end by themselves.
  app.addHook('preClose', async () => hub.stop());
  app.addHook('onClose', async () => hub.close());
  api.get(
    '/v1/events',
    {
      schema: {
        operationId: 'streamEvents',
        tags: ['Events'],
        summary: 'Live changes of the account as server-sent events',
        description,
        headers: Type.Object({
          'last-event-id': Type.Optional(
            Type.String({
              maxLength: 100,
              description: 'Continue after this event. Browsers send it by themselves.',
            }),
          ),
        }),
        querystring: strict(
          Type.Object({
            checkId: Type.Optional(
              Type.String({ pattern: sentUuidPattern, description: 'Only events of this check.' }),
            ),
          }),
        ),
        response: {
          200: {
            description: 'The events, for as long as the client stays',
            content: { 'text/event-stream': { schema: Type.String() } },
          },
          ...errorResponses(400),
        },
      },
    },
    async (request, reply) => {
      const { accountId, apiKeyId, sessionId, query } = request;
      await hub.admit(apiKeyId);
      const { raw } = reply;
      if (raw.destroyed || request.raw.socket.destroyed) return reply.hijack();
      reply.hijack();
      raw.writeHead(200, {
        ...(reply.getHeaders() as { [name: string]: string }), // set by hooks, all of them texts or numbers
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        // Proxies that collect answers would hold events back.
        'x-accel-buffering': 'no',
      });
      raw.write(`retry: ${retryMs}\n\n`);
      const stream = createStream(raw, {
        accountId,
        apiKeyId,
        sessionId,
        checkId: query.checkId?.toLowerCase() ?? null,
        clock: () => performance.now(),
      });
      raw.once('close', () => hub.remove(stream));
      raw.on('error', () => hub.remove(stream));
      hub.add(stream, request.headers['last-event-id'] ?? null);
      return reply;
    },
  );
}
