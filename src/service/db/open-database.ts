import type { DatabaseOptions, Db } from './database.ts';

/** Opens the database. Throws FatalError: DATABASE_IN_USE, or CONFIGURATION if the URL does not lead to a database. */
export async function openDatabase(options: DatabaseOptions): Promise<Db> {
  // Loads only the driver in use, because the embedded one is large.
  if (options.databaseUrl === null) {
    const { openEmbeddedDatabase } = await import('./database-embedded.ts');
    return openEmbeddedDatabase(options);
  }
  const { openServerDatabase } = await import('./database-server.ts');
  return openServerDatabase({ ...options, databaseUrl: options.databaseUrl });
}
