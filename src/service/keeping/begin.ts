import { hourMs } from '../../durations.ts';
import type { Db } from '../db/database.ts';

/** From when on agents may hold checks. */

/** The migration of the first release in which they may, unless it is configured. */
const firstMigration = 54;
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
  // Migrations that are applied at once have the same time.
  const [row] = await db.query<{ at: Date; isUpgrade: boolean }>(
    `select applied_at as at, applied_at > (select min(applied_at) from schema_migrations) as "isUpgrade"
     from schema_migrations where version = ${firstMigration}`,
  );
  return row?.isUpgrade === true ? row.at.getTime() + upgradeMs : 0;
}
