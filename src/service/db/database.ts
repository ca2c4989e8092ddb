import { FatalError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Secret } from '../../secrets/secret.ts';
import type { FiledResults } from './filed-results.ts';

/**
 * One SQL dialect, two drivers: PostgreSQL compiled into this process (`embedded`, one connection, one process), or a
 * server that many replicas share. Both return the same value types: timestamptz as Date, int8 and numeric as number,
 * json as parsed, bytea as Buffer, date and uuid as string.
 * Parameters are strings, numbers, booleans, Dates, bytes, null, and arrays of them. A JSON parameter is passed as
 * its text (`JSON.stringify`), because the drivers disagree about arrays.
 */

export type Db = {
  readonly kind: 'embedded' | 'server';
  query<Row = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  /** Runs several statements without parameters, for example a migration. */
  exec(sql: string): Promise<void>;
  /**
   * All or nothing. Use only the `db` that `fn` gets: on the embedded database the outer one waits until this
   * transaction has finished. On a deadlock, a serialisation failure, or a connection that breaks before the commit,
   * `fn` runs again, so it must have no other effects. When this resolves, the transaction is committed. When it throws
   * CommitUnknown (`trouble.ts`), it may be committed; any other error means that it is rolled back.
   */
  tx<T>(fn: (db: Db) => Promise<T>): Promise<T>;
  /**
   * Notifications are hints: one that is sent while the connection is being re-established is lost. `onGap` is called
   * after each time that some may have been lost. Not within a transaction.
   */
  listen(channel: string, fn: (payload: string) => void, onGap?: () => void): Promise<() => Promise<void>>;
  /** Within a transaction, the notification is sent at commit. */
  notify(channel: string, payload: string): Promise<void>;
  close(): Promise<void>;
  /** Results that are not in the database; absent = there are none. */
  readonly filedResults?: FiledResults;
};

/** What a statement needs: the database, or a transaction on it. */
export type Queryable = Pick<Db, 'query' | 'filedResults'>;

/** Observes how long a statement took. On the embedded database, time in the queue for the connection is excluded. */
export type StatementObserver = (statement: { sql: string; milliseconds: number }) => void;

export type DatabaseOptions = {
  /** null = embedded, in `dataDir`. */
  databaseUrl: Secret | null;
  /** `memory://` keeps the embedded database in memory (tests). */
  dataDir: string;
  log?: Log;
  onStatement?: StatementObserver;
  /** Called once if the embedded database cannot be used any more. */
  onBroken?: (error: Error) => void;
};

/** SQLSTATE of an error that a driver threw, or null. */
export function sqlState(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
}

/** Type parsers that both drivers share, by OID: wire text → value. */
export const valueParsers: { readonly [oid: number]: (text: string) => unknown } = {
  17: (text) => Buffer.from(text.slice(2), 'hex'), // bytea, always in hex form since 9.0
  20: Number, // int8: counts and sizes stay far below 2^53
  114: (text) => JSON.parse(text) as unknown, // json
  1082: (text) => text, // date
  1114: (text) => new Date(`${text}Z`), // timestamp
  1184: (text) => new Date(isoOf(text)), // timestamptz
  1700: Number, // numeric
  3802: (text) => JSON.parse(text) as unknown, // jsonb
};

/** Converts "2026-01-02 03:04:05.678+00" to ISO. Not every Node version parses an offset of hours only. */
function isoOf(text: string): string {
  return text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00');
}

/** Checks a channel name, because names are inserted into SQL unescaped. */
export function checkChannel(channel: string): string {
  if (!/^[a-z_]{1,60}$/.test(channel)) throw new Error(`not a channel name: ${channel}`);
  return channel;
}

/** FatalError for a database that cannot be opened. */
export function databaseUnusable(message: string, cause: unknown): FatalError {
  return new FatalError('CONFIGURATION', message, { exitCode: 78, cause });
}
