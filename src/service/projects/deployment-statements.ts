import type { Queryable } from '../db/database.ts';
import { toJsonb } from '../db/jsonb.ts';

/** Statements on deployments. At most one per project is going on, and its runner renews a lease. */

export type DeploymentStatus = 'PENDING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';

export type DeploymentRow = {
  id: string;
  logicalId: string;
  status: DeploymentStatus;
  /** Percent. */
  progress: number;
  error: DeploymentError | null;
  result: unknown;
  createdAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  cancelRequestedAt: Date | null;
};

export type DeploymentError = { code: string; message: string; attributes?: { [path: string]: string[] } };

const columns = `id, logical_id as "logicalId", status, progress, error, result, created_at as "createdAt",
  started_at as "startedAt", ended_at as "endedAt", cancel_requested_at as "cancelRequestedAt"`;

/** Deployments of a project that are kept. */
const kept = 100;

/** Returns false if another deployment of the project is going on. */
export async function insertDeployment(
  tx: Queryable,
  row: { id: string; accountId: string; logicalId: string; runner: string; now: Date; leasedUntil: Date },
): Promise<boolean> {
  const { id, accountId, logicalId, runner, now, leasedUntil } = row;
  const inserted = await tx.query(
    `insert into project_deployments (id, account_id, logical_id, status, progress, created_at, runner, leased_until)
     values ($1, $2, $3, 'PENDING', 0, $4, $5, $6) on conflict do nothing returning id`,
    [id, accountId, logicalId, now, runner, leasedUntil],
  );
  if (inserted.length === 0) return false;
  await tx.query(
    `delete from project_deployments where id in (select id from project_deployments
       where account_id = $1 and logical_id = $2 order by created_at desc, id desc offset $3)`,
    [accountId, logicalId, kept],
  );
  return true;
}

type Named = { accountId: string; logicalId: string };

/** Ends deployments whose runner is dead. The embedded database has one runner, so all others are. */
export async function endAbandoned(
  db: Queryable,
  { accountId, logicalId, now, onlyRunner }: Named & { now: Date; onlyRunner: string | null },
): Promise<void> {
  const error = {
    code: 'ABANDONED',
    message: 'The service stopped during the deployment. Nothing was changed: deploy again.',
  };
  await db.query(
    `update project_deployments set status = 'FAILED', ended_at = $3, error = $4::jsonb
     where account_id = $1 and logical_id = $2 and status in ('PENDING', 'RUNNING')
       and (leased_until < $3 or ($5::uuid is not null and runner <> $5))`,
    [accountId, logicalId, now, toJsonb(error), onlyRunner],
  );
}

export async function findDeployment(
  db: Queryable,
  { accountId, logicalId, id }: Named & { id: string },
): Promise<DeploymentRow | undefined> {
  const rows = await db.query<DeploymentRow>(
    `select ${columns} from project_deployments where account_id = $1 and logical_id = $2 and id = $3`,
    [accountId, logicalId, id],
  );
  return rows[0];
}

/** The deployment of a project that is going on. */
export async function goingDeployment(db: Queryable, named: Named): Promise<string | undefined> {
  const rows = await db.query<{ id: string }>(
    `select id from project_deployments where account_id = $1 and logical_id = $2 and status in ('PENDING', 'RUNNING')`,
    [named.accountId, named.logicalId],
  );
  return rows[0]?.id;
}

/** A page of a project's deployments, newest first. */
export async function listDeployments(
  db: Queryable,
  { accountId, logicalId, limit, offset }: Named & { limit: number; offset: number },
): Promise<DeploymentRow[]> {
  return db.query<DeploymentRow>(
    `select ${columns} from project_deployments where account_id = $1 and logical_id = $2
     order by created_at desc, id desc limit $3 offset $4`,
    [accountId, logicalId, limit, offset],
  );
}

/** Begins a deployment, or keeps it alive. Returns whether it is to be cancelled; null = it is over. */
export async function renewDeployment(
  db: Queryable,
  { id, progress, now, leasedUntil }: { id: string; progress: number; now: Date; leasedUntil: Date },
): Promise<boolean | null> {
  const [row] = await db.query<{ cancelled: boolean }>(
    `update project_deployments set status = 'RUNNING', started_at = coalesce(started_at, $2), progress = $3,
       leased_until = $4
     where id = $1 and status in ('PENDING', 'RUNNING') returning cancel_requested_at is not null as cancelled`,
    [id, now, progress, leasedUntil],
  );
  return row?.cancelled ?? null;
}

/** Ends a deployment. Returns false if it was over already. */
export async function endDeployment(
  tx: Queryable,
  end: { id: string; status: DeploymentStatus; error: DeploymentError | null; result: unknown; now: Date },
): Promise<boolean> {
  const { id, status, error, result, now } = end;
  const rows = await tx.query(
    `update project_deployments set status = $2, error = $3::jsonb, result = $4::jsonb, ended_at = $5,
       progress = case when $2 = 'SUCCEEDED' then 100 else progress end
     where id = $1 and status in ('PENDING', 'RUNNING') and ($2 <> 'SUCCEEDED' or cancel_requested_at is null)
     returning id`,
    [id, status, error === null ? null : toJsonb(error), result === null ? null : toJsonb(result), now],
  );
  return rows.length > 0;
}

/** Asks for the end of a deployment. */
export async function requestCancel(db: Queryable, id: string, now: Date): Promise<void> {
  await db.query(
    `update project_deployments set cancel_requested_at = coalesce(cancel_requested_at, $2)
     where id = $1 and status in ('PENDING', 'RUNNING')`,
    [id, now],
  );
}
