import Type from 'typebox';
import { defaultRetention } from '../../config/retention.ts';
import { dayMs } from '../../durations.ts';
import { rangeOf } from '../analytics/schema.ts';
import { findAnalysedChecks } from '../analytics/statements.ts';
import { dayOf } from '../db/partitions.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import { readBuckets, widthOf } from './buckets.ts';
import { findMarks } from './marks.ts';
import { percentilesOf, readPercentiles } from './percentiles.ts';
import { TimelineQuery } from './schema.ts';
import { listRuns } from './statements.ts';

/** With more runs than this, only the buckets are returned. */
const maxRuns = 1_000;

/** Registers the timeline of a check. */
export function registerTimeline(
  api: PublicApi,
  { db, now, retention = defaultRetention }: Pick<ApiDeps, 'db' | 'now' | 'retention'>,
): void {
  api.get(
    '/v1/checks/:id/timeline',
    {
      schema: {
        operationId: 'getCheckTimeline',
        tags: ['Analytics'],
        summary: 'Response times, availability and phases of a check over time, and what happened to it',
        params: IdParams,
        querystring: TimelineQuery,
        response: { 200: Type.Ref('Timeline'), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, params: { id }, query }) => {
      const time = now();
      const range = rangeOf(query, query.quickRange, time);
      const [check] = isUuid(id) ? await findAnalysedChecks(db, { accountId, ids: [id] }) : [];
      if (check === undefined) throw notFound('check', id);
      const oldestRaw = dayOf(time - retention.resultDays * dayMs);
      const width = widthOf(range, query.points, oldestRaw);
      const byLocation = query.groupBy === 'location';
      const buckets = await readBuckets(db, { check, range, width, byLocation, now: time, oldestRaw });
      const count = [...buckets.values()].flat().reduce((sum, bucket) => sum + bucket.count, 0);
      const hasRuns = count <= maxRuns && range.from.getTime() >= oldestRaw;
      const runs = hasRuns ? await listRuns(db, { checkId: check.id, range, limit: maxRuns }) : null;
      const percentiles =
        runs === null
          ? await readPercentiles(db, { check, range, now: time, oldestRaw })
          : percentilesOf(runs);
      return {
        checkId: check.id,
        checkType: check.checkType,
        from: range.from.toISOString(),
        to: range.to.toISOString(),
        bucketSeconds: width / 1000,
        series: [...buckets]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([location, own]) => ({ location: byLocation ? location : null, buckets: own })),
        percentiles,
        phasesSampled: false,
        runs:
          runs?.map((run) => ({
            ...run,
            startedAt: run.startedAt.toISOString(),
            phases: numbersOf(run.phases),
          })) ?? null,
        marks: await findMarks(db, { accountId, checkId: check.id, range }),
      };
    },
  );
}

/** The phases that were measured. */
function numbersOf(phases: { [phase: string]: unknown } | null): { [phase: string]: number } | null {
  if (phases === null) return null;
  const known = Object.entries(phases).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
  return Object.fromEntries(known);
}
