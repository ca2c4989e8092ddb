import Type, { type Static } from 'typebox';
import { checkTypes, type CheckType } from '../../protocol/check-types.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { measured } from './measures.ts';
import { metricsOf } from './metric-names.ts';
import { quickRanges, quickRange, type TimeRange } from './ranges.ts';
import { badRequest } from '../http/errors.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { paginationFields } from '../http/fields/pagination.ts';

/** Schemas of analytics and reports. */

const UnixSeconds = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 253_402_300_799, description }));

/** A time range: by name, or from and to. */
export const rangeFields = {
  from: UnixSeconds('Unix seconds: runs that started at or after it. Overrides the named range.'),
  to: UnixSeconds('Unix seconds: runs that started before it. Overrides the named range.'),
};

/** Accepts a list in a query string: comma-separated, or the parameter several times. */
export const csv = { uniqueItems: true, minItems: 1 };
/** The schema of a query string with such lists, for the OpenAPI document. */
export const csvQuery = { style: 'form', explode: false };

const outcomes = ['success', 'failure'] as const;

const commonFields = {
  ...rangeFields,
  quickRange: StringEnum(quickRanges, {
    default: 'last24Hours',
    description: 'In UTC; weeks begin on Monday. What is not over yet ends now.',
  }),
  aggregationInterval: Type.Optional(
    Type.Number({
      minimum: 1,
      maximum: 43_200,
      description:
        'Minutes of one point, counted from midnight UTC; left out: the whole range is one. Below an hour, and where it is no multiple of one, only runs whose results are still stored count.',
    }),
  ),
  ...paginationFields,
};

/** Fields by which results of a type can be grouped. */
export const groupsOf = (type: CheckType) => {
  const own = measured[type].groupKey;
  return own === null ? (['runLocation'] as const) : (['runLocation', own] as const);
};

/** The query of one type. */
export const AnalyticsQuery = (type: CheckType) =>
  strict(
    Type.Object(
      {
        ...commonFields,
        filterByStatus: Type.Optional(
          Type.Array(StringEnum(outcomes), { ...csv, description: 'Degraded runs are successes.' }),
        ),
        groupBy: Type.Optional(StringEnum(groupsOf(type))),
        metrics: Type.Array(StringEnum([...metricsOf(type).keys()]), {
          ...csv,
          description:
            'A bare name: one point per run. With a suffix, and availability and retries: one per interval.',
        }),
      },
      csvQuery,
    ),
  );

/** Metrics of all types. */
export const allMetrics = [...new Set(checkTypes.flatMap((type) => [...metricsOf(type).keys()]))];

export const BatchBody = strict(
  Type.Object({
    checkIds: Type.Array(Type.String({ format: 'uuid' }), { minItems: 1, maxItems: 100, uniqueItems: true }),
    ...commonFields,
    filterByStatus: Type.Optional(Type.Array(StringEnum(outcomes), { uniqueItems: true, minItems: 1 })),
    groupBy: Type.Optional(StringEnum(['runLocation'])),
    metrics: Type.Array(StringEnum(allMetrics), {
      minItems: 1,
      uniqueItems: true,
      default: ['availability', 'responseTime_avg', 'responseTime_p95', 'responseTime_p99'],
      description: 'Those that the type of a check does not have are left out of its figures.',
    }),
  }),
);
export type BatchBody = Static<typeof BatchBody>;

const MetricFields = {
  label: Type.String(),
  unit: StringEnum(['milliseconds', 'score', 'count', 'percentage']),
  aggregation: Type.String({ description: 'none: the value of one run.' }),
};

export const MetricList = open(
  Type.Object(
    {
      checkType: StringEnum(checkTypes),
      metrics: Type.Array(Type.Object({ name: Type.String(), ...MetricFields })),
      groupBy: Type.Array(Type.String()),
    },
    { $id: 'MetricList', title: 'MetricList' },
  ),
);

const Points = Type.Object({
  runLocation: Type.Optional(Type.String()),
  statusCode: Type.Optional(Nullable(Type.Integer())),
  pageIndex: Type.Optional(
    Nullable(Type.Integer({ description: 'From 0; null: figures of the run as such.' })),
  ),
  data: Type.Array(
    Type.Object(
      { timestamp: Type.String({ format: 'date-time' }) },
      {
        // Types of clients require that this also covers the timestamp.
        additionalProperties: Type.Union([Type.Number(), Type.Null(), Type.String()], {
          description:
            'The figure of a metric: a number, or null where there were no runs. A text of an SSL run, such as its TLS version, is a text.',
        }),
      },
    ),
  ),
});

export const Analytics = open(
  Type.Object(
    {
      checkId: Type.String({ format: 'uuid' }),
      name: Type.String(),
      checkType: StringEnum(checkTypes),
      activated: Type.Boolean(),
      muted: Type.Boolean(),
      frequency: Type.Number(),
      from: Type.String({ format: 'date-time' }),
      to: Type.String({ format: 'date-time' }),
      tags: Type.Array(Type.String()),
      series: Type.Array(Type.Union([Points, Type.String()]), {
        description: 'One per group, or one in all. Text is what the specification allows and never comes.',
      }),
      pagination: Type.Object({ page: Type.Number(), limit: Type.Number() }),
      metadata: Type.Record(Type.String(), Type.Object(MetricFields)),
    },
    { $id: 'Analytics', title: 'Analytics' },
  ),
);

/** Resolves the requested range. Throws 400. */
export function rangeOf(
  query: { from?: number; to?: number },
  name: (typeof quickRanges)[number],
  now: number,
): TimeRange {
  // A single limit is combined with the other limit of the named range, or with now.
  const named = quickRange(name, now);
  if (query.from === undefined && query.to === undefined) return named;
  const from = query.from === undefined ? named.from : new Date(query.from * 1000);
  const to =
    query.to === undefined
      ? query.from === undefined
        ? named.to
        : new Date(now)
      : new Date(query.to * 1000);
  if (from < to) return { from, to };
  if (query.from === undefined)
    throw badRequest({ to: ['must be after the start of the range: set from as well'] });
  throw badRequest({ from: [query.to === undefined ? 'must not be in the future' : 'must be before to'] });
}
