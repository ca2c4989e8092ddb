import type { Db, Queryable } from './database.ts';
import { noFiles, type FiledResults, type WantedResults } from './filed-results.ts';

/** Runs statements over results in the table and in files. */

/** The same database, whose statements on results read these files too. */
export function withFiledResults(db: Db, filedResults: FiledResults): Db {
  return {
    kind: db.kind,
    query: (sql, params) => db.query(sql, params),
    exec: (sql) => db.exec(sql),
    tx: (fn) => db.tx((tx) => fn(withFiledResults(tx, filedResults))),
    listen: (channel, fn, onGap) => db.listen(channel, fn, onGap),
    notify: (channel, payload) => db.notify(channel, payload),
    close: () => db.close(),
    filedResults,
  };
}

const rowType = `id uuid, check_id uuid, account_id uuid, job_id uuid, lease_token uuid, sequence_id uuid, started_at timestamptz,
  stopped_at timestamptz, stored_at timestamptz, check_type text, run_location text, result_type text, status text,
  has_failures boolean, has_errors boolean, is_degraded boolean, over_max_response_time boolean, is_cancelled boolean,
  response_time double precision, attempts integer, reason jsonb, totals jsonb, body jsonb, body_bytes integer`;
const columns = rowType.replaceAll(/(\w+) (?:\w+)(?: precision)?(,|$)/g, '$1$2');

/** How often a statement is repeated because results went to files while it ran. */
const maxTries = 5;

/**
 * Runs a statement over results in the table and in files. In its text, `check_results` has the rows of both, and
 * `body_bytes`: the stored size of a body in a file, null for rows of the table.
 */
export async function queryResults<Row>(
  db: Queryable,
  wanted: WantedResults,
  sql: string,
  params: readonly unknown[],
): Promise<Row[]> {
  const { filedResults } = db;
  if (filedResults === undefined) return db.query<Row>(withoutFiles(sql), params);
  for (let tries = 1; ; tries++) {
    const part = await filedResults.read(db, wanted);
    const rows =
      part.version === noFiles
        ? await db.query<Row>(withoutFiles(sql), params)
        : await db.query<Row>(withFiles(sql, params.length + 1), [...params, part.rows]);
    // A result that moved meanwhile would be missing or double.
    if (await filedResults.isCurrent(db, wanted, part)) return rows;
    if (tries === maxTries) throw new Error('results kept moving to files while they were read');
  }
}

const withoutFiles = (sql: string) => sql.replaceAll('body_bytes', 'null::integer');

const withFiles = (sql: string, place: number) =>
  beginning(
    sql,
    `with check_results as not materialized (
       select ${columns.replace('body_bytes', 'null::integer as body_bytes')}, test_session from check_results
       union all select ${columns}, false from jsonb_to_recordset($${place}::jsonb) as filed (${rowType}))`,
  );

/** The statement with one more common table expression before its own. */
function beginning(sql: string, first: string): string {
  const own = /^\s*with\s+/.exec(sql);
  return own === null ? `${first}\n${sql}` : `${first}, ${sql.slice(own[0].length)}`;
}
