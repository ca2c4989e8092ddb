import type { DatabaseOptions, Db } from './database.ts';

/** Opens the database. Throws FatalError: DATABASE_IN_USE, or CONFIGURATION when the URL leads nowhere. */
export async function openDatabase(options: DatabaseOptions): Promise<Db> {
  // Only the driver that is used is loaded: the embedded one is large.
  if (options.databaseUrl === null) {
    const { openEmbeddedDatabase } = await import('./database-embedded.ts');
    return openEmbeddedDatabase(options);
  }
  const { openServerDatabase } = await import('./database-server.ts');
  return openServerDatabase({ ...options, databaseUrl: options.databaseUrl });
}
