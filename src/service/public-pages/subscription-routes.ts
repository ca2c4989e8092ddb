import Type from 'typebox';
import { Nullable } from '../../protocol/schema.ts';
import type { Queryable } from '../db/database.ts';
import {
  deleteSubscriber,
  findSubscriber,
  listSubscribers,
  type SubscriberRow,
} from './subscriber-statements.ts';
import { findStatusPage } from '../status-pages/statements.ts';
import { badRequest, conflict, notFound } from '../http/errors.ts';
import { mailAddress, maxSubscribers, subscribe } from './subscriptions.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { countListed } from '../db/count-rows.ts';
import { CursorQuery, pageOf, PageOf } from '../http/fields/cursor.ts';
import { dateTime } from '../http/fields/dates.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { statusPageOf } from '../status-pages/routes.ts';
import { ignored } from '../http/fields/ignored-fields.ts';

export const StatusPageSubscription = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      statusPageId: Type.String({ format: 'uuid' }),
      email: Type.String(),
      confirmedAt: Nullable(dateTime, { description: 'Null: the address is told nothing.' }),
      created_at: dateTime,
    },
    { $id: 'StatusPageSubscription', title: 'StatusPageSubscription' },
  ),
);
export const StatusPageSubscriptionPage = PageOf('StatusPageSubscription', 'StatusPageSubscriptionPage');

const CreateBody = strict(
  Type.Object({
    email: Type.String({ format: 'email', maxLength: 254 }),
    id: ignored,
    statusPageId: ignored,
    confirmedAt: ignored,
    created_at: ignored,
  }),
);
const SubscriptionParams = strict(Type.Object({ id: Type.String(), subscriptionId: Type.String() }));

const present = (row: SubscriberRow) => ({
  id: row.id,
  statusPageId: row.pageId,
  email: row.email,
  confirmedAt: row.confirmedAt?.toISOString() ?? null,
  created_at: row.createdAt.toISOString(),
});

/** Routes of the subscribers of a status page. */
export function registerStatusPageSubscriptions(api: PublicApi, deps: ApiDeps): void {
  const { db } = deps;
  const tags = ['Status pages'];
  const pageIdOf = async (queryable: Queryable, named: { accountId: string; id: string }) =>
    (await statusPageOf((by) => findStatusPage(queryable, by), named)).id;
  const unknown = (id: string) => notFound('subscription of the status page', id, 'subscriptionId');

  api.get(
    '/v1/status-pages/:id/subscriptions',
    {
      config: { isByCursor: true },
      schema: {
        operationId: 'listStatusPageSubscriptions',
        tags,
        summary: 'Subscriptions of a status page, oldest first',
        params: IdParams,
        querystring: CursorQuery,
        response: { 200: Type.Ref('StatusPageSubscriptionPage'), ...errorResponses(400, 404) },
      },
    },
    async (request) => {
      const {
        accountId,
        params: { id },
        query,
      } = request;
      const pageId = await pageIdOf(db, { accountId, id });
      request.countAll = () =>
        countListed(db, (counting, { limit }) => listSubscribers(counting, { pageId, after: null, limit }));
      return pageOf(
        query,
        (page) => listSubscribers(db, { pageId, ...page }),
        (rows) => rows.map(present),
      );
    },
  );

  api.post(
    '/v1/status-pages/:id/subscriptions',
    {
      schema: {
        operationId: 'createStatusPageSubscription',
        tags,
        summary: 'Ask an address whether it wants to be told: it is when it has confirmed',
        description: 'The answer is the subscription that the address has already, if it has one.',
        params: IdParams,
        body: CreateBody,
        response: { 201: Type.Ref('StatusPageSubscription'), ...errorResponses(400, 404, 409, 413, 415) },
      },
    },
    async ({ accountId, params: { id }, body }, reply) => {
      const pageId = await pageIdOf(db, { accountId, id });
      if (deps.canMail === false) {
        throw conflict('The service cannot send confirmation mails. Set SMTP_URL.', {
          email: ['cannot be confirmed, because SMTP_URL of the service is not set'],
        });
      }
      const email = mailAddress(body.email);
      if (email === null) throw badRequest({ email: ['must be an email address'] });
      if (!(await subscribe(deps, { pageId, email }))) {
        throw badRequest({ email: [`a status page has at most ${maxSubscribers} subscribers`] });
      }
      const row = await findSubscriber(db, { pageId, id: null, email });
      if (row === undefined) throw unknown(email);
      return reply.code(201).send(present(row));
    },
  );

  api.get(
    '/v1/status-pages/:id/subscriptions/:subscriptionId',
    {
      schema: {
        operationId: 'getStatusPageSubscription',
        tags,
        summary: 'One subscription of a status page',
        params: SubscriptionParams,
        response: { 200: Type.Ref('StatusPageSubscription'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id, subscriptionId } }) => {
      const pageId = await pageIdOf(db, { accountId, id });
      const row = isUuid(subscriptionId)
        ? await findSubscriber(db, { pageId, id: subscriptionId })
        : undefined;
      if (row === undefined) throw unknown(subscriptionId);
      return present(row);
    },
  );

  api.delete(
    '/v1/status-pages/:id/subscriptions/:subscriptionId',
    {
      schema: {
        operationId: 'deleteStatusPageSubscription',
        tags,
        summary: 'Delete a subscription: the address is told nothing more',
        params: SubscriptionParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { id, subscriptionId } }, reply) => {
      const pageId = await pageIdOf(db, { accountId, id });
      const deleted = isUuid(subscriptionId) && (await deleteSubscriber(db, { pageId, id: subscriptionId }));
      if (!deleted) throw unknown(subscriptionId);
      return reply.code(204).send(null);
    },
  );
}
