import type { Queryable } from '../db/database.ts';

/** Statements on code bundles of suites. A bundle is identified by its account and its key. */

export type BundleRow = {
  /** Name of its file. */
  id: string;
  key: string;
  /** SHA-256 of the archive, in hex. */
  digest: string;
  /** Bytes. */
  size: number;
  createdAt: Date;
};
type Named = { accountId: string; key: string };

const columns = `id, key, digest, size, created_at as "createdAt"`;

/**
 * Inserts a bundle, or records that it was uploaded again. Returns the resulting row, locked until the transaction
 * ends. Its id differs from the given one if the content already existed.
 */
export async function saveBundle(
  tx: Queryable,
  bundle: Omit<BundleRow, 'createdAt'> & { accountId: string; now: Date },
): Promise<BundleRow> {
  const rows = await tx.query<BundleRow>(
    `insert into playwright_bundles (id, account_id, key, digest, size, created_at, used_at)
     values ($1, $2, $3, $4, $5, $6, $6)
     on conflict (account_id, key) do update set used_at = greatest(playwright_bundles.used_at, excluded.used_at)
     returning ${columns}`,
    [bundle.id, bundle.accountId, bundle.key, bundle.digest, bundle.size, bundle.now],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('an upsert returned no row');
  return row;
}

/** Assigns a new file to a bundle whose file is missing. */
export async function renameBundleFile(
  tx: Queryable,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await tx.query('update playwright_bundles set id = $2 where id = $1', [from, to]);
}

export async function countBundles(db: Queryable, accountId: string): Promise<number> {
  const rows = await db.query<{ count: number }>(
    'select count(*)::integer as count from playwright_bundles where account_id = $1',
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

export async function findBundle(db: Queryable, { accountId, key }: Named): Promise<BundleRow | undefined> {
  const rows = await db.query<BundleRow>(
    `select ${columns} from playwright_bundles where account_id = $1 and key = $2`,
    [accountId, key],
  );
  return rows[0];
}

/** A page of bundles, newest first. */
export async function listBundles(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<BundleRow[]> {
  return db.query<BundleRow>(
    `select ${columns} from playwright_bundles where account_id = $1
     order by created_at desc, id desc limit $2 offset $3`,
    [accountId, limit, offset],
  );
}

/**
 * Marks a bundle as used, so that it cannot be deleted before the transaction ends. It is written rather than locked,
 * so that a deletion waiting for the lock sees the use. Returns false if the bundle does not exist.
 */
export async function useBundle(
  tx: Queryable,
  { accountId, key, now }: Named & { now: Date },
): Promise<boolean> {
  const rows = await tx.query(
    `update playwright_bundles set used_at = greatest(used_at, $3) where account_id = $1 and key = $2 returning id`,
    [accountId, key, now],
  );
  return rows.length > 0;
}

/** Like findBundle, but locks the row: no check starts to use the bundle before the transaction ends. */
export async function lockBundle(tx: Queryable, { accountId, key }: Named): Promise<BundleRow | undefined> {
  const rows = await tx.query<BundleRow>(
    `select ${columns} from playwright_bundles where account_id = $1 and key = $2 for update`,
    [accountId, key],
  );
  return rows[0];
}

/** Names of up to `limit` checks that use a bundle. */
export async function usersOfBundle(
  db: Queryable,
  { accountId, key, limit }: Named & { limit: number },
): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select name from checks where account_id = $1 and code_bundle_key = $2 order by created_at, id limit $3`,
    [accountId, key, limit],
  );
  return rows.map(({ name }) => name);
}

export async function deleteBundle(tx: Queryable, { accountId, key }: Named): Promise<void> {
  await tx.query('delete from playwright_bundles where account_id = $1 and key = $2', [accountId, key]);
}

const isUsed = `exists (select 1 from checks c
  where c.account_id = playwright_bundles.account_id and c.code_bundle_key = playwright_bundles.key)`;

/** Records the current use of bundles whose last record is older than `before`. */
export async function noteUsedBundles(
  db: Queryable,
  { before, now }: { before: Date; now: Date },
): Promise<void> {
  await db.query(`update playwright_bundles set used_at = $2 where used_at < $1 and ${isUsed}`, [
    before,
    now,
  ]);
}

/** Deletes up to `limit` bundles that have been unused since `before`. Returns the ids of their files. */
export async function deleteUnusedBundles(
  db: Queryable,
  { before, limit }: { before: Date; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    // Checks used_at again after waiting for a row lock, because a check may just have started to use the bundle.
    `delete from playwright_bundles where used_at < $1 and not ${isUsed} and id in (
       select id from playwright_bundles where used_at < $1 and not ${isUsed} order by used_at limit $2)
     returning id`,
    [before, limit],
  );
  return rows.map(({ id }) => id);
}

/** Those of these file ids that belong to bundles. */
export async function knownBundleFiles(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    'select id from playwright_bundles where id = any($1::uuid[])',
    [ids],
  );
  return new Set(rows.map(({ id }) => id));
}
