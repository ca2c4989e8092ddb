import Type from 'typebox';
import { StringEnum } from '../../protocol/schema.ts';
import { isPinged } from '../checks/types/table.ts';
import type { Db } from '../db/database.ts';
import {
  countHeartbeatEvents,
  findHeartbeatEvent,
  heartbeatStates,
  listHeartbeatEvents,
  type HeartbeatEvent as EventRow,
} from './statements.ts';
import { createPartitions } from '../db/partitions.ts';
import { countListed } from '../db/count-rows.ts';
import { findCheck } from '../checks/storage/statements.ts';
import { conflict, notFound } from '../http/errors.ts';
import { recordPing } from './pings.ts';
import { successRatio, userAgentOf } from './rules.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { unixRange, unixRangeFields } from '../http/unix-range.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { bodyOrNone } from '../http/optional-body.ts';
import { dayMs } from '../../durations.ts';

/** Events of heartbeats: one for each ping and each missed ping (specification, "Heartbeat event"; facts, 5.9). */

export const HeartbeatEvent = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      state: StringEnum(heartbeatStates),
      timestamp: Type.String({ format: 'date-time' }),
      source: Type.String({ description: 'How the ping arrived.' }),
      userAgent: Type.String(),
    },
    { $id: 'HeartbeatEvent', title: 'HeartbeatEvent' },
  ),
);

const ratio = Type.Number({ description: 'Percent of the events that were pings; 0 where there were none.' });
const Span = Type.Object({
  successRatio: Type.Object({ previousPeriod: ratio, currentPeriod: ratio }),
  totalEntitiesCurrentPeriod: Type.Integer(),
});

export const HeartbeatStats = open(
  Type.Object({ last24Hours: Span, last7Days: Span }, { $id: 'HeartbeatStats', title: 'HeartbeatStats' }),
);

const present = ({ id, state, happenedAt, source, userAgent }: EventRow) => ({
  id,
  state,
  timestamp: happenedAt.toISOString(),
  source,
  userAgent,
});

/** Counts events and pings of a check in the last day and the last 7 days, and in the periods before. */
async function statsOf(
  db: Db,
  { accountId, checkId, now }: { accountId: string; checkId: string; now: number },
) {
  const before = (days: number) => new Date(now - days * dayMs);
  const spans = [
    { from: before(1), to: before(0) },
    { from: before(2), to: before(1) },
    { from: before(7), to: before(0) },
    { from: before(14), to: before(7) },
  ];
  const counts = await countHeartbeatEvents(db, { accountId, checkId, spans });
  const count = (index: number) => counts[index] ?? { all: 0, pings: 0 };
  const span = (current: number, previous: number) => ({
    successRatio: {
      previousPeriod: successRatio(count(previous)),
      currentPeriod: successRatio(count(current)),
    },
    totalEntitiesCurrentPeriod: count(current).all,
  });
  return { last24Hours: span(0, 1), last7Days: span(2, 3) };
}

const CheckParams = strict(Type.Object({ checkId: Type.String() }));

const path = '/v1/checks/heartbeats/:checkId';
const tags = ['Heartbeats'];

async function heartbeatId(db: Db, accountId: string, checkId: string): Promise<string> {
  const row = isUuid(checkId) ? await findCheck(db, { accountId, id: checkId }) : undefined;
  if (row === undefined || !isPinged(row.checkType)) throw notFound('heartbeat check', checkId, 'checkId');
  return row.id;
}

export function registerHeartbeatEvents(api: PublicApi, deps: ApiDeps): void {
  listRoute(api, deps);
  readRoute(api, deps);
  availabilityRoute(api, deps);
  pingRoute(api, deps);
}

function listRoute(api: PublicApi, { db, now }: ApiDeps): void {
  api.get(
    `${path}/events`,
    {
      schema: {
        operationId: 'listHeartbeatEvents',
        tags,
        summary: 'Events of a heartbeat, newest first, and how many of late were pings',
        params: CheckParams,
        querystring: strict(Type.Object({ ...paginationFields, ...unixRangeFields })),
        response: {
          200: Type.Object({
            events: Type.Array(Type.Ref('HeartbeatEvent')),
            stats: Type.Ref('HeartbeatStats'),
          }),
          ...errorResponses(400, 404),
        },
      },
      config: { listIn: 'events' },
    },
    async (request) => {
      const { accountId, params, query } = request;
      const checkId = await heartbeatId(db, accountId, params.checkId);
      const { limit } = query;
      const page = { ...unixRange(query), limit, offset: offsetOf(query) };
      request.countAll = () =>
        countListed(db, (counting, all) =>
          listHeartbeatEvents(counting, { accountId, checkId, ...unixRange(query), ...all }),
        );
      const events = await listHeartbeatEvents(db, { accountId, checkId, ...page });
      return { events: events.map(present), stats: await statsOf(db, { accountId, checkId, now: now() }) };
    },
  );
}

function readRoute(api: PublicApi, { db, now }: ApiDeps): void {
  api.get(
    `${path}/events/:id`,
    {
      schema: {
        operationId: 'getHeartbeatEvent',
        tags,
        summary: 'One event of a heartbeat',
        params: strict(Type.Object({ checkId: Type.String(), id: Type.String() })),
        response: {
          200: Type.Object({ event: Type.Ref('HeartbeatEvent'), stats: Type.Ref('HeartbeatStats') }),
          ...errorResponses(404),
        },
      },
    },
    async ({ accountId, params: { checkId: named, id } }) => {
      const checkId = await heartbeatId(db, accountId, named);
      const event = isUuid(id) ? await findHeartbeatEvent(db, { accountId, checkId, id }) : undefined;
      if (event === undefined) throw notFound('event of this heartbeat', id);
      return { event: present(event), stats: await statsOf(db, { accountId, checkId, now: now() }) };
    },
  );
}

function availabilityRoute(api: PublicApi, { db, now }: ApiDeps): void {
  api.get(
    `${path}/availability`,
    {
      schema: {
        operationId: 'getHeartbeatAvailability',
        tags,
        summary: 'How many events of a heartbeat were pings',
        params: CheckParams,
        response: { 200: Type.Ref('HeartbeatStats'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }) => {
      const checkId = await heartbeatId(db, accountId, params.checkId);
      return statsOf(db, { accountId, checkId, now: now() });
    },
  );
}

function pingRoute(api: PublicApi, { db, now }: ApiDeps): void {
  const pings = { db, now, partitions: createPartitions(db) };
  api.post(
    `${path}/events`,
    {
      preValidation: bodyOrNone,
      config: { access: 'READ_RUN' },
      schema: {
        operationId: 'pingHeartbeatNow',
        tags,
        summary: 'Ping a heartbeat by hand',
        params: CheckParams,
        body: strict(
          Type.Object({
            source: Type.String({ minLength: 1, maxLength: 256, default: 'API', description: 'Who pings.' }),
          }),
        ),
        response: { 201: Type.Ref('HeartbeatEvent'), ...errorResponses(400, 404, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { accountId, body, params } = request;
      const checkId = await heartbeatId(db, accountId, params.checkId);
      const event = await recordPing(pings, {
        of: { accountId, checkId },
        source: body.source,
        userAgent: userAgentOf(request.headers),
      });
      if (event === 'unknown') throw notFound('heartbeat check', checkId, 'checkId');
      if (event === 'off') {
        throw conflict('The check or its group is deactivated. Set activated to true first.', {
          activated: ['is false'],
        });
      }
      return reply.code(201).send(present(event));
    },
  );
}
