import type { Queryable } from './database.ts';

/** Counts the rows of an account in `table`, a constant name of the calling subject. */
export async function countOfAccount(db: Queryable, table: string, accountId: string): Promise<number> {
  return countRows(db, `from ${table} where account_id = $1`, [accountId]);
}

/** Counts the rows that a statement would select. `source` is the statement from its `from` clause on. */
export async function countRows(
  db: Queryable,
  source: string,
  parameters: readonly unknown[],
): Promise<number> {
  const rows = await db.query<{ count: number }>(`select count(*)::float8 as count ${source}`, [
    ...parameters,
  ]);
  return rows[0]?.count ?? 0;
}
