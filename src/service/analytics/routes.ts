import Type from 'typebox';
import { checkTypes, type CheckType } from '../../protocol/check-types.ts';
import { StringEnum } from '../../protocol/schema.ts';
import { defaultRetention } from '../../config/retention.ts';
import { analyse, metadataOf, type Question } from './analyse.ts';
import { metricsOf } from './metric-names.ts';
import { serviceCheckTypes } from '../checks/types/table.ts';
import { findAnalysedChecks, type AnalysedCheck } from './statements.ts';
import { dayOf } from '../db/partitions.ts';
import { notFound } from '../http/errors.ts';
import { atMost } from '../http/rate-limit.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { AnalyticsQuery, BatchBody, rangeOf, groupsOf } from './schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { dayMs } from '../../durations.ts';

const tags = ['Analytics'];

/** For example `getMultistepChecksAnalytics`. */
const operationOf = (path: string) =>
  `get${path.replace(/(?:^|-)([a-z])/g, (_match, letter: string) => letter.toUpperCase())}Analytics`;

type Deps = Pick<ApiDeps, 'db' | 'now' | 'retention'>;

export function registerAnalytics(api: PublicApi, deps: Deps): void {
  for (const type of checkTypes) {
    for (const path of serviceCheckTypes[type].analyticsPaths) typeRoute(api, deps, { type, path });
  }
  batchRoute(api, deps);
  metricsRoute(api);
}

async function present(
  { db, retention = defaultRetention }: Deps,
  { check, question, now }: { check: AnalysedCheck; question: Question; now: number },
) {
  const oldestRaw = dayOf(now - retention.resultDays * dayMs);
  const { range, metrics, page, limit } = question;
  const series = await analyse(db, check, { ...question, now, oldestRaw });
  const { id, name, checkType, activated, muted, frequency } = check;
  return {
    checkId: id,
    name,
    checkType,
    activated,
    muted,
    frequency,
    from: range.from.toISOString(),
    to: range.to.toISOString(),
    tags: check.tags,
    series,
    pagination: { page, limit },
    metadata: metadataOf(check, metrics),
  };
}

/** Figures of one check, under the path of its type. */
function typeRoute(api: PublicApi, deps: Deps, { type, path }: { type: CheckType; path: string }): void {
  api.get(
    `/v1/analytics/${path}/:id`,
    {
      schema: {
        operationId: operationOf(path),
        tags,
        summary: `Figures of ${serviceCheckTypes[type].words}`,
        params: IdParams,
        querystring: AnalyticsQuery(type),
        response: { 200: Type.Ref('Analytics'), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, query, params: { id } }) => {
      const time = deps.now();
      const range = rangeOf(query, query.quickRange, time);
      const [check] = isUuid(id) ? await findAnalysedChecks(deps.db, { accountId, ids: [id] }) : [];
      if (check?.checkType !== type) throw notFound(`${type} check`, id);
      const question = {
        range,
        metrics: query.metrics,
        intervalMinutes: query.aggregationInterval ?? null,
        outcomes: query.filterByStatus ?? null,
        groupBy: query.groupBy ?? null,
        limit: query.limit,
        page: query.page,
      };
      return present(deps, { check, question, now: time });
    },
  );
}

function batchRoute(api: PublicApi, deps: Deps): void {
  api.post(
    '/v1/analytics/checks',
    {
      config: { ...atMost(30, '1 minute'), access: 'READ_ONLY' },
      schema: {
        operationId: 'getChecksAnalytics',
        tags,
        summary: 'Figures of up to 100 checks of any type, in the order in which they are named',
        body: BatchBody,
        response: { 200: Type.Array(Type.Ref('Analytics')), ...errorResponses(400, 404, 413, 415) },
      },
    },
    async ({ accountId, body }) => {
      const time = deps.now();
      const range = rangeOf(body, body.quickRange, time);
      const found = await findAnalysedChecks(deps.db, { accountId, ids: body.checkIds });
      const answers = [];
      for (const id of body.checkIds) {
        const check = found.find((candidate) => candidate.id === id);
        if (check === undefined) throw notFound('check', id, 'checkIds');
        const question = {
          range,
          metrics: body.metrics,
          intervalMinutes: body.aggregationInterval ?? null,
          outcomes: body.filterByStatus ?? null,
          groupBy: body.groupBy ?? null,
          limit: body.limit,
          page: body.page,
        };
        answers.push(await present(deps, { check, question, now: time }));
      }
      return answers;
    },
  );
}

function metricsRoute(api: PublicApi): void {
  api.get(
    '/v1/analytics/metrics',
    {
      schema: {
        operationId: 'listMetrics',
        tags,
        summary: 'Metrics of each type of check',
        querystring: strict(Type.Object({ checkType: Type.Optional(StringEnum(checkTypes)) })),
        response: { 200: Type.Array(Type.Ref('MetricList')), ...errorResponses(400) },
      },
    },
    async ({ query }) =>
      checkTypes
        .filter((type) => query.checkType === undefined || query.checkType === type)
        .map((checkType) => ({
          checkType,
          metrics: [...metricsOf(checkType).values()].map(({ name, label, unit, aggregation }) => ({
            name,
            label,
            unit,
            aggregation,
          })),
          groupBy: groupsOf(checkType),
        })),
  );
}
