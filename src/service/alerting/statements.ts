import type { AlertType } from './alert-types.ts';
import type { Queryable } from '../db/database.ts';
import { toJsonb } from '../db/jsonb.ts';

/** Statements on alerts. A row is a snapshot of everything that a notification contains. */

export type AlertRow = {
  id: string;
  accountId: string;
  /** Of an alert about a location: the location's id. */
  checkId: string;
  /** Null = the alert is about a check. */
  locationId: string | null;
  checkName: string;
  checkType: string;
  checkDescription: string | null;
  /** Tags of the check and its group. */
  tags: string[];
  groupId: number | null;
  groupName: string | null;
  alertType: AlertType;
  /** Null for an alert without a result. */
  resultId: string | null;
  /** Slug or data-centre code of the result's location, and the location's name. */
  runLocation: string | null;
  runLocationName: string | null;
  /** Slugs of all locations of the run with the same outcome. */
  runLocations: string[];
  /** Milliseconds. */
  responseTime: number | null;
  error: string | null;
  statusCode: number | null;
  statusText: string | null;
  sslDomain: string | null;
  sslDaysRemaining: number | null;
  isReminder: boolean;
  /** 0 = not a reminder; the first reminder is 1. */
  reminderSequence: number;
  /** The service learned of the run long after it had ended. */
  isLate: boolean;
  /** No notification is sent. */
  silenced: boolean;
  /** Start of the run. */
  startedAt: Date;
  createdAt: Date;
};

const columns = `id, account_id as "accountId", check_id as "checkId", location_id as "locationId", check_name as "checkName", check_type as "checkType",
  check_description as "checkDescription", tags, group_id::float8 as "groupId", group_name as "groupName",
  alert_type as "alertType", result_id as "resultId", run_location as "runLocation",
  run_location_name as "runLocationName", run_locations as "runLocations", response_time as "responseTime", error,
  status_code as "statusCode", status_text as "statusText", ssl_domain as "sslDomain",
  ssl_days_remaining as "sslDaysRemaining", is_reminder as "isReminder", reminder_sequence as "reminderSequence",
  is_late as "isLate", silenced, started_at as "startedAt", created_at as "createdAt"`;

export async function findAlert(db: Queryable, id: string): Promise<AlertRow | undefined> {
  const rows = await db.query<AlertRow>(`select ${columns} from alerts where id = $1`, [id]);
  return rows[0];
}

export async function insertAlerts(tx: Queryable, alerts: readonly AlertRow[]): Promise<void> {
  if (alerts.length === 0) return;
  await tx.query(
    `insert into alerts (id, account_id, check_id, location_id, check_name, check_type, check_description, tags, group_id, group_name,
       alert_type, result_id, run_location, run_location_name, run_locations, response_time, error, status_code,
       status_text, ssl_domain, ssl_days_remaining, is_reminder, reminder_sequence, is_late, silenced, started_at,
       created_at)
     select "id", "accountId", "checkId", "locationId", "checkName", "checkType", "checkDescription", "tags", "groupId", "groupName",
       "alertType", "resultId", "runLocation", "runLocationName", "runLocations", "responseTime", "error", "statusCode",
       "statusText", "sslDomain", "sslDaysRemaining", "isReminder", "reminderSequence", "isLate", "silenced",
       "startedAt", "createdAt"
     from jsonb_to_recordset($1::jsonb) as r ("id" uuid, "accountId" uuid, "checkId" uuid, "locationId" uuid, "checkName" text,
       "checkType" text, "checkDescription" text, "tags" text[], "groupId" bigint, "groupName" text, "alertType" text,
       "resultId" uuid, "runLocation" text, "runLocationName" text, "runLocations" text[],
       "responseTime" double precision, "error" text, "statusCode" integer, "statusText" text, "sslDomain" text,
       "sslDaysRemaining" integer, "isReminder" boolean, "reminderSequence" integer, "isLate" boolean,
       "silenced" boolean, "startedAt" timestamptz, "createdAt" timestamptz)`,
    [toJsonb(alerts)],
  );
}

export type AlertFilter = {
  accountId: string;
  /** Null = all checks, including deleted ones. */
  checkId: string | null;
  /** Whether to read the alerts about locations instead. */
  ofLocations?: boolean;
  /** Null = all types. */
  alertType?: string | null;
  from: Date | null;
  to: Date | null;
  limit: number;
  offset: number;
};

/** Reads a page of alerts that were not silenced, newest first. */
export async function listAlerts(db: Queryable, filter: AlertFilter): Promise<AlertRow[]> {
  const { accountId, checkId, ofLocations = false, alertType = null, from, to, limit, offset } = filter;
  // Two SQL texts, so that each is planned for its own index.
  const ofCheck = checkId === null ? '$2::uuid is null' : 'check_id = $2';
  return db.query<AlertRow>(
    `select ${columns} from alerts
     where account_id = $1 and ${ofCheck} and not silenced and location_id is ${ofLocations ? 'not null' : 'null'}
       and created_at >= coalesce($3::timestamptz, '-infinity') and created_at <= coalesce($4::timestamptz, 'infinity')
       and ($7::text is null or alert_type = $7)
     order by created_at desc, id desc limit $5 offset $6`,
    [accountId, checkId, from, to, limit, offset, alertType],
  );
}

export type AlertDay = { day: string; alertType: string; count: number };

/** Counts alerts that were not silenced by day (UTC) and type; oldest day first. */
export async function countAlertsByDay(
  db: Queryable,
  { accountId, from, to }: { accountId: string; from: Date; to: Date },
): Promise<AlertDay[]> {
  return db.query<AlertDay>(
    `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as day, alert_type as "alertType", count(*)::integer as count
     from alerts where account_id = $1 and not silenced and created_at >= $2 and created_at < $3
     group by 1, 2 order by 1, 2`,
    [accountId, from, to],
  );
}

/** Deletes old alerts, up to `limit`. Returns how many were deleted. */
export async function deleteOldAlerts(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const rows = await db.query(
    `delete from alerts where id in (
       select id from alerts where created_at < $1 order by created_at limit $2 for update skip locked) returning id`,
    [before, limit],
  );
  return rows.length;
}
