import type { Db, Queryable } from './database.ts';
import type { FiledColumn, FiledResults, WantedResults } from './filed-results.ts';

/** Runs statements over results in the table and in files. */

/** A transaction holds its locks while files are read; on the embedded database, everything waits for it. */
const readMs = 5_000;
/** All reads of a transaction together. */
const transactionMs = 20_000;

function inTransaction(files: FiledResults): FiledResults {
  let leftMs = transactionMs;
  return {
    ...files,
    read: async (db, wanted) => {
      const begun = performance.now();
      try {
        return await files.read(db, { withinMs: Math.max(1, Math.min(readMs, leftMs)), ...wanted });
      } finally {
        leftMs -= performance.now() - begun;
      }
    },
  };
}

/** The same database, whose statements on results read these files too. */
export function withFiledResults(db: Db, filedResults: FiledResults): Db {
  return {
    kind: db.kind,
    query: (sql, params) => db.query(sql, params),
    exec: (sql) => db.exec(sql),
    tx: (fn) => db.tx((tx) => fn(withFiledResults(tx, inTransaction(filedResults)))),
    listen: (channel, fn, onGap) => db.listen(channel, fn, onGap),
    notify: (channel, payload) => db.notify(channel, payload),
    close: () => db.close(),
    filedResults,
  };
}

/** The columns of `check_results` that statements read, without `test_session`. */
const types = {
  id: 'uuid',
  check_id: 'uuid',
  account_id: 'uuid',
  job_id: 'uuid',
  lease_token: 'uuid',
  sequence_id: 'uuid',
  started_at: 'timestamptz',
  stopped_at: 'timestamptz',
  stored_at: 'timestamptz',
  check_type: 'text',
  run_location: 'text',
  result_type: 'text',
  status: 'text',
  has_failures: 'boolean',
  has_errors: 'boolean',
  is_degraded: 'boolean',
  over_max_response_time: 'boolean',
  is_cancelled: 'boolean',
  response_time: 'double precision',
  attempts: 'integer',
  reason: 'jsonb',
  totals: 'jsonb',
  body: 'jsonb',
  base_id: 'uuid',
  body_bytes: 'integer',
};
const ofTable = Object.keys(types).join(', ').replace('body_bytes', 'null::integer as body_bytes');

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
      part.count === 0
        ? await db.query<Row>(withoutFiles(sql), params)
        : await db.query<Row>(withFiles(sql, params.length, part.columns), [
            ...params,
            ...part.columns.map(({ text }) => text),
          ]);
    // A result that moved meanwhile would be missing or double.
    if (await filedResults.isCurrent(db, wanted, part)) return rows;
    if (tries === maxTries) throw new Error('results kept moving to files while they were read');
  }
}

const withoutFiles = (sql: string) => sql.replaceAll('body_bytes', 'null::integer');

/** `before`: how many parameters the statement has; the columns follow them. */
function withFiles(sql: string, before: number, columns: readonly FiledColumn[]): string {
  const arrays: string[] = [];
  const names: string[] = [];
  const values = Object.entries(types).map(([name, type]) => {
    const index = columns.findIndex((column) => column.name === name);
    const parameter = `$${before + index + 1}::text`;
    if (index < 0) return `null::${type}`;
    if (columns[index]?.isArray !== true) return `${parameter}::${type}`;
    arrays.push(`${parameter}::${type}[]`);
    names.push(name);
    return name;
  });
  return beginning(
    sql,
    `with check_results as not materialized (
       select ${ofTable}, test_session from check_results
       union all select ${values.join(', ')}, false from unnest(${arrays.join(', ')}) as filed (${names.join(', ')}))`,
  );
}

/** The statement with one more common table expression before its own. */
function beginning(sql: string, first: string): string {
  const own = /^\s*with\s+/.exec(sql);
  return own === null ? `${first}\n${sql}` : `${first}, ${sql.slice(own[0].length)}`;
}
