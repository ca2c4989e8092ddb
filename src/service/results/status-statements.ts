import { countRows } from '../db/count-rows.ts';
import type { Queryable } from '../db/database.ts';
import { joinLastRun, lastRun } from '../db/last-run.ts';

/** Statements on the latest statuses of checks for the public API. */

export type StatusRow = {
  checkId: string;
  name: string;
  status: string;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  longestRun: number | null;
  shortestRun: number | null;
  lastRunLocation: string | null;
  lastCheckRunId: string | null;
  lastStartedAt: Date;
  sslDaysRemaining: number | null;
  reason: unknown;
  createdAt: Date;
  updatedAt: Date | null;
};

/** A row in JSON: dates are in ISO form. */
type AsJson<Row> = {
  [Name in keyof Row]: Row[Name] extends Date | null ? Exclude<Row[Name], Date> | string : Row[Name];
};

const columns = `s.check_id as "checkId", c.name, s.status, s.has_failures as "hasFailures", s.has_errors as "hasErrors",
  s.is_degraded as "isDegraded", s.longest_run as "longestRun", s.shortest_run as "shortestRun",
  ${lastRun.location} as "lastRunLocation", ${lastRun.id} as "lastCheckRunId",
  ${lastRun.startedAt} as "lastStartedAt", s.ssl_days_remaining as "sslDaysRemaining", s.reason,
  s.created_at as "createdAt", ${lastRun.updatedAt} as "updatedAt"`;

const checksWithStatus = `from checks c
         where c.account_id = $1 and exists (select 1 from check_statuses s where s.check_id = c.id)`;

/** Counts an account's checks that have a status. */
export async function countStatuses(db: Queryable, accountId: string): Promise<number> {
  return countRows(db, checksWithStatus, [accountId]);
}

/**
 * A page of statuses, in the order of the checks. Checks that have not run yet have none. The rows are returned as
 * one JSON text, because parsing 1,500 values costs the embedded database's driver more than the query.
 */
export async function listStatuses(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<StatusRow[]> {
  const rows = await db.query<{ statuses: AsJson<StatusRow>[] }>(
    `select coalesce(json_agg(row_to_json(item)), '[]') as statuses from (
       select ${columns} from (
         select c.id, c.name, c.created_at ${checksWithStatus}
         order by c.created_at, c.id limit $2 offset $3
       ) as c join check_statuses s on s.check_id = c.id ${joinLastRun} order by c.created_at, c.id
     ) as item`,
    [accountId, limit, offset],
  );
  return (rows[0]?.statuses ?? []).map((status) => ({
    ...status,
    lastStartedAt: new Date(status.lastStartedAt),
    createdAt: new Date(status.createdAt),
    updatedAt: status.updatedAt === null ? null : new Date(status.updatedAt),
  }));
}

/** The status of a check; undefined if it has not run yet. */
export async function findStatus(
  db: Queryable,
  { accountId, checkId }: { accountId: string; checkId: string },
): Promise<StatusRow | undefined> {
  const [row] = await statusesOf(db, { accountId, checkIds: [checkId] });
  return row;
}

/** Statuses of all these checks. */
export async function statusesOf(
  db: Queryable,
  { accountId, checkIds }: { accountId: string; checkIds: readonly string[] },
): Promise<StatusRow[]> {
  return db.query<StatusRow>(
    `select ${columns} from check_statuses s join checks c on c.id = s.check_id ${joinLastRun}
     where s.check_id = any($1::uuid[]) and s.account_id = $2`,
    [[...checkIds], accountId],
  );
}
