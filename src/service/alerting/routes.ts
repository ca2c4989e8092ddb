import Type, { type Static } from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { alertTypes, locationAlertTypes } from './alert-types.ts';
import type { FastifyRequest } from 'fastify';
import type { Db } from '../db/database.ts';
import { listAlerts, type AlertFilter, type AlertRow } from './statements.ts';
import { countListed } from '../db/count-rows.ts';
import { findCheck } from '../checks/storage/statements.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';

export const CheckAlert = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      name: Type.String({ description: "The check's name then." }),
      checkId: Type.String({ format: 'uuid' }),
      alertType: StringEnum(alertTypes),
      checkType: Type.String(),
      runLocation: Nullable(Type.String(), {
        description: 'Where the run took place that the alert is about; null where none did.',
      }),
      responseTime: Nullable(Type.Number({ description: 'Milliseconds.' })),
      error: Nullable(Type.String()),
      statusCode: Nullable(Type.Integer({ description: 'Of the HTTP response.' })),
      isReminder: Type.Boolean(),
      reminderSequence: Type.Integer({ description: 'Which reminder; 0 = no reminder.' }),
      isLate: Type.Boolean({
        description: 'True: the result arrived more than a minute after the run, after an outage.',
      }),
      startedAt: Type.String({ format: 'date-time', description: 'When the run started.' }),
      created_at: Type.String({ format: 'date-time', description: 'When the alert was raised.' }),
    },
    { $id: 'CheckAlert', title: 'CheckAlert' },
  ),
);

const UnixSeconds = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 253_402_300_799, description }));

const AlertsQuery = Type.Object({
  ...paginationFields,
  from: UnixSeconds('Unix seconds: alerts raised at or after it.'),
  to: UnixSeconds('Unix seconds: alerts raised at or before it.'),
});
const querystring = strict(
  Type.Object({ ...AlertsQuery.properties, alertType: Type.Optional(StringEnum(alertTypes)) }),
);
const locationQuerystring = strict(
  Type.Object({ ...AlertsQuery.properties, alertType: Type.Optional(StringEnum(locationAlertTypes)) }),
);

const presentAlert = (row: AlertRow) => ({
  id: row.id,
  name: row.checkName,
  checkId: row.checkId,
  alertType: row.alertType,
  checkType: row.checkType,
  runLocation: row.runLocation,
  responseTime: row.responseTime,
  error: row.error,
  statusCode: row.statusCode,
  isReminder: row.isReminder,
  reminderSequence: row.reminderSequence,
  isLate: row.isLate,
  startedAt: row.startedAt.toISOString(),
  created_at: row.createdAt.toISOString(),
});

const instant = (seconds: number | undefined) => (seconds === undefined ? null : new Date(seconds * 1000));

function pageOf(query: Static<typeof AlertsQuery> & { alertType?: string }) {
  const { from, to, limit, alertType = null } = query;
  if (from !== undefined && to !== undefined && from > to) {
    throw badRequest({ from: ['must not be after to'] });
  }
  return { from: instant(from), to: instant(to), limit, offset: offsetOf(query), alertType };
}

export const LocationAlert = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      locationId: Type.String({ format: 'uuid', description: 'The location may be gone since.' }),
      name: Type.String({ description: "The location's name then." }),
      slugName: Nullable(Type.String()),
      alertType: StringEnum(locationAlertTypes),
      error: Nullable(Type.String({ description: 'What was found at the agent.' })),
      startedAt: Type.String({
        format: 'date-time',
        description: 'When the run started that showed the trouble or its end.',
      }),
      created_at: Type.String({ format: 'date-time', description: 'When the alert was raised.' }),
    },
    { $id: 'LocationAlert', title: 'LocationAlert' },
  ),
);

const presentLocationAlert = (row: AlertRow) => ({
  id: row.id,
  locationId: row.locationId ?? row.checkId,
  name: row.checkName,
  slugName: row.runLocation,
  alertType: row.alertType,
  error: row.error,
  startedAt: row.startedAt.toISOString(),
  created_at: row.createdAt.toISOString(),
});

/** Reads a page of alerts, and lets the answer count all of them. */
const reader = (db: Db) => (request: FastifyRequest, filter: AlertFilter) => {
  request.countAll = () => countListed(db, (counting, page) => listAlerts(counting, { ...filter, ...page }));
  return listAlerts(db, filter);
};

/** Lists raised alerts about locations; silenced alerts are not included. */
export function registerLocationAlerts(api: PublicApi, { db }: ApiDeps): void {
  const read = reader(db);
  api.get(
    '/v1/location-alerts',
    {
      schema: {
        operationId: 'listLocationAlerts',
        tags: ['Alerts'],
        summary: "Alerts about locations' own networks, newest first",
        querystring: locationQuerystring,
        response: { 200: Type.Array(Type.Ref('LocationAlert')), ...errorResponses(400) },
      },
    },
    async (request) => {
      const { accountId, query } = request;
      const filter = { accountId, checkId: null, ofLocations: true, ...pageOf(query) };
      return (await read(request, filter)).map(presentLocationAlert);
    },
  );
}

/** Lists raised alerts; silenced alerts are not included. */
export function registerCheckAlerts(api: PublicApi, { db }: ApiDeps): void {
  const read = reader(db);
  const tags = ['Alerts'];

  api.get(
    '/v1/check-alerts',
    {
      schema: {
        operationId: 'listAlerts',
        tags,
        summary: 'Alerts of all checks, newest first',
        querystring,
        response: { 200: Type.Array(Type.Ref('CheckAlert')), ...errorResponses(400) },
      },
    },
    async (request) => {
      const { accountId, query } = request;
      return (await read(request, { accountId, checkId: null, ...pageOf(query) })).map(presentAlert);
    },
  );

  api.get(
    '/v1/check-alerts/:checkId',
    {
      schema: {
        operationId: 'listCheckAlerts',
        tags,
        summary: "One check's alerts, newest first",
        params: strict(Type.Object({ checkId: Type.String() })),
        querystring,
        response: { 200: Type.Array(Type.Ref('CheckAlert')), ...errorResponses(400, 404) },
      },
    },
    async (request) => {
      const {
        accountId,
        params: { checkId },
        query,
      } = request;
      const page = pageOf(query);
      const check = isUuid(checkId) ? await findCheck(db, { accountId, id: checkId }) : undefined;
      if (check === undefined) throw notFound('check', checkId, 'checkId');
      return (await read(request, { accountId, checkId, ...page })).map(presentAlert);
    },
  );
}
