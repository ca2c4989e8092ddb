import type { Span } from './span.ts';
import type { IncidentSeverity, IncidentStatus } from '../status-pages/incident-words.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on service incidents. */

export type StatusPageIncidentRow = Span & {
  id: string;
  accountId: string;
  name: string;
  severity: IncidentSeverity;
  notifySubscribers: boolean;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = `i.id, i.account_id as "accountId", i.name, i.severity, i.started_at as "startedAt",
  i.last_update_status as "lastUpdateStatus", i.resolved_at as "resolvedAt",
  i.notify_subscribers as "notifySubscribers", i.created_at as "createdAt", i.updated_at as "updatedAt"`;

export type IncidentWrite = {
  id: string;
  accountId: string;
  name: string;
  severity: IncidentSeverity;
  /** Status of its first update. */
  status: IncidentStatus;
  alertId: string | null;
  followedCheckId: string | null;
  notifySubscribers: boolean;
  now: Date;
};

/** Inserts an incident; false when an incident already follows this check. */
export async function insertStatusPageIncident(tx: Queryable, incident: IncidentWrite): Promise<boolean> {
  const rows = await tx.query(
    `insert into status_page_incidents (id, account_id, name, severity, started_at, last_update_status, alert_id,
       followed_check_id, notify_subscribers, created_at)
     values ($1, $2, $3, $4, $8, $5, $6, $7, $9, $8)
     on conflict (followed_check_id) where followed_check_id is not null do nothing returning id`,
    [
      incident.id,
      incident.accountId,
      incident.name,
      incident.severity,
      incident.status,
      incident.alertId,
      incident.followedCheckId,
      incident.now,
      incident.notifySubscribers,
    ],
  );
  return rows.length > 0;
}

/** Sets the services of an incident, in this order. The caller has checked that they belong to the account. */
export async function setIncidentServices(
  tx: Queryable,
  { incidentId, serviceIds }: { incidentId: string; serviceIds: readonly string[] },
): Promise<void> {
  await tx.query('delete from status_page_incident_services where incident_id = $1', [incidentId]);
  await tx.query(
    `insert into status_page_incident_services (incident_id, service_id, position)
     select $1, s.id, s.position from unnest($2::uuid[]) with ordinality as s (id, position)`,
    [incidentId, [...serviceIds]],
  );
}

export async function updateStatusPageIncident(
  tx: Queryable,
  change: { id: string; name: string; severity: IncidentSeverity; now: Date },
): Promise<void> {
  await tx.query('update status_page_incidents set name = $2, severity = $3, updated_at = $4 where id = $1', [
    change.id,
    change.name,
    change.severity,
    change.now,
  ]);
}

/** Stores the status that follows from its updates. */
export async function saveSpan(
  tx: Queryable,
  { id, span, now }: { id: string; span: Span; now: Date },
): Promise<void> {
  await tx.query(
    `update status_page_incidents set started_at = $2, last_update_status = $3, resolved_at = $4, updated_at = $5
     where id = $1`,
    [id, span.startedAt, span.lastUpdateStatus, span.resolvedAt, now],
  );
}

type Named = { accountId: string; id: string };

export async function findStatusPageIncident(
  db: Queryable,
  { accountId, id }: Named,
): Promise<StatusPageIncidentRow | undefined> {
  const rows = await db.query<StatusPageIncidentRow>(
    `select ${columns} from status_page_incidents i where i.id = $1 and i.account_id = $2`,
    [id, accountId],
  );
  return rows[0];
}

/** Like findStatusPageIncident, but locks the incident and its updates until the transaction ends. */
export async function lockStatusPageIncident(
  tx: Queryable,
  { accountId, id }: Named,
): Promise<StatusPageIncidentRow | undefined> {
  const rows = await tx.query<StatusPageIncidentRow>(
    `select ${columns} from status_page_incidents i where i.id = $1 and i.account_id = $2 for update`,
    [id, accountId],
  );
  return rows[0];
}

/** Finds and locks the incident that follows a check. */
export async function lockFollowingIncident(
  tx: Queryable,
  checkId: string,
): Promise<(StatusPageIncidentRow & { alertId: string | null }) | undefined> {
  const rows = await tx.query<StatusPageIncidentRow & { alertId: string | null }>(
    `select ${columns}, i.alert_id as "alertId" from status_page_incidents i where i.followed_check_id = $1 for update`,
    [checkId],
  );
  return rows[0];
}

/** Detaches the check, so that its recovery no longer resolves the incident. */
export async function unfollowCheck(tx: Queryable, id: string): Promise<void> {
  await tx.query('update status_page_incidents set followed_check_id = null where id = $1', [id]);
}

/** Reads a page of incidents, newest first; `after` is the last incident of the previous page. */
export async function listStatusPageIncidents(
  db: Queryable,
  { accountId, after, limit }: { accountId: string; after: string | null; limit: number },
): Promise<StatusPageIncidentRow[]> {
  return db.query<StatusPageIncidentRow>(
    `select ${columns} from status_page_incidents i
     where i.account_id = $1 and ($2::uuid is null or i.id < $2) order by i.id desc limit $3`,
    [accountId, after, limit],
  );
}

export type IncidentService = {
  incidentId: string;
  id: string;
  name: string;
  accountId: string;
};

/** Reads the services of these incidents, in order. */
export async function servicesOfIncidents(
  db: Queryable,
  incidentIds: readonly string[],
): Promise<IncidentService[]> {
  if (incidentIds.length === 0) return [];
  return db.query<IncidentService>(
    `select l.incident_id as "incidentId", s.id, s.name, s.account_id as "accountId"
     from status_page_incident_services l join status_page_services s on s.id = l.service_id
     where l.incident_id = any($1::uuid[]) order by l.incident_id, l.position`,
    [[...incidentIds]],
  );
}

/** Returns true when there was such an incident. */
export async function deleteStatusPageIncident(db: Queryable, { accountId, id }: Named): Promise<boolean> {
  const rows = await db.query(
    'delete from status_page_incidents where id = $1 and account_id = $2 returning id',
    [id, accountId],
  );
  return rows.length > 0;
}

/** Reads the service incidents of a page, newest first: open ones, and those resolved since a moment. */
export async function incidentsOfPage(
  db: Queryable,
  { pageId, since, limit }: { pageId: string; since: Date; limit: number },
): Promise<StatusPageIncidentRow[]> {
  return db.query<StatusPageIncidentRow>(
    `select ${columns} from status_page_incidents i
     where i.account_id = (select account_id from status_pages where id = $1)
       and (i.resolved_at is null or i.resolved_at >= $2)
       and exists (select 1 from status_page_incident_services l
         join status_page_card_services s on s.service_id = l.service_id
         join status_page_cards c on c.id = s.card_id where l.incident_id = i.id and c.page_id = $1)
     order by i.resolved_at is null desc, i.started_at desc, i.id desc limit $3`,
    [pageId, since, limit],
  );
}
