import Type from 'typebox';
import { resultStatuses } from '../../protocol/result.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { findCheck } from '../checks/storage/statements.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { unixRange, unixRangeFields } from '../http/unix-range.ts';
import { suiteRuns } from './suite-statements.ts';
import { SuiteTotals } from './suite-totals.ts';

export const SuiteRuns = open(
  Type.Object(
    {
      runs: Type.Array(
        Type.Object({
          id: Type.String({ format: 'uuid' }),
          status: StringEnum(resultStatuses),
          responseTime: Type.Number({ description: 'Milliseconds.' }),
          runLocation: Type.String(),
          startedAt: Type.String({ format: 'date-time' }),
          totals: Nullable(SuiteTotals, { description: 'Null where the run came to none.' }),
        }),
      ),
    },
    { $id: 'SuiteRuns', title: 'SuiteRuns' },
  ),
);

const Query = strict(
  Type.Object({ limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }), ...unixRangeFields }),
);

/** Registers the totals of a suite's last runs, from which its charts are drawn. */
export function registerSuiteRuns(api: PublicApi, { db }: Pick<ApiDeps, 'db'>): void {
  api.get(
    '/v1/checks/:id/suite-runs',
    {
      schema: {
        operationId: 'listSuiteRuns',
        tags: ['Results'],
        summary: "The last runs of a suite with their tests' totals, newest first",
        params: IdParams,
        querystring: Query,
        response: { 200: Type.Ref('SuiteRuns'), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, params: { id }, query }) => {
      const range = unixRange(query);
      const check = isUuid(id) ? await findCheck(db, { accountId, id }) : undefined;
      if (check === undefined) throw notFound('check', id);
      const rows = await suiteRuns(db, { accountId, checkId: id, ...range, limit: query.limit });
      return {
        runs: rows.map(({ startedAt, status, ...row }) => ({
          ...row,
          status: resultStatuses.find((known) => known === status) ?? ('errored' as const),
          startedAt: startedAt.toISOString(),
        })),
      };
    },
  );
}
