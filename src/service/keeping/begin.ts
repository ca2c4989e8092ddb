import type { Db } from '../db/database.ts';
import { upgradedAt } from '../db/upgraded.ts';

/** From when on agents may hold checks. */

/** The migration of the first release in which they may, unless it is configured. */
const firstMigration = 54;

/**
 * Null = never. Replicas of earlier releases run beside this one while it is upgraded. They know of no held checks, and would
 * refuse their results. So agents hold none in the first hour after an upgrade, unless it is configured. A new database, and
 * one that is embedded in the only replica, have no such replicas. `configured`: null = it is not.
 */
export async function keepingFrom(db: Db, configured: boolean | null): Promise<number | null> {
  if (configured === false) return null;
  if (configured === true) return 0;
  return upgradedAt(db, firstMigration);
}
