import Type from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import {
  findLoggedNotification,
  listNotifications,
  notificationStatuses,
  reopenNotification,
  type NotificationRow,
} from './notification-statements.ts';
import { countListed } from '../db/count-rows.ts';
import { sendNotification } from './queue.ts';
import { badRequest, conflict, notFound } from '../http/errors.ts';
import { mask } from '../../secrets/secret.ts';
import { mayAct, type Role } from '../http/fields/roles.ts';
import { channelTypes, hideConfig } from './configs.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';

/** The notification log. It omits notifications about expiring certificates. */
export const AlertNotification = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      type: StringEnum(channelTypes),
      status: StringEnum(notificationStatuses),
      alertChannelId: Type.Integer({ description: 'The channel may be gone since.' }),
      alertId: Nullable(Type.String({ format: 'uuid' }), { description: 'Null = a test of the channel.' }),
      alertType: Type.String(),
      checkId: Nullable(Type.String({ format: 'uuid' })),
      alertConfig: Type.Record(Type.String(), Type.Unknown(), {
        description: "The channel's config as it was, without secrets, headers and template.",
      }),
      notificationResult: Nullable(
        Type.String({
          description: 'What the receiver answered, or why nothing was delivered; of the last try.',
        }),
      ),
      attempts: Type.Integer({ description: 'Tries so far.' }),
      timestamp: Type.String({ format: 'date-time', description: 'Of the last try, or of the alert.' }),
      created_at: Type.String({ format: 'date-time' }),
      updated_at: Nullable(Type.String({ format: 'date-time' })),
    },
    { $id: 'AlertNotification', title: 'AlertNotification' },
  ),
);

const UnixSeconds = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 253_402_300_799, description }));

const querystring = strict(
  Type.Object({
    ...paginationFields,
    alertChannelId: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    checkId: Type.Optional(Type.String({ maxLength: 64 })),
    alertId: Type.Optional(Type.String({ maxLength: 64 })),
    status: Type.Optional(StringEnum(notificationStatuses)),
    from: UnixSeconds('Unix seconds: notifications of alerts at or after it.'),
    to: UnixSeconds('Unix seconds: notifications of alerts at or before it.'),
  }),
);

const instant = (seconds: number | undefined) => (seconds === undefined ? null : new Date(seconds * 1000));

/** What a delivery met with. Keys that cannot write do not see the URL of the channel, wherever the text has it. */
function resultOf({ result, alertConfig }: NotificationRow, role: Role): string | null {
  const url = alertConfig['url'];
  if (result === null || typeof url !== 'string' || url === '' || mayAct(role, 'READ_WRITE')) return result;
  return result.replaceAll(url, mask);
}

const presentNotification = (row: NotificationRow, role: Role) => ({
  id: row.id,
  type: row.channelType,
  status: row.status,
  alertChannelId: row.channelId,
  alertId: row.alertId,
  alertType: row.alertType,
  // The queue keeps the location's id in the place of the check's.
  checkId: row.alertType.startsWith('ALERT_LOCATION_') ? null : row.checkId,
  alertConfig: hideConfig(row.channelType, row.alertConfig, role),
  notificationResult: resultOf(row, role),
  attempts: row.attempts,
  timestamp: (row.updatedAt ?? row.createdAt).toISOString(),
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt?.toISOString() ?? null,
});

const tags = ['Alerts'];
const notification = Type.Ref('AlertNotification');

/** Registers the routes of the notification log. */
export function registerAlertNotifications(api: PublicApi, deps: ApiDeps): void {
  registerLog(api, deps);
  registerRetry(api, deps);
}

function registerRetry(api: PublicApi, { db, now, background }: ApiDeps): void {
  api.post(
    '/v1/alert-notifications/:id/retry',
    {
      schema: {
        operationId: 'retryAlertNotification',
        tags,
        summary: 'Try again to deliver a notification that was not delivered',
        description: 'Limits of notifications per hour do not apply. What became of it is in the log.',
        params: IdParams,
        response: { 202: notification, ...errorResponses(404, 409) },
      },
    },
    async ({ accountId, role, params: { id } }, reply) => {
      const row = await db.tx(async (tx) => {
        const reopened =
          isUuid(id) && (await reopenNotification(tx, { accountId, id, now: new Date(now()) }));
        const found = isUuid(id) ? await findLoggedNotification(tx, { accountId, id }) : undefined;
        if (found === undefined) throw notFound('notification', id);
        if (!reopened) {
          const state =
            found.status === 'SUCCESS'
              ? 'was delivered'
              : found.status === 'IN_PROGRESS'
                ? 'is in progress'
                : 'was followed by a newer one of the same check';
          throw conflict(`The notification ${state}, so it cannot be tried again.`, { id: [state] });
        }
        await sendNotification(tx, background, id);
        return found;
      });
      return reply.code(202).send(presentNotification(row, role));
    },
  );
}

function registerLog(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/alert-notifications',
    {
      schema: {
        operationId: 'listAlertNotifications',
        tags,
        summary: 'What became of notifications, newest first',
        querystring,
        response: { 200: Type.Array(notification), ...errorResponses(400) },
      },
    },
    async (request) => {
      const { accountId, role, query } = request;
      const { checkId = null, alertId = null, from, to } = query;
      if (from !== undefined && to !== undefined && from > to) {
        throw badRequest({ from: ['must not be after to'] });
      }
      // A text that is not an id matches nothing.
      if ([checkId, alertId].some((id) => id !== null && !isUuid(id))) return [];
      const filter = {
        accountId,
        channelId: query.alertChannelId ?? null,
        checkId,
        alertId,
        status: query.status ?? null,
        from: instant(from),
        to: instant(to),
        limit: query.limit,
        offset: offsetOf(query),
      };
      request.countAll = () =>
        countListed(db, (counting, page) => listNotifications(counting, { ...filter, ...page }));
      const rows = await listNotifications(db, filter);
      return rows.map((row) => presentNotification(row, role));
    },
  );

  api.get(
    '/v1/alert-notifications/:id',
    {
      schema: {
        operationId: 'getAlertNotification',
        tags,
        summary: 'What became of one notification',
        params: IdParams,
        response: { 200: notification, ...errorResponses(404) },
      },
    },
    async ({ accountId, role, params: { id } }) => {
      const row = isUuid(id) ? await findLoggedNotification(db, { accountId, id }) : undefined;
      if (row === undefined) throw notFound('notification', id);
      return presentNotification(row, role);
    },
  );
}
