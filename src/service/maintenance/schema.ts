import Type from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { dateOperators } from './statements.ts';
import { momentHint } from './moments.ts';
import { repeatUnits } from './recurrence.ts';
import { maintenanceStatuses } from './status.ts';
import { open, strict, strictPartial } from '../http/fields/strict-schema.ts';
import { tags } from '../checks/fields/fields.ts';
import { ignored, ignoredStamps } from '../http/fields/ignored-fields.ts';
import { date, dateTime } from '../http/fields/dates.ts';

/** Schemas of maintenance windows and of their occurrences. */

const moment = Type.String({ minLength: 1, maxLength: 40, description: momentHint });
const ids = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
  maxItems: 100,
  uniqueItems: true,
  default: [],
});
const flag = (value: boolean, description?: string) =>
  Type.Boolean({ default: value, ...(description === undefined ? {} : { description }) });

const StatusPageVisibility = Type.Object(
  {
    enabled: flag(false, 'Status pages show the window. Everything else here counts only then.'),
    affectAllServices: flag(false),
    suppressAutoIncidents: flag(false, 'Alerts open no incidents of the services that it affects.'),
    notifyOnStart: flag(false, 'Subscribers are told when an occurrence begins,'),
    notifyOnEnd: flag(false, 'and when it is completed.'),
    autoStart: flag(true, 'An occurrence is IN_PROGRESS at its beginning,'),
    autoEnd: flag(true, 'and COMPLETED at its end. Otherwise both wait for an update.'),
    reminderMinutesBefore: Type.Array(Type.Integer({ minimum: 60, maximum: 10_080 }), {
      maxItems: 3,
      uniqueItems: true,
      default: [],
    }),
    statusPageIds: { ...ids, description: 'Status pages that show it; empty = all of the account.' },
    serviceIds: { ...ids, description: 'Services that it affects, unless it affects all.' },
  },
  { default: {} },
);

const settable = {
  name: Type.String({ minLength: 1, maxLength: 255 }),
  description: Nullable(Type.String({ maxLength: 4096 }), { default: null }),
  timezone: Type.String({
    minLength: 1,
    maxLength: 64,
    default: 'UTC',
    description: 'IANA name, like Europe/Berlin: occurrences begin at the same time of its clocks',
  }),
  repeatInterval: Nullable(Type.Integer({ minimum: 1, maximum: 1000 }), { default: null }),
  repeatUnit: Nullable(StringEnum(repeatUnits), { default: null }),
  pauseAllChecks: flag(false, 'No check of the account makes scheduled runs.'),
  tags: { ...tags, description: 'Nor do checks with one of these tags, or in a group with one.' },
  silenceAllAlerts: flag(false, 'No check of the account alerts.'),
  silenceAlertsTags: {
    ...tags,
    description: 'Nor do checks with one of these tags, or in a group with one.',
  },
  statusPageVisibility: StatusPageVisibility,
};

const writable = {
  ...settable,
  startsAt: moment,
  endsAt: moment,
  repeatEndsAt: Nullable(moment, { default: null }),
};

export const MaintenanceWindow = open(
  Type.Object(
    {
      id: Type.Integer(),
      ...settable,
      startsAt: dateTime,
      endsAt: dateTime,
      repeatEndsAt: Nullable(dateTime),
      created_at: date,
      updated_at: Nullable(date),
    },
    { $id: 'MaintenanceWindow', title: 'MaintenanceWindow' },
  ),
);

const fields = Type.Object({ ...writable, ...ignoredStamps });
export const CreateWindowBody = strict(fields);
export const ChangeWindowBody = strictPartial(fields);

/** `startsAt` and `endsAt` of the list. */
export const DateFilterSchema = Type.Optional(
  Type.Object(Object.fromEntries(dateOperators.map((operator) => [operator, Type.Optional(moment)])), {
    minProperties: 1,
    style: 'deepObject',
    explode: true,
    description: 'Like startsAt[gte]=2026-03-04; or as JSON.',
  }),
);

const status = StringEnum(maintenanceStatuses);
const updateText = Type.String({ minLength: 1, maxLength: 4096 });
const notifySubscribers = flag(false, 'Subscribers of the status pages are told.');

export const MaintenanceUpdateSchema = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      status,
      description: Type.String(),
      created_at: dateTime,
      updated_at: Nullable(dateTime),
    },
    { $id: 'MaintenanceUpdate', title: 'MaintenanceUpdate' },
  ),
);

export const MaintenanceSchema = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      maintenanceWindowId: Type.Integer(),
      startsAt: dateTime,
      endsAt: dateTime,
      status,
      startedAt: Nullable(dateTime),
      endedAt: Nullable(dateTime),
      updates: Type.Array(Type.Ref('MaintenanceUpdate')),
    },
    { $id: 'Maintenance', title: 'Maintenance', description: 'One occurrence of a maintenance window.' },
  ),
);

export const PostUpdateBody = strict(
  Type.Object({
    status: Type.Optional({ ...status, description: 'From now on; left out = as it is.' }),
    description: updateText,
    notifySubscribers,
  }),
);
export const ChangeUpdateBody = strict(
  Type.Object({
    description: updateText,
    id: ignored,
    status: ignored,
    created_at: ignored,
    updated_at: ignored,
  }),
);
export const CancelBody = strict(
  Type.Object({
    description: Type.Optional(updateText),
    notifySubscribers,
  }),
);
