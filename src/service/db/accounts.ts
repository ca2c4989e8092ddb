import type { Queryable } from './database.ts';

/** Statements on accounts and their API keys. */

export type AccountRow = {
  id: string;
  name: string;
  runtimeId: string;
  createdAt: Date;
  updatedAt: Date | null;
};

/** The account of an API key, by the key's SHA-256. */
export async function accountIdOfApiKey(db: Queryable, keyHash: Buffer): Promise<string | undefined> {
  const rows = await db.query<{ accountId: string }>(
    'select account_id as "accountId" from api_keys where key_hash = $1',
    [keyHash],
  );
  return rows[0]?.accountId;
}

export async function findAccount(db: Queryable, id: string): Promise<AccountRow | undefined> {
  const rows = await db.query<AccountRow>(
    'select id, name, runtime_id as "runtimeId", created_at as "createdAt", updated_at as "updatedAt" from accounts where id = $1',
    [id],
  );
  return rows[0];
}
