import Type from 'typebox';
import { dayMs } from '../../durations.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { badRequest, notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { unixRange, unixRangeFields } from '../http/unix-range.ts';
import { missedByCheck, missedOverTime } from './load-statements.ts';
import { findPrivateLocation } from './statements.ts';

const maxDays = 31;
const maxChecks = 50;
const maxParts = 100;
/** Widths of a part in seconds. */
const widths = [60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400] as const;

const moment = Type.String({ format: 'date-time' });
const Count = Type.Integer({ minimum: 0 });

export const MissedRuns = open(
  Type.Object(
    {
      from: moment,
      to: moment,
      bucketSeconds: Type.Integer({ description: 'Width of a bucket.' }),
      buckets: Type.Array(Type.Object({ from: moment, count: Count }), {
        description: 'Oldest first; those without missed runs are left out.',
      }),
      checks: Type.Array(
        Type.Object({
          checkId: Type.String({ format: 'uuid' }),
          name: Type.String(),
          count: Count,
          lastAt: moment,
        }),
        { description: `Those with the most missed runs; at most ${maxChecks}.` },
      ),
    },
    { $id: 'MissedRuns', title: 'MissedRuns' },
  ),
);

/** Registers the missed runs of a private location over time. */
export function registerMissedRuns(api: PublicApi, { db, now }: Pick<ApiDeps, 'db' | 'now'>): void {
  api.get(
    '/v1/private-locations/:id/missed-runs',
    {
      schema: {
        operationId: 'listMissedRuns',
        tags: ['Locations'],
        summary: 'Runs at a private location that no agent took in time: over time, and by check',
        params: IdParams,
        querystring: strict(Type.Object(unixRangeFields)),
        response: { 200: Type.Ref('MissedRuns'), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, params: { id }, query }) => {
      const given = unixRange(query);
      const to = given.to ?? new Date(now());
      const from = given.from ?? new Date(to.getTime() - dayMs);
      if (from >= to) throw badRequest({ from: ['must be before to'] });
      if (to.getTime() - from.getTime() > maxDays * dayMs)
        throw badRequest({ from: [`must be at most ${maxDays} days before to`] });
      const location = isUuid(id) ? await findPrivateLocation(db, { accountId, id }) : undefined;
      if (location === undefined) throw notFound('private location', id);
      const span = (to.getTime() - from.getTime()) / 1000;
      const seconds = widths.find((width) => span / width <= maxParts) ?? 86_400;
      const missed = { accountId, slugName: location.slugName, from, to };
      const parts = await missedOverTime(db, { ...missed, seconds });
      const checks = await missedByCheck(db, { ...missed, limit: maxChecks });
      return {
        from: from.toISOString(),
        to: to.toISOString(),
        bucketSeconds: seconds,
        buckets: parts.map(({ part, count }) => ({
          from: new Date(from.getTime() + part * seconds * 1000).toISOString(),
          count,
        })),
        checks: checks.map(({ lastAt, ...check }) => ({ ...check, lastAt: lastAt.toISOString() })),
      };
    },
  );
}
