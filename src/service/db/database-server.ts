import pg from 'pg';
import type { Secret } from '../../secrets/secret.ts';
import { toError } from '../../errors.ts';
import {
  checkChannel,
  databaseUnusable,
  sqlState,
  valueParsers,
  type DatabaseOptions,
  type Db,
} from './database.ts';
import { createFrequentStatements } from './frequent-statements.ts';
import { createListening } from './listening.ts';
import { CommitUnknown, DatabaseUnavailable, isConnectionLost } from './trouble.ts';

const poolSize = 10;
const connectTimeoutMs = 10_000;
const statementTimeoutMs = 30_000;
/**
 * A server with synchronous_commit = off answers a commit before it is written, and loses it when it crashes. But an agent
 * deletes a result, and a job goes on after its ping, because of our answer.
 */
const safeCommits = `select set_config('synchronous_commit', 'local', false)
  where current_setting('synchronous_commit') = 'off'`;
/** Attempts of one transaction if others conflict with it: deadlock_detected, serialization_failure. */
const transactionTries = 4;
const retryableStates = new Set(['40P01', '40001']);
/** A transaction whose connection broke runs again only while less than this has passed since its first attempt. */
const lostRetryMs = 5_000;

/** Opens a pool on a PostgreSQL server (15 or newer). Throws FatalError CONFIGURATION if it cannot be reached. */
export async function openServerDatabase(
  options: Omit<DatabaseOptions, 'databaseUrl'> & { databaseUrl: Secret },
): Promise<Db> {
  const settings: pg.ClientConfig = {
    connectionString: options.databaseUrl.reveal(),
    connectionTimeoutMillis: connectTimeoutMs,
    // The client's limit is later than the server's. It is for a connection that has gone silent.
    query_timeout: statementTimeoutMs + 5_000,
    keepAlive: true,
    types: { getTypeParser: typeParser },
  };
  const pool = new pg.Pool({
    ...settings,
    max: poolSize,
    idleTimeoutMillis: 30_000,
    // Set by a statement because connection poolers refuse start parameters.
    onConnect: async (client) => {
      await client.query(
        `set timezone = 'UTC'; set statement_timeout = ${statementTimeoutMs}; set jit = off; ${safeCommits}`,
      );
    },
  });
  // The pool replaces a broken idle connection. Without a listener the error would crash the process.
  pool.on('error', (error) => options.log?.warn({ error: error.message }, 'a database connection broke'));
  // For a moment between two users a connection has no listener, and a database restart may fall into that moment.
  // Without this listener the error would crash the process. The user sees the failure in its next statement.
  pool.on('connect', (client) => client.on('error', () => undefined));
  try {
    const { rows } = await pool.query<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    );
    if ((rows[0]?.version ?? 0) < 150_000) throw new Error('PostgreSQL 15 or newer is required');
  } catch (error) {
    await pool.end();
    throw databaseUnusable(`DATABASE_URL: ${toError(error).message || String(sqlState(error))}`, error);
  }
  return serverDb(pool, settings, options);
}

/** A statement of a transaction failed only because it was prepared. */
class Unprepared extends Error {
  constructor(cause: unknown) {
    super(toError(cause).message, { cause });
    this.name = 'Unprepared';
  }
}

