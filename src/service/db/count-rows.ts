import type { Queryable } from './database.ts';
import type { FiledResults } from './filed-results.ts';

/** Counts the rows of an account in `table`, a constant name of the calling subject. */
export async function countOfAccount(db: Queryable, table: string, accountId: string): Promise<number> {
  return countRows(db, `from ${table} where account_id = $1`, [accountId]);
}

/** Beyond it, a long list is not counted, because its rows would be read for one figure. */
const mostCounted = 10_000;

/**
 * Counts all entries of a list by the statement that reads its pages; null = more than 10,000. `read` reads a page from the
 * database that it is given, and its answer does not matter.
 */
export async function countListed(
  db: Queryable,
  read: (counting: Queryable, page: { limit: number; offset: number }) => Promise<unknown>,
): Promise<number | null> {
  let count = 0;
  let inFiles = 0;
  const counting: Queryable = {
    query: async (sql, parameters) => {
      // Only columns that the order needs are read.
      const source = `from (${sql}) as listed`;
      count = await countRows(db, source, parameters ?? []);
      return [];
    },
    ...(db.filedResults === undefined
      ? {}
      : { filedResults: counted(db, db.filedResults, (results) => (inFiles = results)) }),
  };
  await read(counting, { limit: mostCounted + 1, offset: 0 });
  count += inFiles;
  return count > mostCounted ? null : count;
}

/** Counts what the files have for the statement, instead of handing it to the statement. They are read from the database itself. */
const counted = (db: Queryable, files: FiledResults, found: (results: number) => void): FiledResults => ({
  read: async (_counting, wanted) => {
    const { count, version } = await files.read(db, { ...wanted, columns: [] });
    found(count);
    return { count: 0, columns: [], version };
  },
  isCurrent: (_counting, wanted, part) => files.isCurrent(db, wanted, part),
});

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
