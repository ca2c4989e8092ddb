import Type from 'typebox';
import { Reason } from '../../protocol/reasons.ts';
import { resultStatuses } from '../../protocol/result.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { countStatuses, findStatus, listStatuses, type StatusRow } from './status-statements.ts';
import { notFound } from '../http/errors.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { isUuid } from '../http/fields/path-params.ts';

export const CheckStatus = open(
  Type.Object(
    {
      checkId: Type.String({ format: 'uuid' }),
      name: Type.String(),
      status: StringEnum(resultStatuses),
      hasFailures: Type.Boolean(),
      hasErrors: Type.Boolean(),
      isDegraded: Type.Boolean(),
      longestRun: Nullable(Type.Number({ description: 'Milliseconds.' })),
      shortestRun: Nullable(Type.Number({ description: 'Milliseconds.' })),
      lastRunLocation: Nullable(Type.String()),
      lastCheckRunId: Nullable(
        Type.String({ format: 'uuid', description: 'The result behind this status.' }),
      ),
      lastStartedAt: Type.String({ format: 'date-time' }),
      sslDaysRemaining: Nullable(Type.Integer()),
      reason: Nullable(Reason),
      created_at: Type.String({ format: 'date-time' }),
      updated_at: Nullable(Type.String({ format: 'date-time' })),
    },
    { $id: 'CheckStatus', title: 'CheckStatus' },
  ),
);

/** A status as the API shows it. */
export function presentStatus({ createdAt, updatedAt, lastStartedAt, ...row }: StatusRow) {
  return {
    ...row,
    lastStartedAt: lastStartedAt.toISOString(),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt?.toISOString() ?? null,
  };
}

/** Registers the routes of check statuses. */
export function registerCheckStatuses(api: PublicApi, { db }: ApiDeps): void {
  api.get(
    '/v1/check-statuses',
    {
      schema: {
        operationId: 'listCheckStatuses',
        tags: ['Results'],
        summary: 'Latest status of each check that has run',
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('CheckStatus')), ...errorResponses(400) },
      },
      config: { countAll: ({ accountId }) => countStatuses(db, accountId) },
    },
    async ({ accountId, query }) => {
      const rows = await listStatuses(db, { accountId, limit: query.limit, offset: offsetOf(query) });
      return rows.map(presentStatus);
    },
  );

  api.get(
    '/v1/check-statuses/:checkId',
    {
      schema: {
        operationId: 'getCheckStatus',
        tags: ['Results'],
        summary: 'Latest status of one check; 404 before its first result',
        params: strict(Type.Object({ checkId: Type.String() })),
        response: { 200: Type.Ref('CheckStatus'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { checkId } }) => {
      const row = isUuid(checkId) ? await findStatus(db, { accountId, checkId }) : undefined;
      if (row === undefined) throw notFound('check with a status', checkId, 'checkId');
      return presentStatus(row);
    },
  );
}