// pg's own signature is generic over formats; only text is used here.
const typeParser = ((oid: number, format?: string) =>
  valueParsers[oid] ?? pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser;

function serverDb(
  pool: pg.Pool,
  settings: pg.ClientConfig,
  options: Pick<DatabaseOptions, 'log' | 'onStatement'>,
): Db {
  const listening = createListening(settings, options.log);
  const frequent = createFrequentStatements();
  /** The plans that each connection has; see `plansOf`. */
  const plansOf = new WeakMap<pg.PoolClient, number>();
  let closing: Promise<void> | null = null;

  async function timed<T>(sql: string, run: () => Promise<T>): Promise<T> {
    const started = performance.now();
    try {
      return await run();
    } catch (error) {
      throw classified(error);
    } finally {
      options.onStatement?.({ sql, milliseconds: performance.now() - started });
    }
  }

  function statements(
    target: pg.Pool | pg.PoolClient,
    seen?: Set<string>,
  ): Pick<Db, 'query' | 'exec' | 'notify'> {
    const run = async <Row>(
      text: string,
      params: readonly unknown[],
      name: string | undefined,
    ): Promise<Row[]> => {
      const values = [...params];
      const started = performance.now();
      const result = await timed(text, () =>
        target.query(name === undefined ? { text, values } : { name, text, values }),
      );
      if (name !== undefined) frequent.took(performance.now() - started);
      return result.rows as Row[]; // the caller names the row type of its own SQL
    };
    const query = <Row>(sql: string, params: readonly unknown[] = []): Promise<Row[]> => {
      const name = frequent.nameOf(sql, seen);
      return run<Row>(sql, params, name).catch((error: unknown) => {
        if (name === undefined || !frequent.isUnprepared(error, sql)) throw error;
        // A failed statement ends its transaction, which is then repeated as a whole.
        if (target !== pool) throw new Unprepared(error);
        return run<Row>(sql, params, undefined);
      });
    };
    return {
      query,
      exec: async (sql) => void (await timed(sql, () => target.query(sql))),
      notify: async (channel, payload) => void (await query('select pg_notify($1, $2)', [channel, payload])),
    };
  }

  async function once<T>(fn: (db: Db) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw classified(error);
    });
    let broken: Error | undefined;
    const onError = (error: Error) => (broken = error);
    client.on('error', onError);
    try {
      const plans = frequent.plansOf();
      const isPlanned = (plansOf.get(client) ?? 0) === plans;
      await client.query(isPlanned ? 'begin' : 'discard plans; begin').catch((error: unknown) => {
        throw classified(error);
      });
      plansOf.set(client, plans);
      const db: Db = {
        kind: 'server',
        ...statements(client, new Set()),
        tx: (inner) => inner(db),
        listen: () => Promise.reject(new Error('listen is not for transactions')),
        close: () => Promise.reject(new Error('close is not for transactions')),
      };
      const value = await fn(db);
      await commit(client);
      return value;
    } catch (error) {
      // Nothing is asked of a connection that broke or does not answer: its end rolls back, and waiting for another
      // answer would only take as long again. A connection that cannot roll back is discarded too.
      if (isConnectionLost(error) || error instanceof CommitUnknown) broken = toError(error);
      else await client.query('rollback').catch((failure: unknown) => (broken = toError(failure)));
      throw error;
    } finally {
      client.off('error', onError);
      client.release(broken);
    }
  }

  return {
    kind: 'server',
    ...statements(pool),
    tx: async (fn) => {
      const started = performance.now();
      for (let tries = 1; ; tries++) {
        try {
          return await once(fn);
        } catch (error) {
          // Before `commit` is sent, a broken connection has rolled back for certain.
          const isLost = isConnectionLost(error) && performance.now() - started < lostRetryMs;
          // Each of its statements may have to be repeated once.
          if (error instanceof Unprepared) {
            tries--;
            continue;
          }
          const isRetryable = isLost || retryableStates.has(sqlState(error) ?? '');
          if (tries === transactionTries || !isRetryable) throw error;
        }
      }
    },
    listen: (channel, fn, onGap) =>
      listening.listen(checkChannel(channel), fn, onGap).catch((error: unknown) => {
        throw classified(error);
      }),
    close: () => (closing ??= listening.close().then(() => pool.end())),
  };
}

/**
 * Commits, or throws: CommitUnknown if the answer did not arrive. A transaction in which a statement had failed answers
 * `commit` with ROLLBACK and no error, so that answer is checked too.
 */
async function commit(client: pg.PoolClient): Promise<void> {
  let command: string;
  try {
    ({ command } = await client.query('commit'));
  } catch (error) {
    const known = classified(error);
    // Any other error is the server's answer: it has rolled back.
    throw isConnectionLost(known) ? new CommitUnknown(known) : known;
  }
  if (command !== 'COMMIT')
    throw new Error('the transaction was rolled back: one of its statements had failed');
}

/**
 * A DatabaseUnavailable for an error of the connection. The driver gives such errors no class and often no code, so
 * everything that is neither an answer of the server nor a fault of our code is one.
 */
function classified(error: unknown): Error {
  const known = toError(error);
  const isOurs = known instanceof TypeError || known instanceof RangeError || known instanceof SyntaxError;
  if (known instanceof pg.DatabaseError || known instanceof DatabaseUnavailable || isOurs) return known;
  return new DatabaseUnavailable(known);
}
