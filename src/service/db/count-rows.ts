import type { Queryable } from './database.ts';

/** Tables whose rows each belong to an account, and which are small enough to be counted for a list. */
type CountedTable =
  | 'account_variables'
  | 'alert_channels'
  | 'api_keys'
  | 'check_groups'
  | 'client_certificates'
  | 'incidents'
  | 'playwright_bundles'
  | 'snippets';

/** How many rows of an account a table has. */
export async function countOfAccount(db: Queryable, table: CountedTable, accountId: string): Promise<number> {
  return countRows(db, `from ${table} where account_id = $1`, [accountId]);
}

/** How many rows a statement would select; `source` is the statement from its `from` on. */
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
