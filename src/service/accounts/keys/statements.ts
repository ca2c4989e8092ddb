import type { Queryable } from '../../db/database.ts';
import type { Role } from '../../http/fields/roles.ts';

/** Statements on the API keys of accounts. */

export type ApiKeyRow = {
  id: string;
  accountId: string;
  name: string;
  role: Role;
  maskedKey: string;
  /** Null = the key does not expire. */
  expiresAt: Date | null;
  /** To the minute; null = the key was never used. */
  lastUsedAt: Date | null;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = `id, account_id as "accountId", name, role, masked_key as "maskedKey", expires_at as "expiresAt",
  last_used_at as "lastUsedAt", created_at as "createdAt", updated_at as "updatedAt"`;

/** The API key with this SHA-256, expired or not. */
export async function findApiKeyByHash(db: Queryable, keyHash: Buffer): Promise<ApiKeyRow | undefined> {
  const rows = await db.query<ApiKeyRow>(`select ${columns} from api_keys where key_hash = $1`, [keyHash]);
  return rows[0];
}

/** Records the use of a key, unless one was recorded after `before`. */
export async function touchApiKey(
  db: Queryable,
  { id, now, before }: { id: string; now: Date; before: Date },
): Promise<void> {
  await db.query(
    'update api_keys set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at < $3)',
    [id, now, before],
  );
}

/** A page of keys, oldest first. */
export async function listApiKeys(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<ApiKeyRow[]> {
  return db.query<ApiKeyRow>(
    `select ${columns} from api_keys where account_id = $1 order by created_at, id limit $2 offset $3`,
    [accountId, limit, offset],
  );
}

export async function findApiKey(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<ApiKeyRow | undefined> {
  const rows = await db.query<ApiKeyRow>(
    `select ${columns} from api_keys where id = $1 and account_id = $2`,
    [id, accountId],
  );
  return rows[0];
}

/**
 * All keys of an account. Locks the account's keys, so that none is created, changed or deleted until the transaction
 * ends.
 */
export async function lockApiKeys(tx: Queryable, accountId: string): Promise<ApiKeyRow[]> {
  await tx.query('select 1 from accounts where id = $1 for no key update', [accountId]);
  return tx.query<ApiKeyRow>(`select ${columns} from api_keys where account_id = $1`, [accountId]);
}

export async function insertApiKey(
  tx: Queryable,
  key: Pick<ApiKeyRow, 'id' | 'accountId' | 'name' | 'role' | 'maskedKey' | 'expiresAt' | 'createdAt'> & {
    keyHash: Buffer;
  },
): Promise<void> {
  await tx.query(
    `insert into api_keys (id, account_id, name, role, key_hash, masked_key, expires_at, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [key.id, key.accountId, key.name, key.role, key.keyHash, key.maskedKey, key.expiresAt, key.createdAt],
  );
}

export async function updateApiKey(
  tx: Queryable,
  key: Pick<ApiKeyRow, 'id' | 'name' | 'role' | 'expiresAt' | 'updatedAt'>,
): Promise<void> {
  await tx.query('update api_keys set name = $2, role = $3, expires_at = $4, updated_at = $5 where id = $1', [
    key.id,
    key.name,
    key.role,
    key.expiresAt,
    key.updatedAt,
  ]);
}

export async function deleteApiKey(tx: Queryable, id: string): Promise<void> {
  await tx.query('delete from api_keys where id = $1', [id]);
}
