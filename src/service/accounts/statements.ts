import type { AlertSettings } from './alert-settings.ts';
import type { Queryable } from '../db/database.ts';

/** Statements on accounts. */

export type AccountRow = {
  id: string;
  name: string;
  runtimeId: string;
  /** Null = the defaults. */
  alertSettings: Partial<AlertSettings> | null;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = `id, name, runtime_id as "runtimeId", alert_settings as "alertSettings", created_at as "createdAt",
  updated_at as "updatedAt"`;

export async function findAccount(db: Queryable, id: string): Promise<AccountRow | undefined> {
  const rows = await db.query<AccountRow>(`select ${columns} from accounts where id = $1`, [id]);
  return rows[0];
}

/** Like findAccount, but locks the row until the transaction ends. */
export async function lockAccount(tx: Queryable, id: string): Promise<AccountRow | undefined> {
  const rows = await tx.query<AccountRow>(`select ${columns} from accounts where id = $1 for no key update`, [
    id,
  ]);
  return rows[0];
}

export async function updateAccount(tx: Queryable, account: AccountRow): Promise<void> {
  const { id, name, runtimeId, alertSettings, updatedAt } = account;
  await tx.query(
    'update accounts set name = $2, runtime_id = $3, alert_settings = $4::jsonb, updated_at = $5 where id = $1',
    [id, name, runtimeId, alertSettings === null ? null : JSON.stringify(alertSettings), updatedAt],
  );
}
