import type PgBoss from 'pg-boss';
import type { Db, Queryable } from '../db/database.ts';

/** The database in the form that the queue library expects. */
export function adapter(db: Queryable & Partial<Pick<Db, 'tx'>>): PgBoss.Db {
  return {
    executeSql: async (text, values) => {
      const script = /^\s*BEGIN;([^]*)COMMIT;\s*$/.exec(text)?.[1];
      if (script === undefined || db.tx === undefined) return { rows: await db.query(text, values) };
      // The script contains its own transaction. It runs within ours, which is rolled back on the same connection if
      // it fails.
      await db.tx((tx) => tx.exec(script));
      return { rows: [] };
    },
  };
}

/** The library answers some failures with nothing. `rethrow` throws the last one, so that a transaction is repeated. */
export function notingErrors(db: PgBoss.Db): PgBoss.Db & { rethrow: () => void } {
  let failure: { error: unknown } | null = null;
  return {
    executeSql: async (text, values) => {
      try {
        return await db.executeSql(text, values);
      } catch (error) {
        failure = { error };
        throw error;
      }
    },
    rethrow: () => {
      if (failure !== null) throw failure.error;
    },
  };
}
