import { hourMs } from '../../durations.ts';
import type { Db } from './database.ts';

/** A rolling upgrade takes less. */
const upgradeMs = hourMs;

/**
 * When no replica of a release without this migration runs any more, in milliseconds since the epoch; 0 for a new database, and
 * for an embedded one, which has one replica.
 */
export async function upgradedAt(db: Db, migration: number): Promise<number> {
  if (db.kind === 'embedded') return 0;
  // Migrations that are applied at once have the same time.
  const [row] = await db.query<{ at: Date; isUpgrade: boolean }>(
    `select applied_at as at, applied_at > (select min(applied_at) from schema_migrations) as "isUpgrade"
     from schema_migrations where version = ${migration}`,
  );
  return row?.isUpgrade === true ? row.at.getTime() + upgradeMs : 0;
}
