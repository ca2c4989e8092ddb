import type { Queryable } from '../../db/database.ts';

/** Statements on client certificates. Keys and passphrases are encrypted. */

export type ClientCertificateRow = {
  id: string;
  host: string;
  cert: string;
  key: string;
  ca: string | null;
  passphrase: string | null;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = 'id, host, cert, key, ca, passphrase, created_at as "createdAt", updated_at as "updatedAt"';

type Named = { accountId: string; id: string };

export async function insertClientCertificate(
  tx: Queryable,
  { accountId, row }: { accountId: string; row: Omit<ClientCertificateRow, 'updatedAt'> },
): Promise<void> {
  await tx.query(
    `insert into client_certificates (id, account_id, host, cert, key, ca, passphrase, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [row.id, accountId, row.host, row.cert, row.key, row.ca, row.passphrase, row.createdAt],
  );
}

export async function updateClientCertificate(
  tx: Queryable,
  { accountId, row }: { accountId: string; row: Omit<ClientCertificateRow, 'createdAt'> },
): Promise<void> {
  await tx.query(
    `update client_certificates set host = $3, cert = $4, key = $5, ca = $6, passphrase = $7, updated_at = $8
     where account_id = $1 and id = $2`,
    [accountId, row.id, row.host, row.cert, row.key, row.ca, row.passphrase, row.updatedAt],
  );
}

export async function findClientCertificate(
  db: Queryable,
  { accountId, id }: Named,
): Promise<ClientCertificateRow | undefined> {
  const rows = await db.query<ClientCertificateRow>(
    `select ${columns} from client_certificates where account_id = $1 and id = $2`,
    [accountId, id],
  );
  return rows[0];
}

/** A page of certificates, oldest first. */
export async function listClientCertificates(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<ClientCertificateRow[]> {
  return db.query<ClientCertificateRow>(
    `select ${columns} from client_certificates where account_id = $1 order by id limit $2 offset $3`,
    [accountId, limit, offset],
  );
}

/** All certificates of an account, oldest first, for jobs. */
export async function allClientCertificates(
  db: Queryable,
  accountId: string,
): Promise<ClientCertificateRow[]> {
  return db.query<ClientCertificateRow>(
    `select ${columns} from client_certificates where account_id = $1 order by id`,
    [accountId],
  );
}

/**
 * Counts an account's certificates and their total length, without one certificate. Locks the count, so that
 * concurrent callers wait.
 */
export async function lockClientCertificateTotals(
  tx: Queryable,
  { accountId, without }: { accountId: string; without: string | null },
): Promise<{ count: number; length: number }> {
  await tx.query('select 1 from accounts where id = $1 for no key update', [accountId]);
  const rows = await tx.query<{ count: number; length: number }>(
    `select count(*)::integer as count,
       coalesce(sum(length(cert) + length(key) + length(coalesce(ca, ''))), 0)::float8 as length
     from client_certificates where account_id = $1 and id is distinct from $2`,
    [accountId, without],
  );
  return rows[0] ?? { count: 0, length: 0 };
}

/** Returns false if there was no such certificate. */
export async function deleteClientCertificate(db: Queryable, { accountId, id }: Named): Promise<boolean> {
  const rows = await db.query(
    'delete from client_certificates where account_id = $1 and id = $2 returning id',
    [accountId, id],
  );
  return rows.length > 0;
}
