import Type from 'typebox';
import { defaultRetention } from '../../config/retention.ts';
import { checkTypes } from '../../protocol/check-types.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { quickRanges } from './ranges.ts';
import { rolledUpHours } from './spans.ts';
import { dayOf } from '../db/partitions.ts';
import { countListed } from '../db/count-rows.ts';
import { reportedChecks, reportFigures, type ReportRow } from './reporting-statements.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { csv, csvQuery, rangeFields, rangeOf } from './schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { paginationFields } from '../http/fields/pagination.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { dayMs } from '../../durations.ts';
import { rounded, shareOf } from '../../rounding.ts';

const Milliseconds = Nullable(Type.Number({ description: 'Milliseconds; null: nothing was measured.' }));

export const Report = open(
  Type.Object(
    {
      checkId: Type.String({ format: 'uuid' }),
      name: Type.String(),
      checkType: StringEnum(checkTypes),
      deactivated: Type.Boolean(),
      tags: Type.Array(Type.String()),
      aggregate: Type.Object({
        successRatio: Nullable(
          Type.Number({
            description:
              'Percent of the runs that did not fail; degraded ones did not. Null: there was no run.',
          }),
        ),
        avg: Milliseconds,
        p95: Milliseconds,
        p99: Milliseconds,
      }),
    },
    { $id: 'Report', title: 'Report' },
  ),
);

const ReportQuery = strict(
  Type.Object(
    {
      ...rangeFields,
      presetWindow: StringEnum(quickRanges, {
        default: 'last24Hours',
        description: 'In UTC; weeks begin on Monday.',
      }),
      filterByTags: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
          ...csv,
          maxItems: 100,
          description: 'Checks that have any of these tags, or whose group has.',
        }),
      ),
      deactivated: Type.Optional(
        Type.Boolean({
          description: 'Only checks that are, or are not, deactivated (by themselves or by their group).',
        }),
      ),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 100, description: 'Checks of one page; left out: all on one.' }),
      ),
      page: paginationFields.page,
    },
    csvQuery,
  ),
);

/** Checks per statement, few enough not to block the embedded database. */
const atOnce = 50;
/** Concurrent statements; the embedded database has one connection. */
const statementsOf = { embedded: 1, server: 2 } as const;

const roundedOrNull = (value: number | null | undefined): number | null =>
  typeof value === 'number' ? rounded(value, 4) : null;

export function registerReporting(
  api: PublicApi,
  { db, now, retention = defaultRetention }: Pick<ApiDeps, 'db' | 'now' | 'retention'>,
): void {
  api.get(
    '/v1/reporting',
    {
      schema: {
        operationId: 'getReport',
        tags: ['Analytics'],
        summary: 'Availability and response times of all checks over a range',
        querystring: ReportQuery,
        response: { 200: Type.Array(Type.Ref('Report')), ...errorResponses(400) },
      },
    },
    async (request) => {
      const { accountId, query } = request;
      const time = now();
      const range = rangeOf(query, query.presetWindow, time);
      const oldestRaw = dayOf(time - retention.resultDays * dayMs);
      const hours = rolledUpHours(range, { now: time, oldestRaw });
      const { limit = null, page, filterByTags = null, deactivated = null } = query;
      const offset = limit === null ? 0 : (page - 1) * limit;
      const filter = { accountId, tags: filterByTags, deactivated };
      request.countAll = () =>
        countListed(db, (counting, all) => reportedChecks(counting, { ...filter, ...all }));
      const checks = limit === null && page > 1 ? [] : await reportedChecks(db, { ...filter, limit, offset });
      const found = new Map<string, ReportRow>();
      const parts = Array.from({ length: Math.ceil(checks.length / atOnce) }, (_, part) =>
        checks.slice(part * atOnce, (part + 1) * atOnce).map(({ id }) => id),
      ).values();
      await Promise.all(
        Array.from({ length: statementsOf[db.kind] }, async () => {
          for (const checkIds of parts) {
            for (const row of await reportFigures(db, { checkIds, range, hours }))
              found.set(row.checkId, row);
          }
        }),
      );
      return checks.map(({ id, name, checkType, ...check }) => {
        const row = found.get(id);
        return {
          checkId: id,
          name,
          checkType,
          deactivated: check.deactivated,
          tags: check.tags,
          aggregate: {
            successRatio: row === undefined ? null : shareOf(row.up, row.runs, 4),
            avg: roundedOrNull(row?.avg),
            p95: roundedOrNull(row?.p95),
            p99: roundedOrNull(row?.p99),
          },
        };
      });
    },
  );
}
