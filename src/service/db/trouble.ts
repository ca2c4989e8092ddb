import { NoDiskSpace } from './disk-space.ts';
import { sqlState } from './database.ts';

/** Trouble of the database itself, as opposed to a statement or a value that it refuses. */

/**
 * The connection broke, or none could be made. Outside a transaction the statement may have taken effect. Inside one
 * it has not, except for CommitUnknown.
 */
export class DatabaseUnavailable extends Error {
  constructor(cause: Error) {
    super(cause.message === '' ? 'the database does not answer' : cause.message, { cause });
    this.name = 'DatabaseUnavailable';
  }
}

/**
 * The connection broke after `commit` had been sent and before its answer. The transaction may have taken effect, or
 * may still do so. Nobody may be told that it has, or that it has not.
 */
export class CommitUnknown extends DatabaseUnavailable {
  constructor(cause: Error) {
    super(cause);
    this.name = 'CommitUnknown';
  }
}

/**
 * SQLSTATE classes that say nothing about the statement: 08 connection, 28 access, 40 rollback, 53 resources, 55 object
 * state, 57 intervention of an operator, 58 system, F0 configuration, XX internal (a damaged file, an unreadable page).
 */
const temporaryClasses = new Set(['08', '28', '40', '53', '55', '57', '58', 'F0', 'XX']);
/** read_only_sql_transaction, and invalid_catalog_name (the database is being restored). */
const temporaryStates = new Set(['25006', '3D000']);
const diskFull = '53100';

/**
 * Whether an error is the database's trouble: `full` (no disk space), `temporary` (anything else that may be over when
 * the caller tries again), or null (the statement or a value is at fault).
 */
export function databaseTrouble(error: unknown): 'full' | 'temporary' | null {
  if (error instanceof NoDiskSpace) return 'full';
  if (error instanceof DatabaseUnavailable) return 'temporary';
  const state = sqlState(error);
  if (state === null) return null;
  if (state === diskFull) return 'full';
  return temporaryClasses.has(state.slice(0, 2)) || temporaryStates.has(state) ? 'temporary' : null;
}

/**
 * Whether the database cannot work at all, as opposed to one statement that took too long or met a damaged page: then
 * other statements may succeed.
 */
export function isDatabaseDown(error: unknown): boolean {
  const state = sqlState(error) ?? '';
  return databaseTrouble(error) !== null && state !== '57014' && !state.startsWith('XX');
}

/** Whether the server has ended the connection of this statement, so that a new connection may succeed at once. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof CommitUnknown) return false;
  if (error instanceof DatabaseUnavailable) return true;
  // admin_shutdown, crash_shutdown, cannot_connect_now, and class 08.
  return /^(57P0[1-3]|08...)$/.test(sqlState(error) ?? '');
}
