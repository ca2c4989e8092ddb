import Type, { type Static } from 'typebox';
import { checkTypes } from '../../protocol/check-types.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { csv, csvQuery } from '../analytics/schema.ts';
import { paginationFields } from '../http/fields/pagination.ts';
import { open, strict } from '../http/fields/strict-schema.ts';

/** Schemas of the overview of all checks. */

/** States of checks, the most urgent first: the order of the list. */
export const checkStates = ['failing', 'errored', 'degraded', 'waiting', 'passing', 'paused'] as const;
export type CheckState = (typeof checkStates)[number];

export const sortKeys = ['state', 'name', 'availability', 'p95', 'lastRun', 'nextRun'] as const;

const Text = Type.String({ minLength: 1, maxLength: 255 });

export const OverviewQuery = strict(
  Type.Object(
    {
      ...paginationFields,
      search: Type.Optional(
        Type.String({
          maxLength: 255,
          description: 'Part of a name or tag, or the beginning of an id; case does not count.',
        }),
      ),
      state: Type.Optional(Type.Array(StringEnum(checkStates), csv)),
      type: Type.Optional(Type.Array(StringEnum(checkTypes), csv)),
      tag: Type.Optional(Type.Array(Text, { ...csv, description: 'Checks with one of these tags.' })),
      groupId: Type.Optional(
        Type.Array(Type.String({ pattern: '^([1-9][0-9]{0,14}|none)$' }), {
          ...csv,
          description: 'Checks of one of these groups; `none`: checks without a group.',
        }),
      ),
      location: Type.Optional(
        Type.Array(Text, {
          ...csv,
          description: 'Checks that run at one of these locations (slug or region).',
        }),
      ),
      sort: StringEnum(sortKeys, {
        default: 'state',
        description:
          'state: failing, errored, degraded, waiting, passing, paused; then by name. ' +
          'availability and p95: the figures of the last 24 full hours, which are renewed each hour.',
      }),
      order: StringEnum(['asc', 'desc'], { default: 'asc' }),
      group: Type.Boolean({ default: false, description: 'List by group: groups by name, the others last.' }),
    },
    csvQuery,
  ),
);
export type OverviewQuery = Static<typeof OverviewQuery>;

const Count = (description?: string) =>
  Type.Integer({ minimum: 0, ...(description === undefined ? {} : { description }) });
const moment = Type.String({ format: 'date-time' });

const stateCounts = {
  all: Count(),
  passing: Count(),
  degraded: Count(),
  failing: Count(),
  errored: Count(),
  waiting: Count('Checks that have not run yet.'),
  paused: Count('Deactivated, or their group is.'),
  muted: Count('Also counted in their state.'),
};
const Counts = Type.Object(stateCounts);
export type Counts = Static<typeof Counts>;

const Bar = Type.Object({
  from: moment,
  passed: Count(),
  degraded: Count(),
  failed: Count(),
  errored: Count(),
  missed: Count(),
});
export type Bar = Static<typeof Bar>;

export const waitReasons = ['FIRST_RUN', 'NO_AGENT', 'NO_LOCATION', 'MAINTENANCE', 'QUEUE'] as const;
const Wait = Type.Object({
  reason: StringEnum(waitReasons),
  message: Type.String({ description: 'A sentence, such as "First run in 3 min".' }),
  until: Nullable(moment),
});
export type Wait = Static<typeof Wait>;

const Entry = Type.Object({
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  checkType: StringEnum(checkTypes),
  activated: Type.Boolean({ description: 'False also if its group is deactivated.' }),
  muted: Type.Boolean({ description: 'True also if its group is muted.' }),
  tags: Type.Array(Type.String()),
  groupId: Nullable(Type.Integer()),
  groupName: Nullable(Type.String()),
  locations: Type.Array(Type.String(), { description: "The group's if it has any." }),
  privateLocations: Type.Array(Type.String()),
  frequency: Type.Number({ description: 'Minutes; 0: every `frequencyOffset` seconds.' }),
  frequencyOffset: Nullable(Type.Number()),
  state: StringEnum(checkStates),
  reason: Nullable(Type.String({ description: 'Why the last run failed or was degraded.' })),
  bars: Type.Array(Bar, {
    description: 'Runs of each of the last 24 hours (UTC), oldest first; the last one is not over yet.',
  }),
  availability: Nullable(
    Type.Number({
      description: 'Percent, over the hours of the bars. Errored and missed runs do not count.',
    }),
  ),
  p95: Nullable(
    Type.Number({
      description:
        'Response time in milliseconds over the last 24 full hours; of a new check, over its runs so far.',
    }),
  ),
  lastRunAt: Nullable(moment),
  nextRunAt: Nullable(Type.String({ format: 'date-time', description: 'Null: paused, or not on schedule.' })),
  waits: Nullable(Wait, { description: 'Why the check does not run now; null: it does.' }),
});
export type Entry = Static<typeof Entry>;

export const ChecksOverview = open(
  Type.Object(
    {
      totals: Type.Object(stateCounts, { description: 'Of all checks of the account, whatever the filter.' }),
      tags: Type.Array(Type.String(), { description: 'The 200 most frequent tags of checks.' }),
      groups: Type.Array(Type.Object({ id: Type.Integer(), name: Type.String(), ...stateCounts }), {
        description: 'All groups by name, with all their checks.',
      }),
      length: Count('Checks that match the filter, on all pages.'),
      entries: Type.Array(Entry),
    },
    { $id: 'ChecksOverview', title: 'ChecksOverview' },
  ),
);
