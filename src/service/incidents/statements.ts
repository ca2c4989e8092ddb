import type { DashboardSeverity } from '../status-pages/incident-words.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on dashboard incidents. */

export type IncidentWrite = {
  id: string;
  accountId: string;
  dashboardId: string;
  name: string;
  severity: DashboardSeverity;
  startedAt: Date;
  stoppedAt: Date | null;
};

export type IncidentRow = IncidentWrite & { createdAt: Date; updatedAt: Date | null };

const columns = `id, account_id as "accountId", dashboard_id as "dashboardId", name, severity,
  started_at as "startedAt", stopped_at as "stoppedAt", created_at as "createdAt", updated_at as "updatedAt"`;

export async function insertIncident(tx: Queryable, incident: IncidentWrite & { now: Date }): Promise<void> {
  await tx.query(
    `insert into incidents (id, account_id, dashboard_id, name, severity, started_at, stopped_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      incident.id,
      incident.accountId,
      incident.dashboardId,
      incident.name,
      incident.severity,
      incident.startedAt,
      incident.stoppedAt,
      incident.now,
    ],
  );
}

export async function updateIncident(tx: Queryable, incident: IncidentWrite & { now: Date }): Promise<void> {
  await tx.query(
    `update incidents set dashboard_id = $3, name = $4, severity = $5, started_at = $6, stopped_at = $7,
       updated_at = $8 where id = $1 and account_id = $2`,
    [
      incident.id,
      incident.accountId,
      incident.dashboardId,
      incident.name,
      incident.severity,
      incident.startedAt,
      incident.stoppedAt,
      incident.now,
    ],
  );
}

type Named = { accountId: string; id: string };

export async function findIncident(
  db: Queryable,
  { accountId, id }: Named,
): Promise<IncidentRow | undefined> {
  const rows = await db.query<IncidentRow>(
    `select ${columns} from incidents where id = $1 and account_id = $2`,
    [id, accountId],
  );
  return rows[0];
}

/** Like findIncident, but locks the incident and its updates until the transaction ends. */
export async function lockIncident(
  tx: Queryable,
  { accountId, id }: Named,
): Promise<IncidentRow | undefined> {
  const rows = await tx.query<IncidentRow>(
    `select ${columns} from incidents where id = $1 and account_id = $2 for update`,
    [id, accountId],
  );
  return rows[0];
}

/** Reads a page of incidents, newest first. */
export async function listIncidents(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<IncidentRow[]> {
  return db.query<IncidentRow>(
    `select ${columns} from incidents where account_id = $1 order by id desc limit $2 offset $3`,
    [accountId, limit, offset],
  );
}

/** Returns true when there was such an incident. */
export async function deleteIncident(db: Queryable, { accountId, id }: Named): Promise<boolean> {
  const rows = await db.query('delete from incidents where id = $1 and account_id = $2 returning id', [
    id,
    accountId,
  ]);
  return rows.length > 0;
}

/** Reads a dashboard's incidents, newest first: active and future ones, and those that have stopped since a moment. */
export async function incidentsOfDashboard(
  db: Queryable,
  { dashboardId, since, limit }: { dashboardId: string; since: Date; limit: number },
): Promise<IncidentRow[]> {
  return db.query<IncidentRow>(
    `select ${columns} from incidents where dashboard_id = $1 and (stopped_at is null or stopped_at >= $2)
     order by stopped_at is null desc, started_at desc, id desc limit $3`,
    [dashboardId, since, limit],
  );
}
