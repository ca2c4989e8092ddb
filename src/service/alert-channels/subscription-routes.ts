import Type from 'typebox';
import { findAlertChannel } from './statements.ts';
import {
  deleteSubscription,
  findSubscription,
  countSubscriptions,
  listSubscriptions,
  setSubscription,
  shareLockChannels,
  type SubscriptionRow,
} from './subscription-statements.ts';
import type { Queryable } from '../db/database.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { SubscriptionBody } from './schema.ts';
import { checkSubscribers, subscriberOf } from './writes.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { createProblems } from '../http/problems.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, numberId } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';

export const presentSubscription = ({ id, channelId: of, activated, checkId, groupId }: SubscriptionRow) => ({
  id,
  alertChannelId: of,
  activated,
  checkId,
  groupId,
});

/** Parses the channel id of a path. Throws 404 if it is not a number. */
export function channelId(text: string): number {
  const id = numberId(text);
  if (id === null) throw notFound('alert channel', text);
  return id;
}

const path = '/v1/alert-channels/:id/subscriptions';
const SubscriptionParams = strict(Type.Object({ id: Type.String(), subscriptionId: Type.String() }));

const tags = ['Alert channels'];
const subscription = Type.Ref('AlertChannelSubscription');

/** The id of an existing channel. Throws 404. */
async function existingChannel(db: Queryable, accountId: string, text: string): Promise<number> {
  const id = channelId(text);
  if ((await findAlertChannel(db, { accountId, id })) === undefined) throw notFound('alert channel', text);
  return id;
}

const missing = (text: string) => notFound('subscription', text, 'subscriptionId');

/** Routes of a channel's subscriptions. */
export function registerAlertChannelSubscriptions(api: PublicApi, deps: ApiDeps): void {
  registerList(api, deps);
  registerSet(api, deps);
  registerRead(api, deps);
  registerDelete(api, deps);
}

function registerList(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    path,
    {
      schema: {
        operationId: 'listAlertChannelSubscriptions',
        tags,
        summary: 'Checks and groups that are subscribed to a channel',
        params: IdParams,
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(subscription), ...errorResponses(400, 404) },
      },
      config: {
        countAll: async ({ params }) => countSubscriptions(db, Number((params as { id: string }).id)),
      },
    },
    async ({ accountId, params, query }) => {
      const page = { limit: query.limit, offset: offsetOf(query) };
      const rows = await listSubscriptions(db, {
        channelId: await existingChannel(db, accountId, params.id),
        ...page,
      });
      return rows.map(presentSubscription);
    },
  );
}

function registerSet(api: PublicApi, { db }: ApiDeps): void {
  api.put(
    path,
    {
      schema: {
        operationId: 'setAlertChannelSubscription',
        tags,
        summary: 'Set the subscription of a check or a group to a channel',
        params: IdParams,
        body: SubscriptionBody,
        response: { 200: subscription, ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, params, body }) => {
      const id = channelId(params.id);
      return db.tx(async (tx) => {
        const [found] = await shareLockChannels(tx, { accountId, ids: [id] });
        if (found === undefined) throw notFound('alert channel', params.id);
        const problems = createProblems();
        const subscriber = subscriberOf(body, '', problems);
        const subscribers = subscriber === null ? [] : [{ ...subscriber, at: '' }];
        await checkSubscribers(tx, { accountId, subscribers, problems });
        const attributes = problems.attributes();
        if (subscriber === null || attributes !== null) throw badRequest(attributes ?? {});
        const { activated } = body;
        return presentSubscription(await setSubscription(tx, { ...subscriber, channelId: id, activated }));
      });
    },
  );
}

function registerRead(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    `${path}/:subscriptionId`,
    {
      schema: {
        operationId: 'getAlertChannelSubscription',
        tags,
        summary: 'One subscription of a channel',
        params: SubscriptionParams,
        response: { 200: subscription, ...errorResponses(404) },
      },
    },
    async ({ accountId, params }) => {
      const of = await existingChannel(db, accountId, params.id);
      const id = numberId(params.subscriptionId);
      const row = id === null ? undefined : await findSubscription(db, { channelId: of, id });
      if (row === undefined) throw missing(params.subscriptionId);
      return presentSubscription(row);
    },
  );
}

function registerDelete(api: PublicApi, { db }: ApiDeps): void {
  api.delete(
    `${path}/:subscriptionId`,
    {
      schema: {
        operationId: 'deleteAlertChannelSubscription',
        tags,
        summary: 'End the subscription of a check or a group to a channel',
        params: SubscriptionParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params }, reply) => {
      const of = await existingChannel(db, accountId, params.id);
      const id = numberId(params.subscriptionId);
      if (id === null || !(await db.tx((tx) => deleteSubscription(tx, { channelId: of, id })))) {
        throw missing(params.subscriptionId);
      }
      return reply.code(204).send(null);
    },
  );
}
