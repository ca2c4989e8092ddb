import type { Queryable } from '../../db/database.ts';
import type { Role } from '../../http/fields/roles.ts';

/** Statements on the sessions of the pages and on tokens that sign in once. */

export type SessionOwnerRow = {
  id: string;
  lastUsedAt: Date;
  accountId: string;
  apiKeyId: string;
  role: Role;
  keyExpiresAt: Date | null;
};

/** The session with this SHA-256 that was used after `usedAfter`, and its key, expired or not. */
export async function findWebSession(
  db: Queryable,
  { tokenHash, usedAfter }: { tokenHash: Buffer; usedAfter: Date },
): Promise<SessionOwnerRow | undefined> {
  const rows = await db.query<SessionOwnerRow>(
    `select s.id, s.last_used_at as "lastUsedAt", k.account_id as "accountId", k.id as "apiKeyId", k.role,
       k.expires_at as "keyExpiresAt"
     from web_sessions s join api_keys k on k.id = s.api_key_id
     where s.token_hash = $1 and s.last_used_at > $2`,
    [tokenHash, usedAfter],
  );
  return rows[0];
}

/** Creates a session of a key. False = the key was deleted or has expired. */
export async function insertWebSession(
  db: Queryable,
  { id, apiKeyId, tokenHash, now }: { id: string; apiKeyId: string; tokenHash: Buffer; now: Date },
): Promise<boolean> {
  const rows = await db.query(
    `insert into web_sessions (id, api_key_id, token_hash, created_at, last_used_at)
     select $1, k.id, $3, $4, $4 from api_keys k
     where k.id = $2 and (k.expires_at is null or k.expires_at > $4)
     returning id`,
    [id, apiKeyId, tokenHash, now],
  );
  return rows.length > 0;
}

/** Deletes all sessions of a key but the `keep` last used ones. */
export async function trimWebSessions(
  db: Queryable,
  { apiKeyId, keep }: { apiKeyId: string; keep: number },
): Promise<void> {
  await db.query(
    `delete from web_sessions where id in (
       select id from web_sessions where api_key_id = $1 order by last_used_at desc, id desc offset $2)`,
    [apiKeyId, keep],
  );
}

/** Records the use of a session, unless one was recorded after `before`. */
export async function touchWebSession(
  db: Queryable,
  { id, now, before }: { id: string; now: Date; before: Date },
): Promise<void> {
  await db.query('update web_sessions set last_used_at = $2 where id = $1 and last_used_at < $3', [
    id,
    now,
    before,
  ]);
}

export async function deleteWebSession(db: Queryable, tokenHash: Buffer): Promise<void> {
  await db.query('delete from web_sessions where token_hash = $1', [tokenHash]);
}

export type IdentityRow = {
  accountId: string;
  accountName: string;
  role: Role;
  keyName: string;
  maskedKey: string;
  keyExpiresAt: Date | null;
  /** Null = by the key itself. */
  sessionUsedAt: Date | null;
};

/** The account and the key of a request, and its session if it has one. */
export async function findIdentity(
  db: Queryable,
  { apiKeyId, sessionId }: { apiKeyId: string; sessionId: string | null },
): Promise<IdentityRow | undefined> {
  const rows = await db.query<IdentityRow>(
    `select a.id as "accountId", a.name as "accountName", k.role, k.name as "keyName", k.masked_key as "maskedKey",
       k.expires_at as "keyExpiresAt",
       (select s.last_used_at from web_sessions s where s.id = $2) as "sessionUsedAt"
     from api_keys k join accounts a on a.id = k.account_id where k.id = $1`,
    [apiKeyId, sessionId],
  );
  return rows[0];
}

/** Stores a token that signs in once with the key of `keyHash`. False = there is no such key, or it has expired. */
export async function insertSignInToken(
  db: Queryable,
  token: { tokenHash: Buffer; keyHash: Buffer; now: Date; expiresAt: Date },
): Promise<boolean> {
  const rows = await db.query(
    `insert into sign_in_tokens (token_hash, api_key_id, expires_at)
     select $1, k.id, $4 from api_keys k
     where k.key_hash = $2 and (k.expires_at is null or k.expires_at > $3)
     returning token_hash`,
    [token.tokenHash, token.keyHash, token.now, token.expiresAt],
  );
  return rows.length > 0;
}

/** Uses a token up. Undefined = there is no such token, or it is too old. */
export async function takeSignInToken(
  db: Queryable,
  { tokenHash, now }: { tokenHash: Buffer; now: Date },
): Promise<{ apiKeyId: string } | undefined> {
  const rows = await db.query<{ apiKeyId: string }>(
    'delete from sign_in_tokens where token_hash = $1 and expires_at > $2 returning api_key_id as "apiKeyId"',
    [tokenHash, now],
  );
  return rows[0];
}

/** Deletes sessions that were not used since `usedBefore`, and tokens that expired before `now`. */
export async function deleteEndedWebSessions(
  db: Queryable,
  { usedBefore, now, limit }: { usedBefore: Date; now: Date; limit: number },
): Promise<void> {
  await db.query(
    'delete from web_sessions where id in (select id from web_sessions where last_used_at <= $1 limit $2)',
    [usedBefore, limit],
  );
  await db.query(
    `delete from sign_in_tokens where token_hash in (
       select token_hash from sign_in_tokens where expires_at <= $1 limit $2)`,
    [now, limit],
  );
}
