import type { Db } from './database.ts';

/** Rolls a transaction back. */
class RolledBack extends Error {}

/**
 * Runs `work` in a transaction that is rolled back, and returns what it saw: the database as it would be. It may run
 * more than once.
 */
export async function rolledBack<Seen>(db: Db, work: (tx: Db) => Promise<Seen>): Promise<Seen> {
  const seen: Seen[] = [];
  try {
    await db.tx(async (tx) => {
      seen.push(await work(tx));
      throw new RolledBack('on purpose');
    });
  } catch (error) {
    const last = seen.at(-1);
    if (error instanceof RolledBack && last !== undefined) return last;
    throw error;
  }
  throw new Error('the transaction was not rolled back');
}
