import Type from 'typebox';
import { dayMs } from '../../durations.ts';
import { Nullable } from '../../protocol/schema.ts';
import { badRequest } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { checksWithGroups } from '../checks/storage/effective-checks.ts';
import type { Queryable } from '../db/database.ts';
import { csv, csvQuery } from './schema.ts';
import type { TimeRange } from './ranges.ts';
import { shareOf } from '../../rounding.ts';

/** Availability of all checks together by day, for a month at a glance. */

const maxDays = 92;
const usualDays = 31;

export const ReportDay = open(
  Type.Object(
    {
      day: Type.String({ examples: ['2026-03-01'], description: 'In UTC.' }),
      runs: Type.Integer({ minimum: 0, description: 'Runs that describe the target, not errored ones.' }),
      failed: Type.Integer({ minimum: 0 }),
      availability: Nullable(
        Type.Number({ description: 'Percent of the runs that did not fail, cut to two places.' }),
      ),
    },
    { $id: 'ReportDay', title: 'ReportDay' },
  ),
);

const UnixSeconds = (description: string) =>
  Type.Number({ minimum: 0, maximum: 253_402_300_799, description });

/** Registers the availability of all checks by day. */
export function registerReportDays(api: PublicApi, { db, now }: Pick<ApiDeps, 'db' | 'now'>): void {
  api.get(
    '/v1/report-days',
    {
      schema: {
        operationId: 'listReportDays',
        tags: ['Analytics'],
        summary:
          'Availability of all checks together by day, oldest day first; days without runs are left out',
        description: 'Runs count two hours later at the latest.',
        querystring: strict(
          Type.Object(
            {
              from: Type.Optional(
                UnixSeconds(`Unix seconds, rounded down to a day; absent: ${usualDays} days before to.`),
              ),
              to: Type.Optional(
                UnixSeconds(
                  `Unix seconds, rounded up to a day; at most ${maxDays} days after from. Absent: now.`,
                ),
              ),
              filterByTags: Type.Optional(
                Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
                  ...csv,
                  maxItems: 100,
                  description: 'Checks that have any of these tags, or whose group has.',
                }),
              ),
            },
            csvQuery,
          ),
        ),
        response: { 200: Type.Array(Type.Ref('ReportDay')), ...errorResponses(400) },
      },
    },
    async ({ accountId, query }) => {
      const to = Math.ceil((query.to === undefined ? now() : query.to * 1000) / dayMs) * dayMs;
      const from =
        query.from === undefined ? to - usualDays * dayMs : Math.floor(query.from / (dayMs / 1000)) * dayMs;
      if (from >= to) throw badRequest({ from: ['must be before to'] });
      if (to - from > maxDays * dayMs)
        throw badRequest({ to: [`must be at most ${maxDays} days after from`] });
      const rows = await runsByDay(db, {
        accountId,
        tags: query.filterByTags ?? null,
        range: { from: new Date(from), to: new Date(to) },
        yesterday: new Date((Math.floor(now() / dayMs) - 1) * dayMs),
      });
      return rows.map(({ day, runs, up }) => ({
        day,
        runs,
        failed: runs - up,
        availability: shareOf(up, runs),
      }));
    },
  );
}

/** Runs of an account's checks by day, and those that did not fail. Days from `yesterday` on come from their hours. */
async function runsByDay(
  db: Queryable,
  options: { accountId: string; tags: readonly string[] | null; range: TimeRange; yesterday: Date },
): Promise<{ day: string; runs: number; up: number }[]> {
  const { accountId, tags, range, yesterday } = options;
  return db.query(
    `with picked as materialized (
       select c.id from ${checksWithGroups}
       where c.account_id = $1 and ($2::text[] is null or c.tags && $2::text[] or g.tags && $2::text[])
     ), parts as (
       select d.day, d.runs, d.up from report_days d join picked on picked.id = d.check_id
       where d.day >= $3 and d.day < least($4::timestamptz, $5::timestamptz)
       union all
       select t.hour, t.count, case when t.status = 'failed' then 0 else t.count end
       from check_rollups t join picked on picked.id = t.check_id
       where t.metric = 'retries' and t.status in ('passed', 'degraded', 'failed')
         and t.hour >= greatest($3::timestamptz, $5::timestamptz) and t.hour < $4
     )
     select to_char(day at time zone 'UTC', 'YYYY-MM-DD') as day, sum(runs)::float8 as runs, sum(up)::float8 as up
     from parts group by 1 having sum(runs) > 0 order by 1`,
    [accountId, tags === null ? null : [...tags], range.from, range.to, yesterday],
  );
}
