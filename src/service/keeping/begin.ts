import { hourMs } from '../../durations.ts';
import type { Db } from '../db/database.ts';

/** From when on agents may hold checks, and their results may be stored in a form that earlier releases cannot read. */

/** The migration of the first release in which they may, unless it is configured. */
const firstMigration = 54;
const basesMigration = 55;
/** A rolling upgrade takes less. */
const upgradeMs = hourMs;

/**
 * Null = never. Replicas of earlier releases run beside this one while it is upgraded. They know of no held checks, and would
 * refuse their results. So agents hold none in the first hour after an upgrade, unless it is configured. A new database, and
 * one that is embedded in the only replica, have no such replicas. `configured`: null = it is not.
 */
export async function keepingFrom(db: Db, configured: boolean | null): Promise<number | null> {
  if (configured === false) return null;
  if (configured === true || db.kind === 'embedded') return 0;
  return upgradedAt(db, firstMigration);
}

/** The same for bodies of results without what they repeat (results/bases.ts). */
export async function basesFrom(db: Db): Promise<number> {
  return db.kind === 'embedded' ? 0 : upgradedAt(db, basesMigration);
}

/** When no replica that lacks a migration runs any more; 0 for a new database. */
async function upgradedAt(db: Db, migration: number): Promise<number> {
  // Migrations that are applied at once have the same time.
  const [row] = await db.query<{ at: Date; isUpgrade: boolean }>(
    `select applied_at as at, applied_at > (select min(applied_at) from schema_migrations) as "isUpgrade"
     from schema_migrations where version = ${migration}`,
  );
  return row?.isUpgrade === true ? row.at.getTime() + upgradeMs : 0;
}
