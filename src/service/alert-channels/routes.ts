import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import {
  deleteAlertChannel,
  findAlertChannel,
  insertAlertChannel,
  listAlertChannels,
  lockAlertChannel,
  lockChannelCount,
  updateAlertChannel,
  type AlertChannelRow,
} from './statements.ts';
import { countOfAccount } from '../db/count-rows.ts';
import { insertTestNotification } from './notification-statements.ts';
import {
  replaceChannelSubscriptions,
  subscriptionsOfChannels,
  type SubscriptionRow,
} from './subscription-statements.ts';
import type { Db } from '../db/database.ts';
import { conflict, notFound } from '../http/errors.ts';
import { hideConfig } from './configs.ts';
import { sendNotification } from './queue.ts';
import type { Role } from '../http/fields/roles.ts';
import { strict } from '../http/fields/strict-schema.ts';
import {
  ChangeChannel,
  CreateChannel,
  maxSubscriptions,
  type ChangeChannel as Change,
  type CreateChannel as Create,
} from './schema.ts';
import { prepareChannel } from './writes.ts';
import { channelId, presentSubscription } from './subscription-routes.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';

const maxChannels = 500;
/** Subscriptions shown of each channel in a list. */
const listedSubscriptions = 100;

function presentChannel(
  row: AlertChannelRow & { isPartial?: boolean },
  { subscriptions, max, role }: { subscriptions: readonly SubscriptionRow[]; max: number; role: Role },
) {
  const own = subscriptions.filter(({ channelId }) => channelId === row.id);
  return {
    id: row.id,
    type: row.type,
    config: hideConfig(row.type, row.config, role),
    subscriptions: own.slice(0, max).map(presentSubscription),
    ...(own.length > max || row.isPartial === true ? { isPartial: true } : {}),
    sendRecovery: row.sendRecovery,
    sendFailure: row.sendFailure,
    sendDegraded: row.sendDegraded,
    sslExpiry: row.sslExpiry,
    sslExpiryThreshold: row.sslExpiryThreshold,
    autoSubscribe: row.autoSubscribe,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt?.toISOString() ?? null,
  };
}

async function present(db: Db, { accountId, role }: { accountId: string; role: Role }, id: number) {
  const row = await findAlertChannel(db, { accountId, id });
  if (row === undefined) throw notFound('alert channel', String(id));
  const subscriptions = await subscriptionsOfChannels(db, { channelIds: [id], limit: maxSubscriptions });
  return presentChannel(row, { subscriptions, max: maxSubscriptions, role });
}

const tags = ['Alert channels'];
const channel = Type.Ref('AlertChannel');

/** Routes of alert channels. `app` is `api` without types: the body's `type` selects the schema of its `config`. */
export function registerAlertChannels(app: FastifyInstance, api: PublicApi, deps: ApiDeps): void {
  registerList(api, deps);
  registerCreate(app, deps);
  registerRead(api, deps);
  registerChange(app, deps);
  registerDelete(api, deps);
  registerTest(api, deps);
}

function registerList(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/alert-channels',
    {
      schema: {
        operationId: 'listAlertChannels',
        tags,
        summary: 'Alert channels, oldest first',
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(channel), ...errorResponses(400) },
      },
      config: { countAll: ({ accountId }) => countOfAccount(db, 'alert_channels', accountId) },
    },
    async ({ accountId, role, query }) => {
      const rows = await listAlertChannels(db, { accountId, limit: query.limit, offset: offsetOf(query) });
      const channelIds = rows.map(({ id }) => id);
      const subscriptions = await subscriptionsOfChannels(db, { channelIds, limit: listedSubscriptions });
      return rows.map((row) => presentChannel(row, { subscriptions, max: listedSubscriptions, role }));
    },
  );
}

function registerCreate(app: FastifyInstance, deps: ApiDeps): void {
  const { db } = deps;

  app.post(
    '/v1/alert-channels',
    {
      schema: {
        operationId: 'createAlertChannel',
        tags,
        summary: 'Create an alert channel',
        body: CreateChannel,
        response: { 201: channel, ...errorResponses(400, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { accountId } = request;
      const body = request.body as Create; // validated by the schema above
      const created = await db.tx(async (tx) => {
        if ((await lockChannelCount(tx, accountId)) >= maxChannels) {
          throw conflict(
            `An account has at most ${maxChannels} alert channels: delete one that is not used.`,
          );
        }
        const prepared = await prepareChannel(tx, deps, { request, body, row: null });
        const id = await insertAlertChannel(tx, prepared.channel);
        await replaceChannelSubscriptions(tx, id, prepared.subscriptions ?? []);
        return present(tx, request, id);
      });
      return reply.code(201).send(created);
    },
  );
}

function registerRead(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/alert-channels/:id',
    {
      schema: {
        operationId: 'getAlertChannel',
        tags,
        summary: 'One alert channel',
        params: IdParams,
        response: { 200: channel, ...errorResponses(404) },
      },
    },
    async (request) => present(db, request, channelId(request.params.id)),
  );
}

function registerChange(app: FastifyInstance, deps: ApiDeps): void {
  const { db } = deps;

  app.put(
    '/v1/alert-channels/:id',
    {
      schema: {
        operationId: 'updateAlertChannel',
        tags,
        summary: 'Change an alert channel: fields that are left out stay as they are',
        params: IdParams,
        body: ChangeChannel,
        response: { 200: channel, ...errorResponses(400, 404, 413, 415) },
      },
    },
    async (request) => {
      const { accountId } = request;
      const id = channelId((request.params as { id: string }).id); // IdParams
      const body = request.body as Change; // validated by the schema above
      return db.tx(async (tx) => {
        const row = await lockAlertChannel(tx, { accountId, id });
        if (row === undefined) throw notFound('alert channel', String(id));
        const prepared = await prepareChannel(tx, deps, { request, body, row });
        await updateAlertChannel(tx, id, prepared.channel);
        if (prepared.subscriptions !== null)
          await replaceChannelSubscriptions(tx, id, prepared.subscriptions);
        return present(tx, request, id);
      });
    },
  );
}

function registerDelete(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    '/v1/alert-channels/:id',
    {
      schema: {
        operationId: 'deleteAlertChannel',
        tags,
        summary: 'Delete an alert channel with its subscriptions',
        params: IdParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }, reply) => {
      const id = channelId(params.id);
      const deleted = await db.tx((tx) => deleteAlertChannel(tx, { accountId, id }));
      if (!deleted) throw notFound('alert channel', params.id);
      return reply.code(204).send(null);
    },
  );
}

function registerTest(api: PublicApi, { db, now, background }: ApiDeps): void {
  api.post(
    '/v1/alert-channels/:id/test',
    {
      schema: {
        operationId: 'testAlertChannel',
        tags,
        summary: 'Send a test notification; what became of it stands in the log of notifications',
        params: IdParams,
        response: {
          202: Type.Object({ alertNotificationId: Type.String({ format: 'uuid' }) }),
          ...errorResponses(404),
        },
      },
    },
    async ({ accountId, params }, reply) => {
      const id = channelId(params.id);
      const alertNotificationId = await db.tx(async (tx) => {
        const notification = { accountId, channelId: id, now: new Date(now()) };
        const notificationId = await insertTestNotification(tx, notification);
        if (notificationId === null) throw notFound('alert channel', params.id);
        await sendNotification(tx, background, notificationId);
        return notificationId;
      });
      return reply.code(202).send({ alertNotificationId });
    },
  );
}
