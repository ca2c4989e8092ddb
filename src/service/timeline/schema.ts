import Type, { type Static } from 'typebox';
import { checkTypes } from '../../protocol/check-types.ts';
import { resultStatuses } from '../../protocol/result.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { quickRanges } from '../analytics/ranges.ts';
import { rangeFields } from '../analytics/schema.ts';
import { open, strict } from '../http/fields/strict-schema.ts';

/** Schemas of the timeline of one check, from which charts are drawn. */

export const TimelineQuery = strict(
  Type.Object({
    ...rangeFields,
    quickRange: StringEnum(quickRanges, {
      default: 'last24Hours',
      description: 'In UTC; weeks begin on Monday.',
    }),
    points: Type.Integer({
      minimum: 1,
      maximum: 600,
      default: 200,
      description: 'Buckets of a series, at most.',
    }),
    groupBy: Type.Optional(StringEnum(['location'], { description: 'One series per location.' })),
  }),
);

const moment = Type.String({ format: 'date-time' });
const Count = Type.Integer({ minimum: 0 });
const Milliseconds = Nullable(Type.Number());
const Phases = Type.Record(Type.String(), Type.Number());

const Bucket = Type.Object({
  from: moment,
  count: Type.Integer({ minimum: 0, description: 'Runs, without missed ones.' }),
  passed: Count,
  degraded: Count,
  failed: Count,
  errored: Count,
  missed: Count,
  retries: Type.Integer({ minimum: 0, description: 'Attempts of these runs that were repeated.' }),
  availability: Nullable(Type.Number({ description: 'Percent; errored and missed runs do not count.' })),
  p50: Milliseconds,
  p95: Milliseconds,
  p99: Milliseconds,
  avg: Milliseconds,
  phases: Type.Record(Type.String(), Type.Number(), {
    description:
      'Averages in milliseconds, of what the type has: phases (wait, dns, tcp, firstByte, download …), latencies, the handshake, or the times of web vitals.',
  }),
  figures: Type.Optional(
    Type.Record(Type.String(), Type.Number(), {
      description: 'Averages of packetLoss (percent), daysUntilExpiry or CLS, where the type has them.',
    }),
  ),
});
export type Bucket = Static<typeof Bucket>;

const Percentiles = Type.Object(
  { p50: Milliseconds, p95: Milliseconds, p99: Milliseconds },
  {
    description:
      'Of the response times of all passed, degraded and failed runs of the range: exact if `runs` is set, and otherwise within 1 %.',
  },
);
export type Percentiles = Static<typeof Percentiles>;

const Run = Type.Object({
  id: Type.String({ format: 'uuid' }),
  startedAt: moment,
  status: StringEnum(resultStatuses),
  responseTime: Type.Number(),
  location: Type.String(),
  phases: Nullable(Phases, { description: 'The timings of the result, in milliseconds.' }),
});

export const markKinds = ['alert', 'recovery', 'maintenance', 'incident', 'deployment', 'route'] as const;
const Mark = Type.Object({
  at: moment,
  until: Type.Optional(Nullable(moment, { description: 'Null: it has not ended.' })),
  kind: StringEnum(markKinds),
  text: Type.String(),
  id: Type.String(),
  project: Type.Optional(
    Type.String({ description: 'Logical id of the project that was deployed; `id` is its deployment.' }),
  ),
});
export type Mark = Static<typeof Mark>;

export const Timeline = open(
  Type.Object(
    {
      checkId: Type.String({ format: 'uuid' }),
      checkType: StringEnum(checkTypes),
      from: moment,
      to: moment,
      bucketSeconds: Type.Integer({ description: 'Width of a bucket.' }),
      series: Type.Array(
        Type.Object({
          location: Nullable(Type.String({ description: 'Null: all locations together.' })),
          buckets: Type.Array(Bucket, { description: 'Oldest first; hours without any run are left out.' }),
        }),
      ),
      percentiles: Percentiles,
      phasesSampled: Type.Boolean({ description: 'False: the phases are averages of all runs.' }),
      runs: Nullable(Type.Array(Run), { description: 'Each run, oldest first, if there are at most 1,000.' }),
      marks: Type.Array(Mark),
    },
    { $id: 'Timeline', title: 'Timeline' },
  ),
);
