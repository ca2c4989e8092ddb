import Type, { type TSchema } from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import type { IncidentUpdateRow } from './update-statements.ts';
import {
  dashboardSeverities,
  dashboardStatuses,
  incidentSeverities,
  incidentStatuses,
} from '../status-pages/incident-words.ts';
import { open, strict, strictPartial } from '../http/fields/strict-schema.ts';
import { anyId, PageOf } from '../http/fields/cursor.ts';
import { dateTime } from '../http/fields/dates.ts';
import { ignored, ignoredStamps } from '../http/fields/ignored-fields.ts';

/** Schemas of incidents and their updates, for services and for dashboards. */

const id = Type.String({ format: 'uuid' });
const name = Type.String({ minLength: 1, maxLength: 255 });
const description = Type.String({ minLength: 1, maxLength: 4096 });
const notifySubscribers = Type.Boolean({
  default: false,
  description: 'Subscribers of the status pages are told by mail.',
});

const updateFields = (status: TSchema) => ({
  id,
  incidentId: id,
  status,
  description: Type.String(),
  notifySubscribers: Type.Boolean(),
  created_at: dateTime,
  updated_at: Nullable(dateTime),
});
const ignoredUpdateFields = {
  id: ignored,
  incidentId: ignored,
  created_at: ignored,
  updated_at: ignored,
};

const status = StringEnum(incidentStatuses);
const severity = StringEnum(incidentSeverities);
const dashboardStatus = StringEnum(dashboardStatuses);
const dashboardSeverity = StringEnum(dashboardSeverities);

export const StatusPageIncidentUpdate = open(
  Type.Object(updateFields(status), {
    $id: 'StatusPageIncidentUpdate',
    title: 'StatusPageIncidentUpdate',
  }),
);
export const IncidentUpdate = open(
  Type.Object(updateFields(dashboardStatus), { $id: 'IncidentUpdate', title: 'IncidentUpdate' }),
);
export const StatusPageIncidentUpdatePage = PageOf(
  'StatusPageIncidentUpdate',
  'StatusPageIncidentUpdatePage',
);

const newUpdate = Type.Object({ ...ignoredUpdateFields, status, description, notifySubscribers });
const newDashboardUpdate = Type.Object({
  ...ignoredUpdateFields,
  status: dashboardStatus,
  description,
  notifySubscribers,
});
export const PostUpdateBody = strict(newUpdate);
export const PostDashboardUpdateBody = strict(newDashboardUpdate);
// A change of an update is not sent to subscribers again.
export const PutUpdateBody = strictPartial(
  Type.Object({ ...ignoredUpdateFields, status, description, notifySubscribers: ignored }),
);
export const PutDashboardUpdateBody = strictPartial(
  Type.Object({ ...ignoredUpdateFields, status: dashboardStatus, description, notifySubscribers: ignored }),
);

export const presentUpdate = <Status extends string>(row: IncidentUpdateRow<Status>) => ({
  id: row.id,
  incidentId: row.incidentId,
  status: row.status,
  description: row.description,
  notifySubscribers: row.notifySubscribers,
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt?.toISOString() ?? null,
});

const isPartial = Type.Optional(
  Type.Boolean({
    description: 'In a list with much text: of its updates only the first and the last are shown.',
  }),
);

export const StatusPageIncident = open(
  Type.Object(
    {
      id,
      name,
      severity,
      services: Type.Array(Type.Object({ id, name: Type.String(), accountId: id })),
      incidentUpdates: Type.Array(Type.Ref('StatusPageIncidentUpdate'), { description: 'Oldest first.' }),
      isPartial,
      lastUpdateStatus: status,
      duration: Nullable(
        Type.Number({
          description:
            'Milliseconds from the first update to the one that resolved it; null = it is not resolved.',
        }),
      ),
      created_at: dateTime,
      updated_at: Nullable(dateTime),
    },
    { $id: 'StatusPageIncident', title: 'StatusPageIncident' },
  ),
);
export const StatusPageIncidentPage = PageOf('StatusPageIncident', 'StatusPageIncidentPage');

const ignoredFields = { ...ignoredStamps, isPartial: ignored };
const services = Type.Array(Type.Object({ id: anyId, name: ignored, accountId: ignored }), {
  maxItems: 100,
  uniqueItems: true,
  description: 'The services that it is about.',
});
const ofServices = {
  ...ignoredFields,
  name,
  severity,
  services,
  lastUpdateStatus: ignored,
  duration: ignored,
};
export const CreateStatusPageIncidentBody = strict(
  Type.Object({
    ...ofServices,
    services: { ...services, minItems: 1 },
    incidentUpdates: Type.Array(newUpdate, { minItems: 1, maxItems: 1, description: 'The first one.' }),
  }),
);
export const ChangeStatusPageIncidentBody = strictPartial(
  Type.Object({ ...ofServices, incidentUpdates: ignored }),
);

export const Incident = open(
  Type.Object(
    {
      id,
      name,
      severity: dashboardSeverity,
      dashboardId: id,
      startedAt: dateTime,
      stoppedAt: Nullable(dateTime),
      incidentUpdates: Type.Array(Type.Ref('IncidentUpdate'), {
        description: 'The first one; with includeAllIncidentUpdates all of them, oldest first.',
      }),
      isPartial,
      created_at: dateTime,
      updated_at: Nullable(dateTime),
    },
    { $id: 'Incident', title: 'Incident' },
  ),
);

const moment = Type.String({ minLength: 1, maxLength: 40 });
const ofDashboard = {
  ...ignoredFields,
  name,
  severity: Type.Optional(dashboardSeverity),
  impact: Type.Optional({ ...dashboardSeverity, description: 'Another name of severity.' }),
  dashboardId: Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'The status page that shows it.',
  }),
  startedAt: Type.Optional({ ...moment, description: 'When it becomes active; default now.' }),
  stoppedAt: Type.Optional(
    Nullable(moment, {
      description: 'When it becomes inactive; null = when an update says RESOLVED.',
    }),
  ),
};
export const CreateIncidentBody = strict(
  Type.Object({
    ...ofDashboard,
    incidentUpdates: Type.Array(newDashboardUpdate, {
      minItems: 1,
      maxItems: 1,
      description: 'Exactly one.',
    }),
  }),
);
export const ChangeIncidentBody = strictPartial(Type.Object({ ...ofDashboard, incidentUpdates: ignored }));

export const UpdateParams = strict(Type.Object({ id: Type.String(), updateId: Type.String() }));
